"""Submitting, reading and cancelling jobs."""

import hashlib
import json
import uuid
from collections.abc import Sequence
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.datasets.errors import DatasetNotFound
from app.jobs import transitions
from app.jobs.errors import IdempotencyKeyReused, JobAlreadyFinished, JobNotFound, TooManyQueuedJobs
from app.jobs.repository import JobRepository
from app.jobs.states import JobKind, JobState
from app.jobs.tables import JobRow
from app.pagination import PageQuery
from app.settings import Limits


def request_sha256(request: dict[str, Any]) -> str:
    """Equal for requests that mean the same: keys sorted, defaults filled in."""
    canonical = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


class JobService:
    def __init__(self, session: Session, limits: Limits) -> None:
        self._session = session
        self._limits = limits
        self._jobs = JobRepository(session)

    def repeated(self, idempotency_key: str | None, asked: dict[str, Any]) -> JobRow | None:
        """The job that this key has made already, whatever has become of its data set; `asked` is the client's body.

        Raises:
            IdempotencyKeyReused: the key belongs to another request.
        """
        found = self._jobs.by_idempotency_key(idempotency_key) if idempotency_key else None
        if found is not None and found.request_sha256 != request_sha256(asked):
            raise IdempotencyKeyReused.at(
                "header/Idempotency-Key",
                f"the key {idempotency_key!r} was used for another request (job {found.id}); choose a new key",
            )
        return found

    def submit(
        self,
        kind: JobKind,
        request: dict[str, Any],
        dataset_ids: Sequence[uuid.UUID],
        idempotency_key: str | None = None,
        asked: dict[str, Any] | None = None,
    ) -> JobRow:
        """Queue a job that needs these data sets, the one it is about first. The relay publishes it after the commit.

        asked: the client's own body, which the key stands for; `request` when it is the same.

        Raises:
            DatasetNotFound: a data set was deleted meanwhile.
            TooManyQueuedJobs: the queue is full.
            IdempotencyKeyReused: the key belongs to another request.
        """
        self._refuse_when_full()
        asked = request if asked is None else asked
        row = JobRow(
            kind=kind,
            state=JobState.QUEUED,
            request=request,
            dataset_id=dataset_ids[0],
            attempt=0,
            idempotency_key=idempotency_key,
            request_sha256=request_sha256(asked),
        )
        try:
            with self._session.begin_nested():
                self._jobs.add(row, set(dataset_ids))
        except IntegrityError as error:
            # Two calls with the same key at once: the other one was first. Or a data set went away at this moment.
            first = self.repeated(idempotency_key, asked)
            if first is None:
                detail = "a data set of the job was deleted at this moment; upload it again"
                raise DatasetNotFound.at("/dataset_id", detail) from error
            return first
        return row

    def _refuse_when_full(self) -> None:
        limit = self._limits.max_queued_jobs
        if self._jobs.count_queued() >= limit:
            raise TooManyQueuedJobs(
                f"{limit} jobs are waiting already (limit max_queued_jobs); wait for some to end or cancel them"
            )

    def get(self, job_id: uuid.UUID) -> JobRow:
        row = self._jobs.get(job_id)
        if row is None:
            raise JobNotFound(f"there is no job {job_id}; GET /jobs lists those there are")
        return row

    def page(
        self, page: PageQuery, kind: JobKind | None, state: JobState | None, dataset_id: uuid.UUID | None
    ) -> tuple[list[JobRow], str | None]:
        return self._jobs.page(page, kind, state, dataset_id)

    def oldest_queued_age_seconds(self) -> float | None:
        """How long the longest-waiting job has been queued, or None when none waits."""
        return self._jobs.oldest_queued_age_seconds()

    def cancel(self, job_id: uuid.UUID) -> JobRow:
        """Cancel a queued job at once; ask a running one to stop.

        Raises:
            JobNotFound: there is no such job.
            JobAlreadyFinished: it has succeeded or failed.
        """
        # Held until the commit: a job given back to the queue between two conditional updates would slip through.
        self._jobs.lock(job_id)
        queued = JobRow.state == JobState.QUEUED
        if not transitions.enter(self._session, job_id, JobState.CANCELLED, queued):
            transitions.enter(self._session, job_id, JobState.CANCELLING)
        row = self.get(job_id)
        if row.state in (JobState.SUCCEEDED, JobState.FAILED):
            raise JobAlreadyFinished(f"job {job_id} has {row.state} already; there is nothing left to cancel")
        return row
