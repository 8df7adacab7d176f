"""Time that the compilation of kernels takes, and a message about it before the first fit on a machine.

The message is one line of the logger `core.compilation`. Without a configuration of logging, Python writes it to
standard error, in scripts as in notebooks; that is why its level is WARNING. To turn it off:

    logging.getLogger("core.compilation").setLevel("ERROR")
"""

import logging
import time
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from numba.core import event

from core.kernels.jit import CACHE_FOLDER

log = logging.getLogger(__name__)

_COMPILE = "numba:compile"
_KERNELS = "core.kernels."


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
                "Compiling the code of this kind of fit. This usually takes 10 to 30 seconds, once: the result is "
                "cached on disk, and later fits start at once."
            )

    def on_end(self, event: Any) -> None:
        """Do nothing."""


class _Stopwatch(event.Listener):
    """Listener that adds up the seconds in which a kernel is compiled.

    Numba compiles one function at a time, and its callees within this time.
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
    event.register(_COMPILE, _ANNOUNCER)  # type: ignore[no-untyped-call]


@cache
def measure_compilation() -> None:
    """Begin to measure the time of compilation in this process."""
    event.register(_COMPILE, _STOPWATCH)  # type: ignore[no-untyped-call]


def compile_seconds() -> float:
    """Return the seconds that this process has spent on the compilation of kernels.

    Fits, their warm-up and that of predictions are measured; loading compiled kernels takes no time here.
    """
    return _STOPWATCH.seconds


def kernel_cache_folder() -> Path | None:
    """Return the folder of the compiled kernels of this version; None if no folder can be written to."""
    return CACHE_FOLDER
