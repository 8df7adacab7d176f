"""What a running fit and the thread that renews its lease tell each other."""

import threading
import time
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from core import FitStopped


class StopReason(Enum):
    CANCEL = "a user asked for it"
    LEASE_LOST = "the job is no longer this worker's"
    SHUTDOWN = "the worker is shutting down"


class JobMonitor:
    """A `core` FitMonitor whose progress is read, and whose stop flag is set, from another thread."""

    def __init__(self) -> None:
        self.stop_flag = np.zeros(1, dtype=np.uint8)
        self.stop_reason: StopReason | None = None
        self._shares: Mapping[str, float] = {}
        self._lock = threading.Lock()
        self._phase: str | None = None
        self._completed, self._total, self._unit = 0, 0, ""
        self._began = time.monotonic()
        self._reported: dict[str, Any] = {}

    def plan(self, shares: Mapping[str, float]) -> None:
        """Say which phases will come, in their order, and how much of the work each is, in any unit."""
        with self._lock:
            self._shares = dict(shares)

    def begin(self, phase: str, total: int, unit: str) -> None:
        self.raise_if_stopped()
        with self._lock:
            self._phase, self._completed, self._total, self._unit = phase, 0, total, unit

    def advance(self, completed: int) -> None:
        with self._lock:
            self._completed = max(self._completed, completed)

    def stop(self, reason: StopReason) -> None:
        """The first reason counts, except that a lost lease outweighs all: then nothing may be written any more.

        A kernel sees the flag at its next node.
        """
        with self._lock:
            if self.stop_reason is None or reason is StopReason.LEASE_LOST:
                self.stop_reason = reason
            self.stop_flag[0] = 1

    def raise_if_stopped(self) -> None:
        """For the parts of a job outside of kernels."""
        if self.stop_reason is not None:
            raise FitStopped(self.stop_reason.value)

    def news(self) -> dict[str, Any] | None:
        """The progress as it is stored, or None when nothing moved since the last call."""
        with self._lock:
            where = self._where()
            if self._phase is None or where == self._reported:
                return None
            self._reported = where
            fraction = self._fraction()
        elapsed_seconds = time.monotonic() - self._began
        eta_seconds = round(elapsed_seconds * (1 - fraction) / fraction, 1) if fraction > 0 else None
        return {**where, "fraction": round(fraction, 4), "eta_seconds": eta_seconds}

    def progress(self) -> dict[str, Any]:
        """Where the job is, without times."""
        with self._lock:
            return self._where()

    def _where(self) -> dict[str, Any]:
        return {"phase": self._phase, "completed": self._completed, "total": self._total, "unit": self._unit}

    def _fraction(self) -> float:
        phases = list(self._shares)
        if self._phase not in phases:
            return 0.0
        before = sum(self._shares[phase] for phase in phases[: phases.index(self._phase)])
        within = self._shares[self._phase] * self._completed / max(self._total, 1)
        return (before + within) / sum(self._shares.values())


def finished(progress: Mapping[str, Any]) -> dict[str, Any]:
    """The progress of a job that is done."""
    return {**progress, "completed": progress.get("total", 0), "fraction": 1.0, "eta_seconds": 0.0}
