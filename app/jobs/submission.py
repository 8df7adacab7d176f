"""Submission of jobs, in one shape for all kinds."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from app.jobs.records import JobRecord
from app.jobs.states import JobKind


@dataclass(frozen=True)
class NewChild:
    """Child job to queue."""

    kind: JobKind
    request: dict[str, Any]


@dataclass(frozen=True)
class NewJob:
    """Job to queue, with the child jobs that do its work, if its kind has any."""

    kind: JobKind
    #: Complete, with defaults filled in, as its worker reads it.
    request: dict[str, Any]
    #: The data set that the job is about comes first. None of them can be deleted before the job has ended.
    dataset_ids: Sequence[uuid.UUID]
    children: Sequence[NewChild] = ()


@dataclass(frozen=True)
class QueuedJob:
    """Queued job and its children; no children if an idempotency key named a job that existed before."""

    job: JobRecord
    children: list[JobRecord]


class JobSubmission(ABC):
    """Request of a client for a job. `JobService.submit` calls its methods, all of them in one transaction."""

    @abstractmethod
    def body(self) -> dict[str, Any]:
        """Return the body of the request with defaults filled in. An idempotency key belongs to this body."""

    @abstractmethod
    def prepare(self) -> AbstractContextManager[NewJob]:
        """Check the request against its data sets and yield the job. What it has stored is undone if the block raises.

        Use `contextlib.nullcontext` if nothing has to be undone. Not called if the idempotency key is known already.
        """

    def store_children(self, children: Sequence[JobRecord]) -> None:  # noqa: B027 (most kinds have no children)
        """Store what belongs to the child jobs that have just been queued."""
