"""Time that the compilation of kernels takes, and a message about it before the first fit on a machine.

The message is one line of the logger `core.compilation`. Without a configuration of logging, Python writes it to
standard error, in scripts as in notebooks; that is why its level is WARNING. To turn it off:

    logging.getLogger("core.compilation").setLevel("ERROR")
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from numba.core import event

from core.kernels.inner_code import WAITING
from core.kernels.jit import CACHE_FOLDER, LOCKS

log = logging.getLogger(__name__)

#: Kinds of events: this process compiles a kernel, or waits until another process has compiled it.
_EVENTS = ("numba:compile", WAITING)
_KERNELS = "core.kernels."

#: Steps in which the kernels of a fit are compiled. Of the growth of trees there is one step for each loss.
BINNING, LINEAR_PROGRAMS, PREDICTIONS = "binning", "linear programs", "predictions"
KERNEL_RIDGE = "kernel ridge regression"
_STEPS = {
    "growth.binning": BINNING,
    "simplex": LINEAR_PROGRAMS,
    "prediction.rule_outputs": LINEAR_PROGRAMS,  # the margins of the rows, which each program needs
    "prediction": PREDICTIONS,
    "ridge": KERNEL_RIDGE,
    "row_scans": PREDICTIONS,
}

#: Receives the name of the step that begins and the number of steps before it.
StepReport = Callable[[str, int], None]


def growth_step(loss: str) -> str:
    """Return the name of the step that compiles the growth of trees with a loss of this kind."""
    return f"tree growth with {loss}"


def _is_kernel(compilation: Any) -> bool:
    """Return whether a kernel is compiled. Other code of the process may use numba as well."""
    module: str = compilation.data["dispatcher"].py_func.__module__
    return module.startswith(_KERNELS)


class _Announcer(event.Listener):
    """Listener that logs the first compilation of a kernel."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_done = False

    def on_start(self, event: Any) -> None:
        """Log the message unless it was logged before; `event.data` names the function that is compiled."""
        if not _is_kernel(event):
            return
        with self._lock:
            is_first, self._is_done = not self._is_done, True
        if is_first:
            log.warning(
                "Compiling the code of this kind of fit. This usually takes 10 to 20 seconds, once: the result is "
                "cached on disk, and later fits start at once."
            )

    def on_end(self, event: Any) -> None:
        """Do nothing."""


class _StepReporter(event.Listener):
    """Listener that reports each step at its first kernel.

    Reads of the disk cache are no events, so a step whose kernels are all cached is passed over.
    """

    def __init__(self, steps: Sequence[str], report: StepReport) -> None:
        self._steps, self._report = list(steps), report
        self._growth = self._current = ""

    def begin_fit(self, loss: str) -> None:
        """State the loss of the fit whose kernels are compiled from now on."""
        self._growth = growth_step(loss)

    def on_start(self, event: Any) -> None:
        """Report the step of the kernel, unless it is the current one or one that only other fits have."""
        if not _is_kernel(event):
            return
        step = self._step_of(event.data["dispatcher"].py_func.__module__.removeprefix(_KERNELS))
        if step in self._steps and step != self._current:
            self._current = step
            self._report(step, self._steps.index(step))

    def _step_of(self, module: str) -> str:
        """Return the step of the kernels of a module. What has no step of its own is compiled for the growth."""
        return next((step for prefix, step in _STEPS.items() if f"{module}.".startswith(f"{prefix}.")), self._growth)

    def on_end(self, event: Any) -> None:
        """Do nothing."""


@contextmanager
def reporting_steps(steps: Sequence[str], report: StepReport) -> Iterator[Callable[[str], None]]:
    """Report which of `steps` this process compiles during the block.

    Yields the function to call with the loss of each fit before its kernels are compiled.
    """
    reporter = _StepReporter(steps, report)
    with ExitStack() as listening:
        for kind in _EVENTS:
            listening.enter_context(event.install_listener(kind, reporter))
        yield reporter.begin_fit


class _Stopwatch(event.Listener):
    """Listener that adds up the seconds in which a kernel is compiled.

    Numba compiles one function at a time, and its callees within this time. The time of waiting for a process that
    compiles the same kernel counts as well.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth, self._began = 0, 0.0

    def on_start(self, event: Any) -> None:
        """Start the clock at the outermost function."""
        if _is_kernel(event):
            self._began = self._began if self._depth else time.perf_counter()
            self._depth += 1

    def on_end(self, event: Any) -> None:
        """Stop the clock at the outermost function."""
        if _is_kernel(event):
            self._depth -= 1
            self.seconds += 0.0 if self._depth else time.perf_counter() - self._began


_ANNOUNCER = _Announcer()
_STOPWATCH = _Stopwatch()


@cache
def announce_compilation() -> None:
    """Log a line when this process compiles a kernel for the first time from now on, and measure the time."""
    measure_compilation()
    _register(_ANNOUNCER)


@cache
def measure_compilation() -> None:
    """Begin to measure the time of compilation in this process."""
    _register(_STOPWATCH)


def _register(listener: event.Listener) -> None:
    for kind in _EVENTS:
        event.register(kind, listener)  # type: ignore[no-untyped-call]


def call_before_compilation(function: Callable[[], None]) -> None:
    """Call `function` from now on before this process compiles a kernel or loads its code from the disk.

    This process holds no lock of a kernel then, so that `function` may wait for other processes.
    """
    if LOCKS is not None:
        LOCKS.call_before(function)


def compile_seconds() -> float:
    """Return the seconds that this process has spent on the compilation of kernels.

    Fits, their warm-up and that of predictions are measured; loading compiled kernels takes no time here.
    """
    return _STOPWATCH.seconds


def kernel_cache_folder() -> Path | None:
    """Return the folder of the compiled kernels of this version; None if no folder can be written to."""
    return CACHE_FOLDER
