"""Garbage collection: removal of stored files that no row refers to."""

import time

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.storage.database import SessionFactory, lock, reading, writing
from app.storage.file_store import FileStore
from app.storage.staging import ORPHAN_AFTER_SECONDS


def delete_if_unreferenced(
    session: Session,
    store: FileStore,
    column: InstrumentedAttribute[str],
    key: str,
    older_than_seconds: float = 0.0,
) -> bool:
    """Delete the file if no row has its key in `column` and it is that old. Return whether it is gone.

    After the deletion of a row, call this in a later transaction: a file without a row wastes space, but a row without
    a file is a loss.
    """
    lock(session, key)
    if session.scalar(select(column).where(column == key).limit(1)) is not None:
        return False
    return store.delete(key, older_than_seconds)


def remove_unreferenced(
    sessions: SessionFactory,
    store: FileStore,
    column: InstrumentedAttribute[str],
    older_than_seconds: float = ORPHAN_AFTER_SECONDS,
) -> int:
    """Delete the files that are that old and have no row with their key in `column`, as after a crash.

    Return how many were deleted.
    """
    old = [key for key, written in store.files() if time.time() - written > older_than_seconds]
    if not old:
        return 0
    with reading(sessions) as session:
        referenced = set(session.scalars(select(column).distinct()))
    n_removed = 0
    for key in old:
        if key not in referenced:
            with writing(sessions) as session:
                # The age is checked again: a job may have stored the same bytes since, and is about to refer to them.
                n_removed += delete_if_unreferenced(session, store, column, key, older_than_seconds)
    return n_removed
