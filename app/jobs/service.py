"""Submission, reading and cancellation of jobs."""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.datasets.errors import DatasetNotFound
from app.errors import NotFound
from app.jobs import figures, state_machine
from app.jobs.children import parent_progress
from app.jobs.errors import IdempotencyKeyReused, JobAlreadyFinished, JobNotFound, TooManyQueuedJobs
from app.jobs.filters import JobFilter
from app.jobs.records import JobEvent, JobHead, JobPosition, JobRecord, QueueFigures
from app.jobs.repository import JobRepository
from app.jobs.states import PARENT_KINDS, JobKind, JobState
from app.jobs.submission import JobSubmission, NewChild, NewJob, QueuedJob
from app.jobs.tables import JobRow
from app.logs import correlation
from app.settings import Limits
from app.storage.database import SessionFactory, reading, writing
from app.storage.json_pieces import canonical_sha256
from app.storage.pages import Listed, PageQuery
from app.telemetry import tracing


class JobService:
    """Jobs within one transaction."""

    def __init__(self, session: Session, limits: Limits) -> None:
        self._session = session
        self._limits = limits
        self._jobs = JobRepository(session)

    def queue(self, new: NewJob, body_sha256: str, idempotency_key: str | None = None) -> QueuedJob:
        """Queue a job and its children, all or none. The relay publishes them after the commit.

        body_sha256: digest of the body that the client has sent, which the key stands for.

        Raises:
            IdempotencyKeyReused: the key belongs to another request.
            TooManyQueuedJobs: the queue is full.
            DatasetNotFound: a data set was deleted meanwhile.
        """
        # Children are counted apart, so that one large sweep does not keep others from submitting jobs.
        waiting = self._jobs.count_queued(children=bool(new.children))
        self._refuse_when_full(waiting, len(new.children) or 1)
        job = _row(new, new.dataset_ids[0], body_sha256)
        job.idempotency_key = idempotency_key
        children = [_row(child, new.dataset_ids[0], child.request_sha256) for child in new.children]
        if children:
            job.progress = parent_progress(Counter({JobState.QUEUED: len(children)}))
        return self._add(job, children, new)

    def _add(self, job: JobRow, children: Sequence[JobRow], new: NewJob) -> QueuedJob:
        """Insert the job and its children, or return the job that its key has queued meanwhile."""
        try:
            with self._session.begin_nested():
                return self._jobs.add(job, children, set(new.dataset_ids), set(new.model_ids))
        except IntegrityError as error:
            # Two calls with the same key at once: the other one was first. Or a data set was deleted at this moment.
            first = self.by_key(job.idempotency_key, job.request_sha256)
            if first is None:
                detail = "a data set of the job was deleted at this moment; upload it again"
                raise DatasetNotFound.at("/dataset_id", detail) from error
            return QueuedJob(first, [])

    def by_key(self, idempotency_key: str | None, body_sha256: str) -> JobHead | None:
        """Return the job that the key has queued before, or None. Raises IdempotencyKeyReused for another body."""
        job = self._jobs.by_idempotency_key(idempotency_key) if idempotency_key else None
        if job is not None and job.request_sha256 != body_sha256:
            raise IdempotencyKeyReused.at(
                "header/Idempotency-Key",
                f"the key {idempotency_key!r:.100} was used for another request (job {job.id}); choose a new key",
            )
        return job

    def _refuse_when_full(self, waiting: int, n_new: int) -> None:
        limit = self._limits.max_queued_jobs
        if waiting + n_new > limit:
            more = f" and {n_new} more are too many" if n_new > 1 else ""
            raise TooManyQueuedJobs(
                f"{waiting} jobs are waiting already{more} (limit BRISTLECONE_MAX_QUEUED_JOBS: {limit}); wait until "
                "some have ended, or cancel some"
            )

    def get(self, job_id: uuid.UUID) -> JobRecord:
        """Return the job. Raises JobNotFound."""
        job = self._jobs.get(job_id)
        if job is None:
            raise _not_found(job_id)
        return job

    def position(self, job_id: uuid.UUID) -> JobPosition | None:
        """Return how far the job is, or None if there is no such job."""
        return self._jobs.positions([job_id]).get(job_id)

    def known_position(self, job_id: uuid.UUID) -> JobPosition:
        """Return how far the job is. Raises JobNotFound."""
        position = self.position(job_id)
        if position is None:
            raise _not_found(job_id)
        return position

    def events(self, job_id: uuid.UUID, after: int, limit: int) -> list[JobEvent]:
        """Return the first events of a job with higher ids than `after`, in their order."""
        return self._jobs.events(job_id, after, limit)

    def head(self, job_id: uuid.UUID) -> JobHead:
        """Return the job without its request. Raises JobNotFound."""
        job = self._jobs.head(job_id)
        if job is None:
            raise _not_found(job_id)
        return job

    def request_text(self, job_id: uuid.UUID) -> str:
        """Return the request of a job as JSON text. Raises JobNotFound."""
        text = self._jobs.request_text(job_id)
        if text is None:
            raise _not_found(job_id)
        return text

    def stored_bytes(self, job_id: uuid.UUID) -> int:
        """Return the bytes of the request and progress of a job as JSON text; 0 if there is no such job."""
        return self._jobs.stored_bytes(job_id)

    def request_bytes_of_children(self, parent_id: uuid.UUID) -> int:
        """Return the bytes of the requests of all child jobs of a job together, as JSON text."""
        return self._jobs.request_bytes_of_children(parent_id)

    def get_of_kind(self, job_id: uuid.UUID, kind: JobKind, missing: type[NotFound]) -> JobHead:
        """Return a job of this kind, for a route with the parameter `path/KIND_id`. Raises `missing`."""
        detail = f"there is no {kind} {job_id}; GET /jobs?kind={kind} lists all jobs of this kind"
        job = self._jobs.head(job_id)
        if job is None:
            raise missing.at(f"path/{kind}_id", detail)
        if job.kind is not kind:
            raise missing.at(f"path/{kind}_id", f"{detail}; the job with this id is of kind {job.kind.value!r}")
        return job

    def children(self, parent_id: uuid.UUID) -> list[JobRecord]:
        """Return the child jobs of a job, all as they were at one moment, in the order in which they were queued."""
        return self._jobs.children(parent_id)

    def page(self, page: PageQuery, filters: JobFilter) -> Listed[JobHead]:
        """Return one page of the jobs that pass the filters, and the cursor of the next page."""
        return self._jobs.page(page, filters)

    def oldest_queued_age_seconds(self) -> float | None:
        """Return for how many seconds the oldest queued job has been waiting, or None if no job is queued."""
        return self._jobs.oldest_queued_age_seconds()

    def figures(self) -> QueueFigures:
        """Return figures for monitoring, at a cost that does not depend on the number of jobs that have ended."""
        return QueueFigures(
            self._jobs.count_unfinished(), self._jobs.oldest_queued_age_seconds(), figures.sums(self._session)
        )

    def cancel(self, job_id: uuid.UUID) -> None:
        """Cancel a queued job at once, and ask a running job to stop. Child jobs are cancelled with their parent.

        Does nothing if the job has ended. Raises JobNotFound.
        """
        kind = self._jobs.kind(job_id)
        if kind is None:
            raise _not_found(job_id)
        cancel = state_machine.cancel_parent if kind in PARENT_KINDS else state_machine.cancel
        cancel(self._session, job_id)


