"""Monitors of fits: progress, phases and the flag that stops a fit."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.exceptions import FitStopped


class FitMonitor(Protocol):
    """Observer of a fit that can stop it. `begin` and `advance` are called from any thread, one call at a time.

    stop_flag: uint8 (1,), which it must have; a value other than 0 stops the fit.
    """

    stop_flag: NDArray[np.uint8]  # (1,), read at every node

    def begin(self, phase: str, total: int, unit: str) -> None:
        """Start a phase ("injecting", "estimating", "tuning", "growing", ...) of `total` units."""

    def advance(self, completed: int) -> None:
        """Report that `completed` units of the current phase are done."""


class Stoppable(Protocol):
    """Holder of the flag that stops a fit."""

    stop_flag: NDArray[np.uint8]  # (1,)


class NullMonitor:
    """Monitor that ignores progress. It stops the fit only by the flag (1,) of another monitor, if one is given."""

    def __init__(self, stop_flag: NDArray[np.uint8] | None = None) -> None:
        self.stop_flag = np.zeros(1, dtype=np.uint8) if stop_flag is None else stop_flag

    def begin(self, phase: str, total: int, unit: str) -> None:
        pass

    def advance(self, completed: int) -> None:
        pass


#: Message of FitStopped.
STOPPED = "the fit was stopped by its monitor; nothing was kept."


def raise_if_stopped(stop_flag: NDArray[np.uint8] | None) -> None:
    """Raise FitStopped if the flag (1,) is set; for work outside kernels."""
    if stop_flag is not None and stop_flag[0]:
        raise FitStopped(STOPPED)


_FLAG_OF_BLOCK: ContextVar[NDArray[np.uint8] | None] = ContextVar("stop flag", default=None)


@contextmanager
def stopping_with(stoppable: Stoppable) -> Iterator[None]:
    """Let the flag stop work in this block that takes no monitor, such as predictions, scores and saving.

    They raise FitStopped between their steps, of which none takes longer than about a second.
    """
    token = _FLAG_OF_BLOCK.set(stoppable.stop_flag)
    try:
        yield
    finally:
        _FLAG_OF_BLOCK.reset(token)


def stop_flag_of_block() -> NDArray[np.uint8] | None:
    """Return the flag (1,) of the innermost `stopping_with` around the caller in its thread, or None."""
    return _FLAG_OF_BLOCK.get()


def stop_point() -> None:
    """Raise FitStopped if the flag of the innermost `stopping_with` is set; for the steps of long work."""
    raise_if_stopped(_FLAG_OF_BLOCK.get())


class Progress:
    """Counter of the trees of one phase across threads, which reports to the monitor."""

    def __init__(self, monitor: FitMonitor, phase: str, n_trees: int) -> None:
        self._monitor = monitor
        self._lock = threading.Lock()
        self._completed = 0
        self.stop_flag = monitor.stop_flag
        monitor.begin(phase, n_trees, "trees")

    def advance(self, n_trees: int = 1) -> None:
        """Report `n_trees` more trees."""
        with self._lock:
            self._completed += n_trees
            self._monitor.advance(self._completed)


class _PhaseRenaming:
    """Monitor that forwards to another one under changed names of phases."""

    def __init__(self, monitor: FitMonitor, rename: Callable[[str], str]) -> None:
        self.stop_flag = monitor.stop_flag
        self._monitor = monitor
        self._rename = rename

    def begin(self, phase: str, total: int, unit: str) -> None:
        self._monitor.begin(self._rename(phase), total, unit)

    def advance(self, completed: int) -> None:
        self._monitor.advance(completed)


def step_monitor(monitor: FitMonitor, step: str) -> FitMonitor:
    """Return a monitor for one of several fits, whose phases reach `monitor` with the prefix `step`."""
    return _PhaseRenaming(monitor, lambda phase: step + phase)


def phase_monitor(monitor: FitMonitor, phase: str) -> FitMonitor:
    """Return a monitor for a fit within `phase`, whose own phases all reach `monitor` as `phase`."""
    return _PhaseRenaming(monitor, lambda _: phase)


def fold_prefix(number: int, n_folds: int) -> str:
    """Return the prefix of the phases of fold `number`, counted from 1."""
    return f"fold {number} of {n_folds}: "
