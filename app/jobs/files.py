"""Stored files that belong to jobs."""

import uuid

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.storage import garbage
from app.storage.database import SessionFactory
from app.storage.file_store import FileStore
from app.storage.garbage import KeyColumn


class JobFiles:
    """Files of one kind. key, job_id: columns of a table whose rows are deleted with their job."""

    def __init__(self, store: FileStore, key: KeyColumn, job_id: InstrumentedAttribute[uuid.UUID]) -> None:
        self._store, self._key, self._job_id = store, key, job_id

    def keys(self, session: Session, job_id: uuid.UUID) -> list[str]:
        """Return the keys of the files of a job."""
        return [key for key in session.scalars(select(self._key).where(self._job_id == job_id)) if key is not None]

    def drop(self, sessions: SessionFactory, key: str) -> None:
        """Delete the file of a job that has just been deleted, unless another job has it too."""
        garbage.drop_file(sessions, self._store, self._key, key)
