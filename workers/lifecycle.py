"""From a message to a finished job: claim, work under a heartbeat, and exactly one of the possible endings."""

import logging
import time
import uuid
from collections.abc import Callable
from typing import Any, Protocol

from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.context import ServiceContext
from app.errors import ServiceError
from app.jobs import state_machine
from app.jobs.lease import Claim, claim
from app.jobs.states import JobState
from app.logs import correlation
from app.storage.database import writing
from core import CoreError, FitStopped
from workers.heartbeat import Heartbeat
from workers.monitor import JobMonitor, StopReason

log = logging.getLogger(__name__)

INTERNAL_ERROR = "Something went wrong on our side; the worker's log holds the details under this job's id."
OUT_OF_MEMORY = "The worker ran out of memory; use fewer or shallower trees, or a worker with more memory."

#: What came of an attempt, to be written in one transaction.
Outcome = Callable[[Session], None]


class Work(Protocol):
    """The body of a job. It returns what is to be stored: called in the transaction that ends the job, it writes
    the result and gives the columns of the job row that point to it."""

    def __call__(
        self, context: ServiceContext, held: Claim, monitor: JobMonitor
    ) -> Callable[[Session], dict[str, Any]]: ...


class _LeaseLost(Exception):
    """Another attempt owns the job; whatever this one made is dropped."""


def run_job(context: ServiceContext, job_id: uuid.UUID, work: Work, shutting_down: Callable[[], bool]) -> None:
    """Run a job if it is free; a second message for the same job costs one query."""
    settings = context.settings.jobs
    with writing(context.sessions) as session:
        held = claim(session, job_id, settings.lease_seconds)
    if held is None:
        log.info("job %s is not free; nothing to do", job_id)
        return
    correlation.set(f"job {job_id} attempt {held.attempt}")
    log.info("begins")
    monitor = JobMonitor()
    with Heartbeat(context.sessions, settings, held, monitor, shutting_down):
        outcome = _outcome(context, held, work, monitor)
        _persist(context, held, outcome, monitor)
    correlation.set("-")


def _outcome(context: ServiceContext, held: Claim, work: Work, monitor: JobMonitor) -> Outcome:
    """Do the work; what came of it, as something to write."""
    try:
        store = work(context, held, monitor)
    except FitStopped:
        return lambda session: _let_go(session, held, monitor.stop_reason)
    except Exception as error:
        if not isinstance(error, CoreError):  # whose message says it all: no fault of the worker
            log.exception("failed")
        return _failure(held, error)
    return lambda session: _succeed(session, held, store)


def _failure(held: Claim, error: Exception) -> Outcome:
    """What a client is told about an error: its own code where it is meant for clients, nothing else otherwise."""
    code, message = ServiceError.code, INTERNAL_ERROR
    if isinstance(error, CoreError | ServiceError):
        code, message = error.code, str(error)
    elif isinstance(error, MemoryError):
        code, message = "out_of_memory", OUT_OF_MEMORY
    return lambda session: _fail(session, held, code, message)


def _persist(context: ServiceContext, held: Claim, outcome: Outcome, monitor: JobMonitor) -> None:
    """Write the outcome; while the database is away, try again for as long as a lease lasts."""
    settings = context.settings.jobs
    deadline = time.monotonic() + settings.lease_seconds
    failure: Outcome | None = None
    while True:
        try:
            with writing(context.sessions) as session:
                outcome(session)
        except OperationalError as error:
            if monitor.stop_reason is StopReason.LEASE_LOST or time.monotonic() > deadline:
                # Left to the lease: it lapses, and the job is taken back.
                log.exception("gave up: the database did not take the outcome")
                return
            log.warning("the database did not take the outcome, trying again: %s", error.orig)
            time.sleep(settings.renew_interval_seconds)
        except _LeaseLost:
            log.warning("dropped: the lease was lost and another attempt owns the job")
            return
        except Exception as error:
            log.exception("the outcome could not be stored")
            if failure is not None:
                # Not even that can be written: the lease lapses, and another attempt may do better.
                return
            outcome = failure = _failure(held, error)
        else:
            return


def _succeed(session: Session, held: Claim, store: Callable[[Session], dict[str, Any]]) -> None:
    with session.begin_nested() as savepoint:
        result = store(session)
        if state_machine.enter(session, held.job_id, JobState.SUCCEEDED, fence=held.attempt, **result):
            log.info("succeeded")
            return
        # Asked to stop at the last moment, or not ours any more: nothing of the result is kept.
        savepoint.rollback()
    _cancel(session, held)


def _fail(session: Session, held: Claim, code: str, message: str) -> None:
    if state_machine.fail(session, held.job_id, code, message, fence=held.attempt):
        log.warning("failed with %s: %s", code, message)
        return
    _cancel(session, held)


def _let_go(session: Session, held: Claim, reason: StopReason | None) -> None:
    if reason is StopReason.LEASE_LOST:
        raise _LeaseLost
    is_shutdown = reason is StopReason.SHUTDOWN
    if is_shutdown and state_machine.requeue(session, held.job_id, fence=held.attempt, lost_attempts=0):
        log.info("given back to the queue: %s", StopReason.SHUTDOWN.value)
        return
    _cancel(session, held)


def _cancel(session: Session, held: Claim) -> None:
    if not state_machine.enter(session, held.job_id, JobState.CANCELLED, fence=held.attempt):
        raise _LeaseLost
    log.info("cancelled")
