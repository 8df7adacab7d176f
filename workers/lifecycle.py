"""Life of a job in a worker: the job is claimed, run under a heartbeat, and ended with exactly one outcome."""

import logging
import time
import uuid
from collections.abc import Callable

from sqlalchemy.exc import OperationalError

from app.context import ServiceContext
from app.jobs import lease
from app.jobs.lease import Claim
from app.logs import correlation
from app.storage.database import writing
from core import CoreError, FitStopped
from workers.heartbeat import Heartbeat
from workers.job_body import JobBody
from workers.monitor import JobMonitor, StopReason
from workers.outcomes import Failure, LeaseLost, Outcome, Stop, Success

log = logging.getLogger(__name__)


def run_job(context: ServiceContext, job_id: uuid.UUID, body: JobBody, shutting_down: Callable[[], bool]) -> None:
    """Run a job if it can be claimed; a second message for the same job costs one query."""
    settings = context.settings.jobs
    with writing(context.sessions) as session:
        claim = lease.claim(session, job_id, settings.lease_seconds)
    if claim is None:
        log.info("job %s cannot be claimed; there is nothing to do", job_id)
        return
    correlation.set(f"job {job_id} attempt {claim.attempt}")
    log.info("started")
    monitor = JobMonitor()
    with Heartbeat(context.sessions, settings, claim, monitor, shutting_down):
        outcome = _run(context, claim, body, monitor)
        _persist(context, claim, outcome, monitor)
    correlation.set("-")


def _run(context: ServiceContext, claim: Claim, body: JobBody, monitor: JobMonitor) -> Outcome:
    try:
        return Success(context, monitor, body(context, claim, monitor))
    except FitStopped:
        return Stop(monitor.stop_reason)
    except Exception as error:
        if not isinstance(error, CoreError):  # The message of a CoreError is complete; the worker is not at fault.
            log.exception("failed")
        return Failure.from_error(error)


def _persist(context: ServiceContext, claim: Claim, outcome: Outcome, monitor: JobMonitor) -> None:
    """Write the outcome; while the database is unavailable, retry for as long as a lease lasts."""
    settings = context.settings.jobs
    deadline = time.monotonic() + settings.lease_seconds
    has_failed = False
    while True:
        try:
            with writing(context.sessions) as session:
                outcome.write(session, claim)
        except OperationalError as error:
            if monitor.stop_reason is StopReason.LEASE_LOST or time.monotonic() > deadline:
                # The lease will lapse, and the job is then taken back.
                log.exception("gave up: the database did not accept the outcome")
                return
            log.warning("the database did not accept the outcome; trying again: %s", error.orig)
            time.sleep(settings.renew_interval_seconds)
        except LeaseLost:
            log.warning("dropped the outcome: the lease was lost and another attempt owns the job")
            return
        except Exception as error:
            log.exception("the outcome could not be stored")
            if has_failed:
                # The failure cannot be written either. The lease will lapse, and another attempt may succeed.
                return
            outcome, has_failed = Failure.from_error(error), True
        else:
            return
