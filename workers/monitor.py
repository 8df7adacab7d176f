"""Monitor of a running job, shared between the fit and the thread that renews the lease."""

import threading
import time
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from core import FitStopped


class StopReason(Enum):
    CANCEL = "cancellation was requested"
    LEASE_LOST = "this worker no longer owns the job"
    SHUTDOWN = "the worker is shutting down"


class JobMonitor:
    """FitMonitor of `core` whose progress is read, and whose stop flag is set, from another thread."""

    def __init__(self) -> None:
        self.stop_flag = np.zeros(1, dtype=np.uint8)
        self.stop_reason: StopReason | None = None
        self._weights: Mapping[str, float] = {}
        self._lock = threading.Lock()
        self._phase: str | None = None
        self._completed, self._total, self._unit = 0, 0, ""
        self._started = time.monotonic()
        self._reported: dict[str, Any] = {}

    def plan(self, weights: Mapping[str, float]) -> None:
        """Announce the phases in their order, each with its weight in the work of the job, in any unit."""
        with self._lock:
            self._weights = dict(weights)

    def begin(self, phase: str, total: int, unit: str) -> None:
        """Start a phase of `total` units. Raises FitStopped if the job was asked to stop."""
        self.raise_if_stopped()
        with self._lock:
            self._phase, self._completed, self._total, self._unit = phase, 0, total, unit

    def advance(self, completed: int) -> None:
        """Record that `completed` units of the phase are done; the count never decreases."""
        with self._lock:
            self._completed = max(self._completed, completed)

    def stop(self, reason: StopReason) -> None:
        """Ask the job to stop; a kernel reads the flag at its next node.

        The first reason is kept, unless the lease is lost: that reason replaces any other, because nothing may be
        written afterwards.
        """
        with self._lock:
            if self.stop_reason is None or reason is StopReason.LEASE_LOST:
                self.stop_reason = reason
            self.stop_flag[0] = 1

    def raise_if_stopped(self) -> None:
        """Raise FitStopped if the job was asked to stop; used by the code outside of kernels."""
        if self.stop_reason is not None:
            raise FitStopped(self.stop_reason.value)

    def news(self) -> dict[str, Any] | None:
        """Return the progress as it is stored, or None if it has not changed since the last call."""
        with self._lock:
            position = self._position()
            if self._phase is None or position == self._reported:
                return None
            self._reported = position
            fraction = self._fraction()
        elapsed_seconds = time.monotonic() - self._started
        eta_seconds = round(elapsed_seconds * (1 - fraction) / fraction, 1) if fraction > 0 else None
        return {**position, "fraction": round(fraction, 4), "eta_seconds": eta_seconds}

    def progress(self) -> dict[str, Any]:
        """Return the current phase and its counts, without fraction and times."""
        with self._lock:
            return self._position()

    def _position(self) -> dict[str, Any]:
        return {"phase": self._phase, "completed": self._completed, "total": self._total, "unit": self._unit}

    def _fraction(self) -> float:
        phases = list(self._weights)
        if self._phase not in phases:
            return 0.0
        before = sum(self._weights[phase] for phase in phases[: phases.index(self._phase)])
        within = self._weights[self._phase] * self._completed / max(self._total, 1)
        return (before + within) / sum(self._weights.values())


def finished(progress: Mapping[str, Any]) -> dict[str, Any]:
    """Return the progress of a job that has succeeded, given its last position."""
    return {**progress, "completed": progress.get("total", 0), "fraction": 1.0, "eta_seconds": 0.0}
