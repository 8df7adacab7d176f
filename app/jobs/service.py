"""Submitting, reading and cancelling jobs."""

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.datasets.errors import DatasetNotFound
from app.errors import NotFound
from app.http.pagination import PageQuery
from app.jobs import families, transitions
from app.jobs.errors import IdempotencyKeyReused, JobAlreadyFinished, JobNotFound, TooManyQueuedJobs
from app.jobs.filters import JobFilter
from app.jobs.repository import JobRepository
from app.jobs.states import FAMILIES, JobKind, JobState
from app.jobs.tables import JobRow
from app.settings import Limits


def request_sha256(request: dict[str, Any]) -> str:
    """Equal for requests that mean the same: keys sorted, defaults filled in."""
    canonical = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


@dataclass(frozen=True)
class Family:
    """A job and those that do its work; no parts where an idempotency key found a job that was there before."""

    job: JobRow
    parts: list[JobRow]


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
        return self._made_by(idempotency_key, request_sha256(asked))

    def _made_by(self, idempotency_key: str | None, asked_sha256: str) -> JobRow | None:
        found = self._jobs.by_idempotency_key(idempotency_key) if idempotency_key else None
        if found is not None and found.request_sha256 != asked_sha256:
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
        self._refuse_when_full(self._jobs.count_queued(parts=False), 1)
        job = _queued(kind, request, dataset_ids[0], idempotency_key, request if asked is None else asked)
        return self._add(job, (), dataset_ids)

    def submit_family(
        self,
        kind: JobKind,
        request: dict[str, Any],
        part_kind: JobKind,
        part_requests: Sequence[dict[str, Any]],
        dataset_ids: Sequence[uuid.UUID],
        idempotency_key: str | None = None,
    ) -> Family:
        """Queue a job and those that do its work, all or none; terms and errors are those of `submit`."""
        # Counted apart, so that one large family does not keep others from asking for their jobs.
        self._refuse_when_full(self._jobs.count_queued(parts=True), len(part_requests))
        job = _queued(kind, request, dataset_ids[0], idempotency_key, request)
        parts = [_queued(part_kind, of_part, dataset_ids[0]) for of_part in part_requests]
        job.progress = families.progress_of(Counter({JobState.QUEUED: len(parts)}))
        added = self._add(job, parts, dataset_ids)
        return Family(added, parts if added is job else [])

    def _add(self, job: JobRow, parts: Sequence[JobRow], dataset_ids: Sequence[uuid.UUID]) -> JobRow:
        """Insert the job with its parts; the one that its key has made already, where there is one."""
        try:
            with self._session.begin_nested():
                self._jobs.add(job, parts, set(dataset_ids))
        except IntegrityError as error:
            # Two calls with the same key at once: the other one was first. Or a data set went away at this moment.
            first = self._made_by(job.idempotency_key, job.request_sha256)
            if first is None:
                detail = "a data set of the job was deleted at this moment; upload it again"
                raise DatasetNotFound.at("/dataset_id", detail) from error
            return first
        return job

    def _refuse_when_full(self, waiting: int, n_new: int) -> None:
        limit = self._limits.max_queued_jobs
        if waiting + n_new > limit:
            more = f" and {n_new} more are too many" if n_new > 1 else ""
            raise TooManyQueuedJobs(
                f"{waiting} jobs are waiting already{more} (limit max_queued_jobs: {limit}); wait for some to end or "
                "cancel them"
            )

    def get(self, job_id: uuid.UUID) -> JobRow:
        row = self._jobs.get(job_id)
        if row is None:
            raise JobNotFound(f"there is no job {job_id}; GET /jobs lists those there are")
        return row

    def of_kind(self, job_id: uuid.UUID, kind: JobKind, missing: type[NotFound]) -> JobRow:
        """A job that its kind's own routes are asked for, at `path/KIND_id`. Raises `missing`."""
        detail = f"there is no {kind} {job_id}; GET /jobs?kind={kind} lists those there are"
        row = self._jobs.get(job_id)
        if row is None:
            raise missing.at(f"path/{kind}_id", detail)
        if row.kind is not kind:
            raise missing.at(f"path/{kind}_id", f"{detail}; the job of this id is of kind {row.kind.value!r}")
        return row

    def page(self, page: PageQuery, wanted: JobFilter) -> tuple[list[JobRow], str | None]:
        return self._jobs.page(page, wanted)

    def oldest_queued_age_seconds(self) -> float | None:
        """How long the longest-waiting job has been queued, or None when none waits."""
        return self._jobs.oldest_queued_age_seconds()

    def cancel(self, job_id: uuid.UUID) -> JobRow:
        """Cancel a queued job at once, and ask a running one to stop; of a family, every job that does its work.

        Raises:
            JobNotFound: there is no such job.
            JobAlreadyFinished: it has succeeded or failed.
        """
        if self.get(job_id).kind in FAMILIES:
            families.cancel(self._session, job_id)
        else:
            self._cancel_one(job_id)
        row = self.get(job_id)
        if row.state in (JobState.SUCCEEDED, JobState.FAILED):
            raise JobAlreadyFinished(f"job {job_id} has {row.state} already; there is nothing left to cancel")
        return row

    def _cancel_one(self, job_id: uuid.UUID) -> None:
        # Held until the commit: a job given back to the queue between two conditional updates would slip through.
        self._jobs.lock(job_id)
        queued = JobRow.state == JobState.QUEUED
        if not transitions.enter(self._session, job_id, JobState.CANCELLED, queued):
            transitions.enter(self._session, job_id, JobState.CANCELLING)


def _queued(
    kind: JobKind,
    request: dict[str, Any],
    dataset_id: uuid.UUID,
    idempotency_key: str | None = None,
    asked: dict[str, Any] | None = None,
) -> JobRow:
    return JobRow(
        kind=kind,
        state=JobState.QUEUED,
        request=request,
        dataset_id=dataset_id,
        attempt=0,
        idempotency_key=idempotency_key,
        request_sha256=request_sha256(request if asked is None else asked),
    )
