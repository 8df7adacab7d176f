"""Enforcement of requests to stop: the process of a job that does not stop in time is ended."""

import logging
import mmap
import os
import signal
import threading
import time
from contextlib import suppress

from app.logs import Correlation, correlation
from workers.job_board import JobBoard, StopReason
from workers.process_state import is_stopped

log = logging.getLogger(__name__)

#: Ends a process whatever it computes, as SIGKILL does. Nothing else sends it, so that the parent of the process can
#: tell an end on purpose from a loss.
END_SIGNAL = signal.SIGVTALRM
_POLL_SECONDS = 0.1


class StopEnforcer(threading.Thread):
    """Thread of a lease keeper for one claim, which never waits for the database, however long a renewal does."""

    def __init__(
        self, board: JobBoard, shutdown_flag: mmap.mmap, worker_pid: int, grace_seconds: float, job: Correlation
    ) -> None:
        """job: correlation of the lines of the log."""
        super().__init__(name="stop enforcer", daemon=True)
        self._board, self._shutdown_flag = board, shutdown_flag
        self._worker_pid, self._grace_seconds, self._correlation = worker_pid, grace_seconds, job
        self._over = threading.Event()

    def close(self) -> None:
        """End the thread. The process is not ended afterwards."""
        self._over.set()
        self.join()

    def run(self) -> None:
        correlation.set(self._correlation)
        requested = None
        while not self._over.wait(_POLL_SECONDS):
            if self._shutdown_flag[0]:
                self._board.stop(StopReason.SHUTDOWN)
            if self._board.stop_reason is None:
                continue
            requested = requested or time.monotonic()
            if time.monotonic() - requested > self._grace_seconds and self._is_computing():
                self._end_process()
                return

    def _is_computing(self) -> bool:
        # A process that is stopped by a signal cannot react; its lease lapses.
        return self._board.body_runs and not is_stopped(self._worker_pid)

    def _end_process(self) -> None:
        reason = self._board.stop_reason
        log.info(
            "the job has not stopped within %g seconds (%s); its process %d is ended on purpose",
            self._grace_seconds,
            reason and reason.value,
            self._worker_pid,
        )
        with suppress(ProcessLookupError):
            os.kill(self._worker_pid, END_SIGNAL)
            # In case that a library has blocked the first signal.
            if not self._over.wait(1.0):
                os.kill(self._worker_pid, signal.SIGKILL)
