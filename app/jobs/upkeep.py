"""The thread that every API and worker process runs: publishes owed jobs, takes back those of dead workers, sweeps.

Each step is a conditional update, so any number of processes may do it at once.
"""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from secrets import SystemRandom

from celery import Celery
from sqlalchemy.exc import OperationalError

from app.database import SessionFactory, reading, writing
from app.jobs import lease
from app.jobs.queue import BROKER_AWAY, forget_lost_messages, relay_owed
from app.settings import JobSettings
from app.staging import remove_orphans

log = logging.getLogger(__name__)
_jitter = SystemRandom()


class Upkeep:
    """Start it once per process, after any fork."""

    def __init__(self, sessions: SessionFactory, celery: Celery, settings: JobSettings, staging: Path) -> None:
        self._staging = staging
        self._sessions = sessions
        self._celery = celery
        self._settings = settings
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
        self._attempt("reaper", lambda: take_back_lapsed(self._sessions, self._settings))
        self._attempt("relay", lambda: relay_owed(self._sessions, self._celery))
        republish_after = self._settings.republish_after_seconds
        self._attempt("republish", lambda: forget_lost_messages(self._sessions, self._celery, republish_after))
        self._attempt("sweep", lambda: remove_orphans(self._staging))

    def _run(self) -> None:
        while not self._stopped:
            self.turn()
            # Jittered, so that many processes do not ask the database in step.
            self._wake.wait(self._settings.upkeep_interval_seconds * _jitter.uniform(0.75, 1.25))
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


def take_back_lapsed(sessions: SessionFactory, settings: JobSettings) -> int:
    """Requeue, fail or cancel the jobs whose lease has lapsed; how many were looked at."""
    with reading(sessions) as session:
        job_ids = lease.lapsed(session)
    for job_id in job_ids:
        log.warning("job %s: its worker was lost", job_id)
        with writing(sessions) as session:
            lease.take_back(session, job_id, settings.max_attempts, delay_seconds=settings.retry_delay_seconds)
    return len(job_ids)
