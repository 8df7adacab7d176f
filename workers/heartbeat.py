"""The thread that keeps a job's lease alive while the job computes."""

import logging
import threading
import time
from collections.abc import Callable

from sqlalchemy.exc import OperationalError

from app.jobs.lease import Claim, renew
from app.jobs.states import JobState
from app.settings import JobSettings
from app.storage.database import SessionFactory, writing
from workers.monitor import JobMonitor, StopReason

log = logging.getLogger(__name__)


class Heartbeat:
    """Renews a lease, carries progress up and stop requests down. Use it as a context manager around the work."""

    def __init__(
        self,
        sessions: SessionFactory,
        settings: JobSettings,
        held: Claim,
        monitor: JobMonitor,
        shutting_down: Callable[[], bool],
    ) -> None:
        self._sessions = sessions
        self._settings = settings
        self._held = held
        self._monitor = monitor
        self._shutting_down = shutting_down
        self._renewed = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._settings.renew_interval_seconds):
            if self._shutting_down():
                self._monitor.stop(StopReason.SHUTDOWN)
            try:
                self._renew()
            except OperationalError:
                self._give_up_when_overdue()
            except Exception:
                log.exception("renewing the lease of job %s failed", self._held.job_id)
                self._give_up_when_overdue()

    def _renew(self) -> None:
        asked = time.monotonic()
        with writing(self._sessions) as session:
            state = renew(session, self._held, self._settings.lease_seconds, self._monitor.news())
        if state is None:
            self._monitor.stop(StopReason.LEASE_LOST)
        elif state is JobState.CANCELLING:
            self._monitor.stop(StopReason.CANCEL)
        self._renewed = asked

    def _give_up_when_overdue(self) -> None:
        # Without the database nobody can say whose job this is; once the lease has ended, it may be another's.
        silent_seconds = time.monotonic() - self._renewed
        if silent_seconds > self._settings.lease_seconds:
            self._monitor.stop(StopReason.LEASE_LOST)
