"""Thread that renews the lease of a job while the job computes."""

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
    """Context manager that renews a lease, reports progress and passes on stop requests while the work runs."""

    def __init__(
        self,
        sessions: SessionFactory,
        settings: JobSettings,
        claim: Claim,
        monitor: JobMonitor,
        shutting_down: Callable[[], bool],
    ) -> None:
        self._sessions = sessions
        self._settings = settings
        self._claim = claim
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
                self._stop_if_overdue()
            except Exception:
                log.exception("the lease of job %s could not be renewed", self._claim.job_id)
                self._stop_if_overdue()

    def _renew(self) -> None:
        requested = time.monotonic()
        with writing(self._sessions) as session:
            state = renew(session, self._claim, self._settings.lease_seconds, self._monitor.news())
        if state is None:
            self._monitor.stop(StopReason.LEASE_LOST)
        elif state is JobState.CANCELLING:
            self._monitor.stop(StopReason.CANCEL)
        self._renewed = requested

    def _stop_if_overdue(self) -> None:
        # The owner of the job is unknown while the database is unavailable. Once the lease has ended, another worker
        # may own it.
        seconds_since_renewal = time.monotonic() - self._renewed
        if seconds_since_renewal > self._settings.lease_seconds:
            self._monitor.stop(StopReason.LEASE_LOST)