def submit(sessions: SessionFactory, limits: Limits, submission: JobSubmission, idempotency_key: str | None) -> JobHead:
    """Queue the job of a submission, or return the job that the key has queued before.

    Raises:
        IdempotencyKeyReused, TooManyQueuedJobs, DatasetNotFound: as `JobService.queue`.
        app.errors.ServiceError: whatever `submission.prepare` raises.
    """
    with tracing.span("submit job", {}, kind="producer") as span:
        job = _submit(sessions, limits, submission, idempotency_key)
        span.set({"bristlecone.job.id": str(job.id), "bristlecone.job.kind": job.kind.value})
        return job


def repeated(
    sessions: SessionFactory, limits: Limits, body: Mapping[str, Any], idempotency_key: str | None
) -> JobHead | None:
    """Return the job that the key has queued before, or None. Raises IdempotencyKeyReused for another body."""
    with reading(sessions) as session:
        return JobService(session, limits).by_key(idempotency_key, canonical_sha256(body))


def _submit(
    sessions: SessionFactory, limits: Limits, submission: JobSubmission, idempotency_key: str | None
) -> JobHead:
    body_sha256 = canonical_sha256(submission.body())
    # Asked first: the key is valid even if the data set of its job has been deleted since.
    with reading(sessions) as session:
        if job := JobService(session, limits).by_key(idempotency_key, body_sha256):
            return job
    with submission.prepare() as store_inputs, writing(sessions) as session:
        jobs = JobService(session, limits)
        # Asked again: another request with the same key may have been queued while this one was read.
        if job := jobs.by_key(idempotency_key, body_sha256):
            return job
        with store_inputs(session) as new:
            queued = jobs.queue(new, body_sha256, idempotency_key)
            submission.store_job(session, queued.job)
            submission.store_children(session, queued.children)
        return queued.job


def jobs_needing_model(session: Session, model_id: uuid.UUID) -> list[uuid.UUID]:
    """Return the unfinished jobs because of which a trained model cannot be deleted, in the order of their ids."""
    return JobRepository(session).needing_model(model_id)


def cancel(sessions: SessionFactory, limits: Limits, job_id: uuid.UUID) -> None:
    """Cancel a job as `JobService.cancel` does.

    Raises:
        JobNotFound: there is no such job.
        JobAlreadyFinished: it has succeeded or failed.
    """
    with writing(sessions) as session:
        JobService(session, limits).cancel(job_id)
    with reading(sessions) as session:
        job = JobService(session, limits).head(job_id)
    if job.state in (JobState.SUCCEEDED, JobState.FAILED):
        raise JobAlreadyFinished(f"job {job_id} has already {job.state}; there is nothing left to cancel")


def _not_found(job_id: uuid.UUID) -> JobNotFound:
    return JobNotFound(f"there is no job {job_id}; GET /jobs lists all jobs")


def _row(new: NewJob | NewChild, dataset_id: uuid.UUID, sha256: str) -> JobRow:
    return JobRow(
        kind=new.kind,
        state=JobState.QUEUED,
        request=new.request,
        dataset_id=dataset_id,
        attempt=0,
        request_sha256=sha256,
        request_id=correlation.get().request_id,
        traceparent=tracing.traceparent(),
    )
