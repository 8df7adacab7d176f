"""Queries on jobs. Changes of state are in `transitions` and `lease`."""

import uuid
from collections.abc import Collection, Sequence
from datetime import timedelta

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from app.http.pagination import PageQuery, paginate
from app.jobs.filters import JobFilter
from app.jobs.states import WORK, JobState
from app.jobs.tables import JobEventRow, JobInputRow, JobRow
from app.storage.orm import utc_now

SORTABLE = {
    "created_at": JobRow.created_at,
    "kind": JobRow.kind,
    "state": JobRow.state,
    "attempt": JobRow.attempt,
}


_WAITS = (JobRow.state == JobState.QUEUED) & JobRow.kind.in_(WORK)


class JobRepository:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, job: JobRow, parts: Sequence[JobRow], dataset_ids: Collection[uuid.UUID]) -> None:
        """Insert a queued job and the parts that do its work, their holds on the data sets they need, and their first
        events.

        Raises:
            sqlalchemy.exc.IntegrityError: the idempotency key is taken, or a data set is gone.
        """
        self._session.add(job)
        self._session.flush()
        for number, part in enumerate(parts, start=1):
            part.parent_id = job.id
            # Lists are in the order of this time, and clocks tick more coarsely, or back.
            part.created_at = job.created_at + timedelta(microseconds=number)
        self._session.add_all(parts)
        self._session.flush()
        for row in (job, *parts):
            self._session.add_all(JobInputRow(job_id=row.id, dataset_id=dataset_id) for dataset_id in dataset_ids)
            payload = {"state": row.state.value, "attempt": row.attempt}
            self._session.add(JobEventRow(job_id=row.id, kind="state", payload=payload))

    def get(self, job_id: uuid.UUID) -> JobRow | None:
        return self._session.get(JobRow, job_id, populate_existing=True)

    def lock(self, job_id: uuid.UUID) -> None:
        """Keep the row as it is until the transaction ends. SQLite's write transactions exclude each other anyway."""
        self._session.execute(select(JobRow.id).where(JobRow.id == job_id).with_for_update())

    def by_idempotency_key(self, key: str) -> JobRow | None:
        return self._session.scalar(select(JobRow).where(JobRow.idempotency_key == key))

    def count_queued(self, *, parts: bool) -> int:
        """Jobs that wait for a worker: those that are parts of another, or those that are not."""
        is_counted = JobRow.parent_id.is_not(None) if parts else JobRow.parent_id.is_(None)
        query = select(func.count()).select_from(JobRow).where(_WAITS, is_counted)
        return self._session.scalar(query) or 0

    def oldest_queued_age_seconds(self) -> float | None:
        """Seconds since the longest-waiting job was queued, or None when none waits."""
        query = select(func.min(JobRow.created_at)).where(_WAITS)
        oldest = self._session.scalar(query)
        return None if oldest is None else (utc_now() - oldest).total_seconds()

    def page(self, page: PageQuery, wanted: JobFilter) -> tuple[list[JobRow], str | None]:
        query: Select[JobRow] = select(JobRow)
        for name, value in vars(wanted).items():
            query = query if value is None else query.where(getattr(JobRow, name) == value)
        if wanted.kind is None and wanted.parent_id is None:
            # A job of hundreds of parts would hide all others.
            query = query.where(JobRow.parent_id.is_(None))
        return paginate(self._session, query, page, sortable=SORTABLE, key=JobRow.id)
