"""Monitors of fits: their progress, their phases, and the flag that stops them."""

import threading
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.exceptions import FitStopped


class FitMonitor(Protocol):
    """Watches a fit, and may stop it. `begin` and `advance` may come from any thread, one at a time."""

    stop_flag: NDArray[np.uint8]  # shape (1,), read at every node; not zero asks the fit to stop

    def begin(self, phase: str, total: int, unit: str) -> None:
        """A phase ("injecting", "estimating", "tuning", "growing") of `total` units starts."""

    def advance(self, completed: int) -> None:
        """`completed` units of the phase are done."""


class Stoppable(Protocol):
    """Whatever holds the flag that stops a fit."""

    stop_flag: NDArray[np.uint8]  # (1,)


class NullMonitor:
    """The monitor of a fit that nobody watches."""

    def __init__(self) -> None:
        self.stop_flag = np.zeros(1, dtype=np.uint8)

    def begin(self, phase: str, total: int, unit: str) -> None:
        pass

    def advance(self, completed: int) -> None:
        pass


def raise_if_stopped(stop_flag: NDArray[np.uint8] | None) -> None:
    """For work outside of kernels: raise FitStopped where the flag (1,) is set."""
    if stop_flag is not None and stop_flag[0]:
        raise FitStopped("the fit was stopped by its monitor; nothing was kept.")


class Progress:
    """Counts the trees of one phase across threads and tells the monitor."""

    def __init__(self, monitor: FitMonitor, phase: str, n_trees: int) -> None:
        self._monitor = monitor
        self._lock = threading.Lock()
        self._completed = 0
        self.stop_flag = monitor.stop_flag
        monitor.begin(phase, n_trees, "trees")

    def tree_done(self) -> None:
        with self._lock:
            self._completed += 1
            self._monitor.advance(self._completed)


class _PhaseRenaming:
    """Passes on what a FitMonitor hears, phases by other names."""

    def __init__(self, monitor: FitMonitor, name_of: Callable[[str], str]) -> None:
        self.stop_flag = monitor.stop_flag
        self._monitor = monitor
        self._name_of = name_of

    def begin(self, phase: str, total: int, unit: str) -> None:
        self._monitor.begin(self._name_of(phase), total, unit)

    def advance(self, completed: int) -> None:
        self._monitor.advance(completed)


def step_monitor(monitor: FitMonitor, step: str) -> FitMonitor:
    """For one of several fits: `monitor` hears of its phases with `step` before them."""
    return _PhaseRenaming(monitor, lambda phase: step + phase)


def phase_monitor(monitor: FitMonitor, phase: str) -> FitMonitor:
    """For a fit that is a part of `phase`, which `monitor` hears of in the place of the fit's own."""
    return _PhaseRenaming(monitor, lambda _: phase)


def fold_prefix(number: int, n_folds: int) -> str:
    """What the phases of the fit of fold `number`, from 1, begin with."""
    return f"fold {number} of {n_folds}: "
