"""The thread that every API and worker process runs: publishes owed jobs, takes back those of dead workers, sweeps.

Each step is a conditional update, so any number of processes may do it at once.
"""

import logging
import math
import threading
import time
from collections.abc import Callable
from secrets import SystemRandom

from celery import Celery
from sqlalchemy.exc import OperationalError

from app.audits import service as audits
from app.context import ServiceContext
from app.datasets import service as datasets
from app.jobs import families, lease
from app.jobs.queue import BROKER_AWAY, forget_lost_messages, relay_owed
from app.settings import JobSettings
from app.storage.database import SessionFactory, reading, writing
from app.storage.staging import remove_orphans
from app.trained_models import service as trained_models

log = logging.getLogger(__name__)
_jitter = SystemRandom()

#: What a crash leaves is waste, not danger; looking for it means listing whole folders.
SWEEP_INTERVAL_SECONDS = 3600.0


class Upkeep:
    """Start it once per process, after any fork."""

    def __init__(self, context: ServiceContext, celery: Celery) -> None:
        self._context = context
        self._celery = celery
        self._swept = -math.inf
        self._wake = threading.Event()
        self._stopped = False
        self._failing: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """A job was queued and committed: publish it now instead of at the next turn."""
        self._wake.set()

    def stop(self) -> None:
        self._stopped = True
        self._wake.set()
        self._thread.join(timeout=10)

    def turn(self) -> None:
        """One round of all steps; a step that fails does not keep the others from running."""
        sessions, settings = self._context.sessions, self._context.settings.jobs
        self._attempt("reaper", lambda: take_back_lapsed(sessions, settings))
        self._attempt("families", lambda: settle_families(sessions))
        self._attempt("relay", lambda: relay_owed(sessions, self._celery))
        republish_after = settings.republish_after_seconds
        self._attempt("republish", lambda: forget_lost_messages(sessions, self._celery, republish_after))
        if time.monotonic() - self._swept > SWEEP_INTERVAL_SECONDS:
            self._swept = time.monotonic()
            self._attempt("sweep", lambda: sweep(self._context))

    def _run(self) -> None:
        while not self._stopped:
            self.turn()
            # Jittered, so that many processes do not ask the database in step.
            self._wake.wait(self._context.settings.jobs.upkeep_interval_seconds * _jitter.uniform(0.75, 1.25))
            self._wake.clear()

    def _attempt(self, step: str, work: Callable[[], int]) -> None:
        try:
            work()
        except (*BROKER_AWAY, OperationalError) as error:
            if step not in self._failing:
                log.warning("%s waits: %s", step, type(error).__name__)
            self._failing.add(step)
        except Exception:
            log.exception("%s failed", step)
        else:
            if step in self._failing:
                log.info("%s works again", step)
            self._failing.discard(step)


def sweep(context: ServiceContext) -> int:
    """Remove the files that killed processes left: unfinished ones, and finished ones that no row names."""
    limits = context.settings.limits
    return (
        remove_orphans(context.settings.staging_folder)
        + datasets.remove_unreferenced(context.sessions, context.dataset_store, limits)
        + trained_models.remove_unreferenced(context.sessions, context.artifact_store)
        + audits.remove_unreferenced(context.sessions, context.issue_store)
    )


def take_back_lapsed(sessions: SessionFactory, settings: JobSettings) -> int:
    """Requeue, fail or cancel the jobs whose lease has lapsed; how many were looked at."""
    with reading(sessions) as session:
        job_ids = lease.lapsed(session)
    for job_id in job_ids:
        log.warning("job %s: its worker was lost", job_id)
        with writing(sessions) as session:
            lease.take_back(session, job_id, settings.max_attempts, delay_seconds=settings.retry_delay_seconds)
    return len(job_ids)


def settle_families(sessions: SessionFactory) -> int:
    """End the jobs whose parts have all ended, should they still be open; how many were looked at."""
    with reading(sessions) as session:
        job_ids = families.unsettled(session)
    for job_id in job_ids:
        log.warning("job %s: all of its parts have ended", job_id)
        with writing(sessions) as session:
            families.settle(session, job_id)
    return len(job_ids)
