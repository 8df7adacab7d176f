"""Monitor of a running job: tells its progress to the lease keeper, and the request to stop to the fit."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, Self

from app.telemetry.tracing import Timing
from core import FitStopped
from workers.job_board import JobBoard, StopReason

#: Phases that a trace shows.
_MAX_TIMINGS = 200
_KINDS = {
    "loading": "loading",
    "compiling": "compiling",
    "scoring": "scoring",
    "permuting": "scoring",
    "predicting": "scoring",
}


class PhaseKind(StrEnum):
    """Kind of work of a phase, by which the time of workers is added up."""

    LOADING = "loading"
    COMPILING = "compiling"
    FITTING = "fitting"
    SCORING = "scoring"

    @classmethod
    def of(cls, phase: str) -> Self:
        """Return the kind of a phase, whose name can begin with that of a step: `fold 1 of 5: scoring`."""
        name = phase.rpartition(": ")[2]
        # The phases of a fit have names of their own.
        return cls(_KINDS.get(name, "fitting"))


class JobMonitor:
    """FitMonitor of `core` whose progress is read, and whose stop flag is set, by another process."""

    def __init__(self, board: JobBoard) -> None:
        self.stop_flag = board.stop_flag
        self.board = board
        self._weights: Mapping[str, float] = {}
        self._lock = threading.Lock()
        self._phase: str | None = None
        self._step: str | None = None
        self._waits_for: str | None = None
        self._completed, self._total, self._unit = 0, 0, ""
        self._started = self._phase_began = time.monotonic()
        self._seconds: dict[PhaseKind, float] = {}
        self._timings: list[tuple[str, Timing]] = []

    @property
    def stop_reason(self) -> StopReason | None:
        return self.board.stop_reason

    @contextmanager
    def body_running(self) -> Iterator[None]:
        """Mark the time in which the job must react to a request to stop; otherwise the keeper kills its process."""
        self.board.body_runs = True
        try:
            yield
        finally:
            self.board.body_runs = False
            with self._lock:
                self._end_phase()

    def plan(self, weights: Mapping[str, float]) -> None:
        """Announce the phases in their order, each with its weight in the work of the job, in any unit."""
        with self._lock:
            self._weights = dict(weights)

    def begin(self, phase: str, total: int, unit: str) -> None:
        """Start a phase of `total` units. Raises FitStopped if the job was asked to stop."""
        self.raise_if_stopped()
        with self._lock:
            self._end_phase()
            self._phase, self._step, self._completed, self._total, self._unit = phase, None, 0, total, unit
            self._publish()

    def begin_step(self, step: str, completed: int) -> None:
        """Show the name of a step beside that of the current phase; `completed` units are done before it."""
        with self._lock:
            self._step, self._completed = step, max(self._completed, completed)
            self._publish()

    def advance(self, completed: int) -> None:
        """Record that `completed` units of the phase are done; the count never decreases."""
        with self._lock:
            self._completed = max(self._completed, completed)
            self._publish()

    @contextmanager
    def waiting(self, phase: str) -> Iterator[None]:
        """Report this phase while the block runs, which is no part of the work; the counts stay as they are."""
        self._set_waiting(phase)
        try:
            yield
        finally:
            self._set_waiting(None)

    def _set_waiting(self, phase: str | None) -> None:
        with self._lock:
            self._waits_for = phase
            self._publish()

    def seconds(self) -> dict[PhaseKind, float]:
        """Return the time that the body has spent in each kind of phase, after its end."""
        with self._lock:
            return dict(self._seconds)

    def timings(self) -> list[tuple[str, Timing]]:
        """Return when the first phases began and ended, in their order."""
        with self._lock:
            return list(self._timings)

    def _end_phase(self) -> None:
        seconds = time.monotonic() - self._phase_began
        self._phase_began += seconds
        if self._phase is None:
            return
        kind = PhaseKind.of(self._phase)
        self._seconds[kind] = self._seconds.get(kind, 0.0) + seconds
        if len(self._timings) < _MAX_TIMINGS:
            ended = time.time_ns()
            self._timings.append((self._phase, Timing(ended - int(1e9 * seconds), ended)))

    def raise_if_stopped(self) -> None:
        """Raise FitStopped if the job was asked to stop; used by the code outside of kernels."""
        reason = self.stop_reason
        if reason is not None:
            raise FitStopped(reason.value)

    def progress(self) -> dict[str, Any]:
        """Return the current phase and its counts, without fraction and times."""
        with self._lock:
            return self._position()

    def _publish(self) -> None:
        fraction = self._fraction()
        eta_seconds = self._eta_seconds(fraction)
        self.board.write_progress({**self._position(), "fraction": round(fraction, 4), "eta_seconds": eta_seconds})

    def _eta_seconds(self, fraction: float) -> float | None:
        """Return the remaining time at the pace so far. Compilation is left out: its pace is not that of a fit."""
        if self._step is not None or fraction == 0.0:
            return None
        work_seconds = time.monotonic() - self._started - self._seconds.get(PhaseKind.COMPILING, 0.0)
        return round(work_seconds * (1 - fraction) / fraction, 1)

    def _position(self) -> dict[str, Any]:
        return {
            "phase": self._waits_for or self._shown_phase(),
            "completed": self._completed,
            "total": self._total,
            "unit": self._unit,
        }

    def _shown_phase(self) -> str | None:
        return f"{self._phase}: {self._step}" if self._step else self._phase

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
