"""Queries on jobs. Changes of state are in `state_machine` and `lease`."""

import uuid
from collections.abc import Collection, Sequence
from datetime import timedelta

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from app.jobs.filters import JobFilter
from app.jobs.records import JobRecord
from app.jobs.states import WORKER_KINDS, JobState
from app.jobs.submission import QueuedJob
from app.jobs.tables import JobEventRow, JobInputRow, JobRow
from app.storage.orm import to_record, utc_now
from app.storage.pages import PageQuery, paginate

SORTABLE = {
    "created_at": JobRow.created_at,
    "kind": JobRow.kind,
    "state": JobRow.state,
    "attempt": JobRow.attempt,
}

_IS_WAITING = (JobRow.state == JobState.QUEUED) & JobRow.kind.in_(WORKER_KINDS)


class JobRepository:
    """Jobs in the database."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, job: JobRow, children: Sequence[JobRow], dataset_ids: Collection[uuid.UUID]) -> QueuedJob:
        """Insert a queued job and its children, the data sets that each of them needs, and their first events.

        Raises:
            sqlalchemy.exc.IntegrityError: the idempotency key is taken, or a data set was deleted.
        """
        self._session.add(job)
        self._session.flush()
        for number, child in enumerate(children, start=1):
            child.parent_id = job.id
            # Lists are in the order of this time, and a clock may tick more coarsely, or go back.
            child.created_at = job.created_at + timedelta(microseconds=number)
        self._session.add_all(children)
        self._session.flush()
        for row in (job, *children):
            self._session.add_all(JobInputRow(job_id=row.id, dataset_id=dataset_id) for dataset_id in dataset_ids)
            payload = {"state": row.state.value, "attempt": row.attempt}
            self._session.add(JobEventRow(job_id=row.id, kind="state", payload=payload))
        return QueuedJob(_record(job), [_record(child) for child in children])

    def get(self, job_id: uuid.UUID) -> JobRecord | None:
        row = self._session.get(JobRow, job_id, populate_existing=True)
        return _record(row) if row else None

    def children(self, parent_id: uuid.UUID) -> list[JobRecord]:
        query = select(JobRow).where(JobRow.parent_id == parent_id).order_by(JobRow.created_at, JobRow.id)
        rows = self._session.scalars(query.execution_options(populate_existing=True))
        return [_record(row) for row in rows]

    def by_idempotency_key(self, key: str) -> JobRecord | None:
        row = self._session.scalar(select(JobRow).where(JobRow.idempotency_key == key))
        return _record(row) if row else None

    def count_queued(self, *, children: bool) -> int:
        """Return how many jobs wait for a worker: child jobs only, or all others only."""
        is_counted = JobRow.parent_id.is_not(None) if children else JobRow.parent_id.is_(None)
        query = select(func.count()).select_from(JobRow).where(_IS_WAITING, is_counted)
        return self._session.scalar(query) or 0

    def oldest_queued_age_seconds(self) -> float | None:
        """Return how many seconds ago the oldest queued job was queued, or None if no job is queued."""
        query = select(func.min(JobRow.created_at)).where(_IS_WAITING)
        oldest = self._session.scalar(query)
        return None if oldest is None else (utc_now() - oldest).total_seconds()

    def page(self, page: PageQuery, filters: JobFilter) -> tuple[list[JobRecord], str | None]:
        query: Select[JobRow] = select(JobRow)
        for name, value in vars(filters).items():
            query = query if value is None else query.where(getattr(JobRow, name) == value)
        if filters.kind is None and filters.parent_id is None:
            # Hundreds of child jobs would hide all other jobs.
            query = query.where(JobRow.parent_id.is_(None))
        rows, next_cursor = paginate(self._session, query, page, sortable=SORTABLE, key=JobRow.id)
        return [_record(row) for row in rows], next_cursor


def _record(row: JobRow) -> JobRecord:
    return to_record(row, JobRecord)
