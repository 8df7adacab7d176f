"""Thread that runs maintenance steps at regular intervals, in every API and worker process."""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from secrets import SystemRandom

log = logging.getLogger(__name__)
_jitter = SystemRandom()


@dataclass(frozen=True)
class MaintenanceStep:
    """Work that any number of processes may do at the same time."""

    name: str
    run: Callable[[], int]
    #: Skipped if it began less than this long ago.
    min_interval_seconds: float = 0.0


class MaintenanceThread:
    """Runs all steps again and again. Start it once per process, after any fork."""

    def __init__(
        self,
        steps: Sequence[MaintenanceStep],
        interval_seconds: float,
        outages: tuple[type[Exception], ...],
    ) -> None:
        """outages: errors which mean that the database or broker is unavailable. Each outage is logged once."""
        self._steps = steps
        self._interval_seconds = interval_seconds
        self._outages = outages
        self._began = {step.name: -math.inf for step in steps}
        self._failing: set[str] = set()
        self._wake = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="maintenance", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Run the steps now instead of after the interval, because a job was queued and committed."""
        self._wake.set()

    def stop(self) -> None:
        self._stopped = True
        self._wake.set()
        self._thread.join(timeout=10)

    def run_once(self) -> None:
        """Run all steps that are due. A step that fails does not keep the others from running."""
        for step in self._steps:
            now = time.monotonic()
            if now - self._began[step.name] > step.min_interval_seconds:
                self._began[step.name] = now
                self._attempt(step)

    def _run(self) -> None:
        # Jittered, so that many processes do not query the database at the same moments, also when they start at once.
        self._pause(_jitter.uniform(0.0, 1.0))
        while not self._stopped:
            self.run_once()
            self._pause(_jitter.uniform(0.75, 1.25))

    def _pause(self, n_intervals: float) -> None:
        self._wake.wait(self._interval_seconds * n_intervals)
        self._wake.clear()

    def _attempt(self, step: MaintenanceStep) -> None:
        try:
            step.run()
        except self._outages as error:
            if step.name not in self._failing:
                log.warning("maintenance step %r waits for the database or broker: %s", step.name, type(error).__name__)
            self._failing.add(step.name)
        except Exception:
            log.exception("maintenance step %r failed", step.name)
        else:
            if step.name in self._failing:
                log.info("maintenance step %r works again", step.name)
            self._failing.discard(step.name)
