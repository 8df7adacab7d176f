"""Queries on jobs. Changes of state are in `state_machine` and `lease`."""

import uuid
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta

from sqlalchemy import Select, Text, cast, delete, func, select
from sqlalchemy.orm import Session, defer

from app.jobs.filters import JobFilter
from app.jobs.records import JobEvent, JobHead, JobPosition, JobRecord
from app.jobs.states import UNFINISHED, WORKER_KINDS, JobKind, JobState
from app.jobs.submission import QueuedJob
from app.jobs.tables import JobEventRow, JobInputRow, JobModelRow, JobRow
from app.storage.json_columns import json_bytes, stored_json_bytes
from app.storage.orm import to_record, utc_now
from app.storage.pages import Listed, PageQuery, paginate

SORTABLE = {
    "created_at": JobRow.created_at,
    "kind": JobRow.kind,
    "state": JobRow.state,
    "attempt": JobRow.attempt,
}

#: Requests can have matrices of millions of numbers, and a list has up to 200 jobs.
_WITHOUT_REQUEST = defer(JobRow.request, raiseload=True)

#: Databases limit the number of parameters of a query.
_IDS_PER_QUERY = 500

_IS_WAITING = (JobRow.state == JobState.QUEUED) & JobRow.kind.in_(WORKER_KINDS)


class JobRepository:
    """Jobs in the database."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(
        self,
        job: JobRow,
        children: Sequence[JobRow],
        dataset_ids: Collection[uuid.UUID],
        model_ids: Collection[uuid.UUID],
    ) -> QueuedJob:
        """Insert a queued job and its children, what each of them needs, and their first events.

        Raises:
            sqlalchemy.exc.IntegrityError: the idempotency key is taken, or a data set or model was deleted.
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
            self._session.add_all(JobModelRow(job_id=row.id, model_id=model_id) for model_id in model_ids)
            payload = {"state": row.state.value, "attempt": row.attempt}
            self._session.add(JobEventRow(job_id=row.id, kind="state", payload=payload))
        return QueuedJob(_record(job), [_record(child) for child in children])

    def get(self, job_id: uuid.UUID) -> JobRecord | None:
        row = self._session.get(JobRow, job_id, populate_existing=True)
        return _record(row) if row else None

    def head(self, job_id: uuid.UUID, *, lock: bool = False) -> JobHead | None:
        """Return the job without its request; locked until the transaction ends if `lock`."""
        query = select(JobRow).options(_WITHOUT_REQUEST).where(JobRow.id == job_id)
        row = self._session.scalar(query.with_for_update() if lock else query)
        return to_record(row, JobHead) if row else None

    def positions(self, job_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, JobPosition]:
        """Return the positions of those of the jobs that exist, by id."""
        last = select(func.max(JobEventRow.id)).where(JobEventRow.job_id == JobRow.id).scalar_subquery()
        positions: dict[uuid.UUID, JobPosition] = {}
        for some in _in_parts(list(job_ids)):
            rows = self._session.execute(select(JobRow.id, JobRow.state, last).where(JobRow.id.in_(some)))
            positions |= {job_id: JobPosition(JobState(state), number or 0) for job_id, state, number in rows}
        return positions

    def events(self, job_id: uuid.UUID, after: int, limit: int) -> list[JobEvent]:
        """Return the first events of a job with higher ids than `after`."""
        query = select(JobEventRow).where(JobEventRow.job_id == job_id, JobEventRow.id > after)
        rows = self._session.scalars(query.order_by(JobEventRow.id).limit(limit))
        return [to_record(row, JobEvent) for row in rows]

    def delete(self, job_id: uuid.UUID) -> None:
        """Delete a job; what refers to it is deleted with it."""
        self._session.execute(delete(JobRow).where(JobRow.id == job_id))

    def request_text(self, job_id: uuid.UUID) -> str | None:
        return self._session.scalar(select(cast(JobRow.request, Text)).where(JobRow.id == job_id))

    def stored_bytes(self, job_id: uuid.UUID) -> int:
        return self._session.scalar(select(stored_json_bytes(JobRow)).where(JobRow.id == job_id)) or 0

    def request_bytes_of_children(self, parent_id: uuid.UUID) -> int:
        query = select(func.sum(json_bytes(JobRow.request))).where(JobRow.parent_id == parent_id)
        return int(self._session.scalar(query) or 0)

    def kind(self, job_id: uuid.UUID) -> JobKind | None:
        return self._session.scalar(select(JobRow.kind).where(JobRow.id == job_id))

    def children(self, parent_id: uuid.UUID) -> list[JobRecord]:
        query = select(JobRow).where(JobRow.parent_id == parent_id).order_by(JobRow.created_at, JobRow.id)
        rows = self._session.scalars(query.execution_options(populate_existing=True))
        return [_record(row) for row in rows]

    def by_idempotency_key(self, key: str) -> JobHead | None:
        query = select(JobRow).options(_WITHOUT_REQUEST).where(JobRow.idempotency_key == key)
        row = self._session.scalar(query)
        return to_record(row, JobHead) if row else None

    def needing_model(self, model_id: uuid.UUID) -> list[uuid.UUID]:
        """Return the unfinished jobs that need a trained model, in the order of their ids."""
        query = select(JobModelRow.job_id).where(JobModelRow.model_id == model_id).order_by(JobModelRow.job_id)
        return list(self._session.scalars(query))

    def count_queued(self, *, children: bool) -> int:
        """Return how many jobs wait for a worker: child jobs only, or all others only."""
        is_counted = JobRow.parent_id.is_not(None) if children else JobRow.parent_id.is_(None)
        query = select(func.count()).select_from(JobRow).where(_IS_WAITING, is_counted)
        return self._session.scalar(query) or 0

    def oldest_queued_age_seconds(self) -> float | None:
        """Return how many seconds ago the oldest queued job was queued, or None if no job is queued."""
        # The kinds are told apart here: a database without statistics would read the index of all jobs of these kinds.
        query = select(JobRow.kind, func.min(JobRow.created_at)).where(JobRow.state == JobState.QUEUED)
        oldest = [
            created_at
            for kind, created_at in self._session.execute(query.group_by(JobRow.kind))
            if kind in WORKER_KINDS
        ]
        return (utc_now() - min(oldest)).total_seconds() if oldest else None

    def count_unfinished(self) -> dict[tuple[JobKind, JobState], int]:
        """Return how many jobs of each kind are in each state that is not the last one."""
        columns = (JobRow.kind, JobRow.state)
        query = select(*columns, func.count()).where(JobRow.state.in_(UNFINISHED)).group_by(*columns)
        return {(JobKind(kind), JobState(state)): n_jobs for kind, state, n_jobs in self._session.execute(query)}

    def page(self, page: PageQuery, filters: JobFilter) -> Listed[JobHead]:
        query: Select[JobRow] = select(JobRow).options(_WITHOUT_REQUEST)
        for name, value in vars(filters).items():
            query = query if value is None else query.where(getattr(JobRow, name) == value)
        if filters.kind is None and filters.parent_id is None:
            # Hundreds of child jobs would hide all other jobs.
            query = query.where(JobRow.parent_id.is_(None))
        listed = paginate(self._session, query, page, sortable=SORTABLE, key=JobRow.id)
        return listed.map(lambda row: to_record(row, JobHead))


def _in_parts(ids: Sequence[uuid.UUID]) -> Iterator[Sequence[uuid.UUID]]:
    return (ids[start : start + _IDS_PER_QUERY] for start in range(0, len(ids), _IDS_PER_QUERY))


def _record(row: JobRow) -> JobRecord:
    return to_record(row, JobRecord)
