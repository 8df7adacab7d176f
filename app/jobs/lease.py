"""Leases of workers on jobs: claim, renew, take back. All times are on the database's clock."""

import json
import uuid
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import Text, cast, func, select, update
from sqlalchemy.orm import Session

from app.jobs import figures, state_machine
from app.jobs.figures import Figure, FigureName
from app.jobs.states import LEASED, JobKind, JobState
from app.jobs.tables import JobEventRow, JobRow
from app.logs import Correlation
from app.storage.database import epoch_now
from app.storage.orm import utc_now

#: Code of a job that failed because its worker was lost too often.
WORKER_LOST = "worker_lost"

#: Labels of attempts in the figures.
STARTED, LOST = "started", "lost"


class JobOrigin(NamedTuple):
    """Request that has queued a job: its id for the log, and its place in a trace (W3C `traceparent`)."""

    request_id: str | None = None
    traceparent: str | None = None


NO_ORIGIN = JobOrigin()


@dataclass(frozen=True)
class Claim:
    """Claim of a worker on a job. It may write to the job while the row still has this attempt number."""

    job_id: uuid.UUID
    attempt: int
    #: In JSON. It can be large, and is not parsed inside the transaction of the claim.
    request_text: str
    #: None in processes that do not run the job, as the data set.
    kind: JobKind | None = None
    dataset_id: uuid.UUID | None = None
    origin: JobOrigin = NO_ORIGIN

    @cached_property
    def request(self) -> dict[str, Any]:
        request: dict[str, Any] = json.loads(self.request_text)
        return request

    @property
    def correlation(self) -> Correlation:
        """Fields of all log lines about the attempt."""
        dataset_id = None if self.dataset_id is None else str(self.dataset_id)
        return Correlation(self.origin.request_id, str(self.job_id), self.attempt, dataset_id)


def claim(session: Session, job_id: uuid.UUID, lease_seconds: float) -> Claim | None:
    """Claim a queued job. Return None if it was claimed by another worker, was cancelled, or is not due yet."""
    entered = state_machine.enter(
        session,
        job_id,
        JobState.RUNNING,
        JobRow.not_before_epoch <= epoch_now(),
        attempt=JobRow.attempt + 1,
        lease_expires_epoch=epoch_now() + lease_seconds,
        started_at=func.coalesce(JobRow.started_at, utc_now()),
        progress={},
    )
    if not entered:
        return None
    columns = (JobRow.attempt, cast(JobRow.request, Text), JobRow.kind, JobRow.dataset_id)
    origin = (JobRow.request_id, JobRow.traceparent)
    row = session.execute(select(*columns, *origin).where(JobRow.id == job_id)).one()
    attempt, request_text, kind, dataset_id, request_id, traceparent = row
    figures.count(session, {Figure(FigureName.ATTEMPTS, kind, STARTED): 1})
    return Claim(job_id, attempt, request_text, kind, dataset_id, JobOrigin(request_id, traceparent))


def renew(session: Session, claimed: Claim, lease_seconds: float, progress: dict[str, Any] | None) -> JobState | None:
    """Extend the lease and store `progress` unless it is None.

    Return the state of the job, or None if the claim is no longer valid.
    """
    values: dict[str, Any] = {"lease_expires_epoch": epoch_now() + lease_seconds}
    if progress is not None:
        values["progress"] = progress
    query = (
        update(JobRow)
        .where(JobRow.id == claimed.job_id, JobRow.attempt == claimed.attempt, JobRow.state.in_(LEASED))
        .values(**values)
        .returning(JobRow.state)
        .execution_options(synchronize_session=False)
    )
    state = session.scalar(query)
    if state is not None and progress is not None:
        session.add(JobEventRow(job_id=claimed.job_id, kind="progress", payload=progress))
    return None if state is None else JobState(state)


def lapsed(session: Session, limit: int = 100) -> list[uuid.UUID]:
    """Return jobs whose lease has lapsed because their worker did not renew it."""
    query = select(JobRow.id).where(JobRow.state.in_(LEASED), _IS_LAPSED).limit(limit)
    return list(session.scalars(query))


@dataclass(frozen=True)
class LostAttempt:
    """Attempt whose worker was lost, and the state that its job has now."""

    correlation: Correlation
    state: JobState


def take_back(session: Session, job_id: uuid.UUID, max_attempts: int, delay_seconds: float) -> LostAttempt | None:
    """Requeue, fail or cancel a job whose lease has lapsed. None: the worker has renewed it meanwhile."""
    if not _take_back(session, job_id, max_attempts, delay_seconds):
        return None
    columns = (JobRow.kind, JobRow.state, JobRow.attempt, JobRow.request_id, JobRow.dataset_id)
    kind, state, attempt, request_id, dataset_id = session.execute(select(*columns).where(JobRow.id == job_id)).one()
    figures.count(session, {Figure(FigureName.ATTEMPTS, kind, LOST): 1})
    lost = Claim(job_id, attempt, "", kind, dataset_id, JobOrigin(request_id))
    return LostAttempt(lost.correlation, JobState(state))


def _take_back(session: Session, job_id: uuid.UUID, max_attempts: int, delay_seconds: float) -> bool:
    if state_machine.enter(session, job_id, JobState.CANCELLED, _IS_LAPSED):
        return True
    n_lost = 1 + (session.scalar(select(JobRow.lost_attempts).where(JobRow.id == job_id)) or 0)
    if n_lost < max_attempts:
        delay = delay_seconds * 2 ** (n_lost - 1)
        return state_machine.requeue(session, job_id, _IS_LAPSED, delay_seconds=delay, lost_attempts=n_lost)
    message = (
        f"The worker was lost {n_lost} times in a row while it ran this job; it may need more memory than the worker "
        "has. Use fewer or shallower trees, or a worker with more memory."
    )
    return state_machine.fail(session, job_id, WORKER_LOST, message, _IS_LAPSED)


_IS_LAPSED = JobRow.lease_expires_epoch < epoch_now()
