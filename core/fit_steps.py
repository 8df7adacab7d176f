"""Monitors of fits that are parts of something longer."""

from collections.abc import Callable

from core.growing import FitMonitor


class _Renaming:
    """Passes on what a FitMonitor hears, phases by other names."""

    def __init__(self, monitor: FitMonitor, name_of: Callable[[str], str]) -> None:
        self.stop_flag = monitor.stop_flag
        self._monitor = monitor
        self._name_of = name_of

    def begin(self, phase: str, total: int, unit: str) -> None:
        self._monitor.begin(self._name_of(phase), total, unit)

    def advance(self, completed: int) -> None:
        self._monitor.advance(completed)


def of_step(monitor: FitMonitor, step: str) -> FitMonitor:
    """For one of several fits: `monitor` hears of its phases with `step` before them."""
    return _Renaming(monitor, lambda phase: step + phase)


def as_phase(monitor: FitMonitor, phase: str) -> FitMonitor:
    """For a fit that is a part of `phase`, which `monitor` hears of in the place of the fit's own."""
    return _Renaming(monitor, lambda _: phase)


def fold_step(number: int, n_folds: int) -> str:
    """What the phases of the fit of fold `number`, from 1, begin with."""
    return f"fold {number} of {n_folds}: "
