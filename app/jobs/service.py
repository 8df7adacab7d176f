"""Submission, reading and cancellation of jobs."""

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.datasets.errors import DatasetNotFound
from app.errors import NotFound
from app.jobs import state_machine
from app.jobs.children import parent_progress
from app.jobs.errors import IdempotencyKeyReused, JobAlreadyFinished, JobNotFound, TooManyQueuedJobs
from app.jobs.filters import JobFilter
from app.jobs.records import JobRecord
from app.jobs.repository import JobRepository
from app.jobs.states import PARENT_KINDS, JobKind, JobState
from app.jobs.submission import JobSubmission, NewJob, QueuedJob
from app.jobs.tables import JobRow
from app.settings import Limits
from app.storage.pages import PageQuery


def request_sha256(request: dict[str, Any]) -> str:
    """Return a digest of a request with defaults filled in. The order of its keys does not matter."""
    canonical = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


class JobService:
    """Jobs within one transaction."""

    def __init__(self, session: Session, limits: Limits) -> None:
        self._session = session
        self._limits = limits
        self._jobs = JobRepository(session)

    def submit(self, submission: JobSubmission, idempotency_key: str | None) -> JobRecord:
        """Queue the job of a submission, or return the job that the key has queued before.

        The relay publishes the job after the commit.

        Raises:
            IdempotencyKeyReused: the key belongs to another request.
            TooManyQueuedJobs: the queue is full.
            DatasetNotFound: a data set was deleted meanwhile.
            app.errors.ServiceError: whatever `submission.prepare` raises.
        """
        body = submission.body()
        # Checked first: the key is valid even if the data set of its job has been deleted since.
        repeated = self._by_key(idempotency_key, request_sha256(body))
        if repeated is not None:
            return repeated
        with submission.prepare() as new:
            queued = self.queue(new, idempotency_key, body)
            submission.store_children(queued.children)
        return queued.job

    def queue(self, new: NewJob, idempotency_key: str | None = None, body: dict[str, Any] | None = None) -> QueuedJob:
        """Queue a job and its children, all or none.

        body: what the key stands for; `new.request` if it is None.

        Raises:
            IdempotencyKeyReused, TooManyQueuedJobs, DatasetNotFound: as `submit`.
        """
        # Children are counted apart, so that one large sweep does not keep others from submitting jobs.
        waiting = self._jobs.count_queued(children=bool(new.children))
        self._refuse_when_full(waiting, len(new.children) or 1)
        job = _row(new.kind, new.request, new.dataset_ids[0])
        job.idempotency_key = idempotency_key
        job.request_sha256 = request_sha256(new.request if body is None else body)
        children = [_row(child.kind, child.request, new.dataset_ids[0]) for child in new.children]
        if children:
            job.progress = parent_progress(Counter({JobState.QUEUED: len(children)}))
        return self._add(job, children, new.dataset_ids)

    def _add(self, job: JobRow, children: Sequence[JobRow], dataset_ids: Sequence[uuid.UUID]) -> QueuedJob:
        """Insert the job and its children, or return the job that its key has queued meanwhile."""
        try:
            with self._session.begin_nested():
                return self._jobs.add(job, children, set(dataset_ids))
        except IntegrityError as error:
            # Two calls with the same key at once: the other one was first. Or a data set was deleted at this moment.
            first = self._by_key(job.idempotency_key, job.request_sha256)
            if first is None:
                detail = "a data set of the job was deleted at this moment; upload it again"
                raise DatasetNotFound.at("/dataset_id", detail) from error
            return QueuedJob(first, [])

    def _by_key(self, idempotency_key: str | None, body_sha256: str) -> JobRecord | None:
        """Return the job that the key has queued before, or None. Raises IdempotencyKeyReused for another body."""
        job = self._jobs.by_idempotency_key(idempotency_key) if idempotency_key else None
        if job is not None and job.request_sha256 != body_sha256:
            raise IdempotencyKeyReused.at(
                "header/Idempotency-Key",
                f"the key {idempotency_key!r} was used for another request (job {job.id}); choose a new key",
            )
        return job

    def _refuse_when_full(self, waiting: int, n_new: int) -> None:
        limit = self._limits.max_queued_jobs
        if waiting + n_new > limit:
            more = f" and {n_new} more are too many" if n_new > 1 else ""
            raise TooManyQueuedJobs(
                f"{waiting} jobs are waiting already{more} (limit max_queued_jobs: {limit}); wait until some have "
                "ended, or cancel some"
            )

    def get(self, job_id: uuid.UUID) -> JobRecord:
        """Return the job. Raises JobNotFound."""
        job = self._jobs.get(job_id)
        if job is None:
            raise JobNotFound(f"there is no job {job_id}; GET /jobs lists all jobs")
        return job

    def get_of_kind(self, job_id: uuid.UUID, kind: JobKind, missing: type[NotFound]) -> JobRecord:
        """Return a job of this kind, for a route with the parameter `path/KIND_id`. Raises `missing`."""
        detail = f"there is no {kind} {job_id}; GET /jobs?kind={kind} lists all jobs of this kind"
        job = self._jobs.get(job_id)
        if job is None:
            raise missing.at(f"path/{kind}_id", detail)
        if job.kind is not kind:
            raise missing.at(f"path/{kind}_id", f"{detail}; the job with this id is of kind {job.kind.value!r}")
        return job

    def children(self, parent_id: uuid.UUID) -> list[JobRecord]:
        """Return the child jobs of a job, all as they were at one moment, in the order in which they were queued."""
        return self._jobs.children(parent_id)

    def page(self, page: PageQuery, filters: JobFilter) -> tuple[list[JobRecord], str | None]:
        """Return one page of the jobs that pass the filters, and the cursor of the next page."""
        return self._jobs.page(page, filters)

    def oldest_queued_age_seconds(self) -> float | None:
        """Return for how many seconds the oldest queued job has been waiting, or None if no job is queued."""
        return self._jobs.oldest_queued_age_seconds()

    def cancel(self, job_id: uuid.UUID) -> JobRecord:
        """Cancel a queued job at once, and ask a running job to stop. Child jobs are cancelled with their parent.

        Raises:
            JobNotFound: there is no such job.
            JobAlreadyFinished: it has succeeded or failed.
        """
        is_parent = self.get(job_id).kind in PARENT_KINDS
        cancel = state_machine.cancel_parent if is_parent else state_machine.cancel
        cancel(self._session, job_id)
        job = self.get(job_id)
        if job.state in (JobState.SUCCEEDED, JobState.FAILED):
            raise JobAlreadyFinished(f"job {job_id} has already {job.state}; there is nothing left to cancel")
        return job


def _row(kind: JobKind, request: dict[str, Any], dataset_id: uuid.UUID) -> JobRow:
    return JobRow(
        kind=kind,
        state=JobState.QUEUED,
        request=request,
        dataset_id=dataset_id,
        attempt=0,
        request_sha256=request_sha256(request),
    )
