"""Outcomes of an attempt to run a job, each of which is written in one transaction."""

import logging
from dataclasses import dataclass
from typing import Protocol, Self

from sqlalchemy.orm import Session

from app.context import ServiceContext
from app.errors import Invalid, ServiceError
from app.jobs import state_machine
from app.jobs.lease import Claim
from app.jobs.states import JobState
from core import CoreError, TooFewGroups
from workers.job_board import StopReason
from workers.job_body import StorableResult
from workers.monitor import JobMonitor, finished

log = logging.getLogger(__name__)

INTERNAL_ERROR = "Something went wrong on our side; the worker's log holds the details under this job's id."
OUT_OF_MEMORY = "The worker ran out of memory; use fewer or shallower trees, or a worker with more memory."
WITHOUT_GROUPS = "If the rows do not belong together, upload the data set again without `group`."


#: Phase of a queued job that no worker with its file has claimed yet.
WAITING_FOR_FILE = "waiting for a worker that has its file"
#: Time for which no worker claims such a job again.
FILE_WAIT_SECONDS = 5.0
#: Faults of a request that the message of a job lists.
_MOST_FAULTS = 5


class LeaseLost(Exception):
    """Error of an attempt that no longer owns its job and may not write to it."""


class Outcome(Protocol):
    """End of an attempt that is known but not yet written."""

    def write(self, session: Session, claim: Claim) -> None:
        """Write the outcome. Raises LeaseLost if another attempt owns the job."""


@dataclass(frozen=True)
class Success:
    """Outcome of a body that returned a result."""

    context: ServiceContext
    monitor: JobMonitor
    result: StorableResult

    def write(self, session: Session, claim: Claim) -> None:
        with session.begin_nested() as savepoint:
            columns = {"progress": finished(self.monitor.progress())} | self.result.store(session, self.context)
            if state_machine.enter(session, claim.job_id, JobState.SUCCEEDED, fence=claim.attempt, **columns):
                for file in self.result.files:
                    file.publish()
                log.info("succeeded")
                return
            # A cancellation was requested at the last moment, or the lease is lost: the result is dropped.
            savepoint.rollback()
        _cancel(session, claim)

    def discard(self) -> None:
        """Remove the files of the result from the staging folder."""
        for file in self.result.files:
            file.discard()


@dataclass(frozen=True)
class Failure:
    """Outcome of an error that the body, or storing its result, has raised."""

    code: str
    message: str

    @classmethod
    def from_error(cls, error: Exception) -> Self:
        """Describe an error to clients: by its own code and message if they are meant for clients, else in general."""
        if isinstance(error, TooFewGroups):
            return cls(error.code, f"{error.rule} {WITHOUT_GROUPS}")
        if isinstance(error, Invalid) and len(error.errors) > 1:
            return cls(error.code, _all_faults(error))
        if isinstance(error, CoreError | ServiceError):
            return cls(error.code, str(error))
        if isinstance(error, MemoryError):
            return cls("out_of_memory", OUT_OF_MEMORY)
        return cls(ServiceError.code, INTERNAL_ERROR)

    def write(self, session: Session, claim: Claim) -> None:
        if state_machine.fail(session, claim.job_id, self.code, self.message, fence=claim.attempt):
            # The message can contain values of the data; it is in the job.
            log.warning("failed with %s", self.code)
            return
        _cancel(session, claim)


@dataclass(frozen=True)
class FileWait:
    """Outcome of an attempt whose worker lacks a file of the job.

    The job returns to the queue, where a worker that has the file may claim it. The attempt is not counted as lost.
    """

    def write(self, session: Session, claim: Claim) -> None:
        progress = {"phase": WAITING_FOR_FILE}
        if state_machine.requeue(
            session, claim.job_id, fence=claim.attempt, delay_seconds=FILE_WAIT_SECONDS, progress=progress
        ):
            log.warning("returned to the queue for a worker that has its file, because the store here does not")
            return
        _cancel(session, claim)


@dataclass(frozen=True)
class Stop:
    """Outcome of a body that stopped on request."""

    reason: StopReason | None

    def write(self, session: Session, claim: Claim) -> None:
        if self.reason is StopReason.LEASE_LOST:
            raise LeaseLost
        if self.reason is StopReason.SHUTDOWN and _requeue(session, claim):
            log.info("returned to the queue: %s", self.reason.value)
            return
        _cancel(session, claim)


def _requeue(session: Session, claim: Claim) -> bool:
    return state_machine.requeue(session, claim.job_id, fence=claim.attempt, lost_attempts=0)


def _cancel(session: Session, claim: Claim) -> None:
    if not state_machine.enter(session, claim.job_id, JobState.CANCELLED, fence=claim.attempt):
        raise LeaseLost
    log.info("cancelled")


def _all_faults(error: Invalid) -> str:
    """Return what an answer has in its list of errors, which a job does not have."""
    listed = [f"{fault.pointer}: {fault.detail}" for fault in error.errors[:_MOST_FAULTS]]
    more = [f"and {len(error.errors) - len(listed)} more"] if len(listed) < len(error.errors) else []
    return "; ".join([*listed, *more])
