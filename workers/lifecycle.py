"""Life of a job in a worker: the job is claimed, run while its lease is kept, and ended with exactly one outcome."""

import logging
import time
import uuid
from contextlib import AbstractContextManager
from functools import partial

from sqlalchemy.exc import OperationalError

from app.context import ServiceContext
from app.errors import Invalid, StoredFileMissing
from app.jobs import figures, lease
from app.jobs.figures import Figure, FigureName
from app.jobs.lease import Claim
from app.logs import NOTHING, correlation
from app.storage.database import writing
from app.telemetry import tracing
from app.telemetry.tracing import Span
from core import CoreError, FitStopped, service_api
from workers.full_disk import when_it_fits
from workers.job_board import StopReason
from workers.job_body import JobBody
from workers.lease_keeper import LeaseKeeper
from workers.monitor import JobMonitor
from workers.outcomes import Failure, FileWait, LeaseLost, Outcome, Stop, Success

log = logging.getLogger(__name__)


def run_job(context: ServiceContext, job_id: uuid.UUID, body: JobBody, keeper: LeaseKeeper) -> None:
    """Run a job if it can be claimed; a second message for the same job costs one query."""
    settings = context.settings.jobs
    with writing(context.sessions) as session:
        claim = lease.claim(session, job_id, settings.lease_seconds)
    if claim is None:
        log.info("job %s cannot be claimed; there is nothing to do", job_id)
        return
    correlation.set(claim.correlation)
    log.info("started")
    with keeper.keeping(claim) as monitor:
        run_attempt(context, claim, body, monitor)
    correlation.set(NOTHING)


def run_attempt(context: ServiceContext, claim: Claim, body: JobBody, monitor: JobMonitor) -> None:
    """Run a claimed job and write its outcome; whoever holds `monitor.board` keeps the lease."""
    with _span(claim) as span:
        with monitor.body_running(), service_api.stopping_with(monitor):
            outcome = _run(context, claim, body, monitor)
        _tell(span, outcome, monitor)
        _finish(context, claim, outcome, monitor)


def _span(claim: Claim) -> AbstractContextManager[Span]:
    """Return the span of an attempt, which continues the trace of the request that has queued the job."""
    attributes: dict[str, str | int] = {
        "bristlecone.job.id": str(claim.job_id),
        "bristlecone.job.attempt": claim.attempt,
    }
    if claim.origin.request_id is not None:
        attributes["bristlecone.request.id"] = claim.origin.request_id
    kind = "" if claim.kind is None else f" {claim.kind.value}"
    return tracing.span(f"job{kind}", attributes, claim.origin.traceparent, "consumer")


def _tell(span: Span, outcome: Outcome, monitor: JobMonitor) -> None:
    for phase, timing in monitor.timings():
        tracing.record(phase, timing)
    span.set({"bristlecone.job.outcome": type(outcome).__name__.lower()})
    if isinstance(outcome, Failure):
        span.set({"error.type": outcome.code})
        span.fail(outcome.code)


def _finish(context: ServiceContext, claim: Claim, outcome: Outcome, monitor: JobMonitor) -> None:
    try:
        _persist(context, claim, outcome, monitor)
    finally:
        if isinstance(outcome, Success):
            outcome.discard()


def _run(context: ServiceContext, claim: Claim, body: JobBody, monitor: JobMonitor) -> Outcome:
    try:
        return Success(context, monitor, body(context, claim, monitor))
    except FitStopped:
        return Stop(monitor.stop_reason)
    except StoredFileMissing:
        return FileWait()
    except Exception as error:
        if not isinstance(error, CoreError | Invalid):  # Their messages are complete; the worker is not at fault.
            # Whether it fails the job is known later: one that was cancelled meanwhile ends as cancelled.
            log.exception("the computation raised an error")
        return Failure.from_error(error)


def _persist(context: ServiceContext, claim: Claim, outcome: Outcome, monitor: JobMonitor) -> None:
    """Write the outcome; while the database is unavailable, retry for as long as a lease lasts.

    While the disk is full, retry for as long as the job is not asked to stop.
    """
    settings = context.settings.jobs
    deadline = time.monotonic() + settings.lease_seconds
    has_failed = False
    while True:
        try:
            _write_when_it_fits(context, claim, outcome, monitor)
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


def _write_when_it_fits(context: ServiceContext, claim: Claim, outcome: Outcome, monitor: JobMonitor) -> None:
    try:
        when_it_fits(partial(_write, context, claim, outcome, monitor), monitor)
    except FitStopped:
        _write(context, claim, Stop(monitor.stop_reason), monitor)


def _write(context: ServiceContext, claim: Claim, outcome: Outcome, monitor: JobMonitor) -> None:
    with writing(context.sessions) as session:
        outcome.write(session, claim)
        if claim.kind is not None:
            seconds = monitor.seconds().items()
            figures.count(session, {Figure(FigureName.SECONDS, claim.kind, phase): spent for phase, spent in seconds})
