"""Submission of jobs, in one shape for all kinds."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.orm import Session

from app.jobs.records import JobHead, JobRecord
from app.jobs.states import JobKind
from app.storage.json_pieces import canonical_sha256
from app.storage.json_text import serialized


@dataclass(frozen=True)
class NewChild:
    """Child job to queue."""

    kind: JobKind
    request: dict[str, Any]
    request_sha256: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "request_sha256", canonical_sha256(self.request))
        _serialize(self)


@dataclass(frozen=True)
class NewJob:
    """Job to queue, with the child jobs that do its work, if its kind has any."""

    kind: JobKind
    #: Complete, with defaults filled in, as its worker reads it.
    request: dict[str, Any]
    #: The data set that the job is about comes first. None of them can be deleted before the job has ended.
    dataset_ids: Sequence[uuid.UUID]
    children: Sequence[NewChild] = ()
    #: Trained models, none of which can be deleted before the job has ended. `StoreInputs` checks that they exist.
    model_ids: Sequence[uuid.UUID] = ()

    def __post_init__(self) -> None:
        _serialize(self)


def _serialize(job: NewJob | NewChild) -> None:
    """Convert the request to JSON now, before the transaction, because a large matrix takes long."""
    object.__setattr__(job, "request", serialized(job.request))


@dataclass(frozen=True)
class QueuedJob:
    """Queued job and its children; no children if an idempotency key named a job that existed before."""

    job: JobHead
    children: list[JobRecord]


#: Stores what a job needs in the transaction that queues it, and yields the job. What it has stored outside of the
#: database is undone if the block raises.
StoreInputs = Callable[[Session], AbstractContextManager[NewJob]]


class JobSubmission(ABC):
    """Request of a client for a job. `app.jobs.service.submit` calls its methods."""

    @abstractmethod
    def body(self) -> dict[str, Any]:
        """Return the body of the request with defaults filled in. An idempotency key belongs to this body."""

    @abstractmethod
    def prepare(self) -> AbstractContextManager[StoreInputs]:
        """Check the request against its data sets, read inline data, and yield what the transaction has to do.

        It runs while no transaction is open. Not called if the idempotency key is known already.
        """

    def store_job(self, session: Session, job: JobHead) -> None:  # noqa: B027
        """Store what belongs to the job that has just been queued, or was queued before by the same key."""

    def store_children(self, session: Session, children: Sequence[JobRecord]) -> None:  # noqa: B027
        """Store what belongs to the child jobs that have just been queued; most kinds have no children."""
