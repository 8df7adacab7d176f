"""Garbage collection: removal of stored files that no row refers to."""

import logging
import time

from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from sqlalchemy.orm import InstrumentedAttribute

from app.storage.database import SessionFactory, lock, reading, writing
from app.storage.file_store import FileStore
from app.storage.staging import ORPHAN_AFTER_SECONDS

#: Column with keys of files.
KeyColumn = InstrumentedAttribute[str] | InstrumentedAttribute[str | None]

log = logging.getLogger(__name__)


def delete_if_unreferenced(
    sessions: SessionFactory,
    store: FileStore,
    column: KeyColumn,
    key: str,
    older_than_seconds: float = 0.0,
) -> bool:
    """Delete the file if no row has its key in `column` and it is that old. Return whether it is gone.

    It has a transaction of its own, after the one that deleted the row: a file without a row wastes space, but a row
    without a file is a loss.
    """
    with store.discarding() as discarded, writing(sessions) as session:
        lock(session, key)
        if session.scalar(select(column).where(column == key).limit(1)) is not None:
            return False
        return store.withdraw(key, discarded, older_than_seconds)


def drop_file(
    sessions: SessionFactory,
    store: FileStore,
    column: KeyColumn,
    key: str,
) -> None:
    """Delete the file of a row that has just been deleted, unless another row needs it.

    The row is gone whatever happens to the file: a file that cannot be deleted now is garbage, and is collected later.
    """
    try:
        delete_if_unreferenced(sessions, store, column, key)
    except (OperationalError, NoFreeConnection, OSError):
        log.warning("file %s stays until garbage is collected", key, exc_info=True)


def remove_unreferenced(
    sessions: SessionFactory,
    store: FileStore,
    column: KeyColumn,
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
            # The age is checked again: the same bytes may have been stored since.
            n_removed += delete_if_unreferenced(sessions, store, column, key, older_than_seconds)
    return n_removed
