"""Waiting for disk space. A result that does not fit is kept in memory until it does; its attempt goes on."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from app.storage.disk_space import is_full
from workers.monitor import JobMonitor

log = logging.getLogger(__name__)

PHASE = "waiting for disk space"
#: The pause before the next try doubles from one to the other; writing a large file again and again costs time too.
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 15.0
_POLL_SECONDS = 0.1

Result = TypeVar("Result")


def when_it_fits(write: Callable[[], Result], monitor: JobMonitor) -> Result:
    """Return the result of `write`, which is called again as long as it fails because the disk is full.

    Raises FitStopped if the job is asked to stop meanwhile.
    """
    pause_seconds = _FIRST_PAUSE_SECONDS
    while True:
        try:
            return write()
        except Exception as error:
            if not is_full(error):
                raise
        if pause_seconds == _FIRST_PAUSE_SECONDS:
            log.warning("the disk is full; the result waits for space")
        with monitor.waiting(PHASE):
            _pause(pause_seconds, monitor)
        pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)


def _pause(seconds: float, monitor: JobMonitor) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        monitor.raise_if_stopped()
        time.sleep(_POLL_SECONDS)
