"""Message about the compilation of kernels, which delays the first fit on a machine by up to minutes.

The message is one line of the logger `core.compilation`. Without a configuration of logging, Python writes it to
standard error, in scripts as in notebooks; that is why its level is WARNING. To turn it off:

    logging.getLogger("core.compilation").setLevel("ERROR")
"""

import logging
from functools import cache
from threading import Lock
from typing import Any

from numba.core import event

log = logging.getLogger(__name__)

_COMPILE = "numba:compile"
_KERNELS = "core.kernels."


class _Announcer(event.Listener):
    """Listener that logs the first compilation of a kernel. Other code of the process may use numba as well."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_done = False

    def on_start(self, event: Any) -> None:
        """Log the message unless it was logged before; `event.data` names the function that is compiled."""
        if not event.data["dispatcher"].py_func.__module__.startswith(_KERNELS):
            return
        with self._lock:
            is_first, self._is_done = not self._is_done, True
        if is_first:
            log.warning(
                "Compiling the code of this kind of fit. This takes up to two minutes, once: the result is cached on "
                "disk, and later fits start at once."
            )

    def on_end(self, event: Any) -> None:
        """Do nothing."""


_ANNOUNCER = _Announcer()


@cache
def announce_compilation() -> None:
    """Log a line when this process compiles a kernel for the first time from now on."""
    event.register(_COMPILE, _ANNOUNCER)  # type: ignore[no-untyped-call]
