"""Locks of the kernels that are compiled: one process compiles a kernel, and the others read its code from the disk.

The locks only save work. A process that has waited for long enough, or cannot lock a file at all, compiles the kernel
itself.
"""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Longest time that a process waits for another one. Most kernels are compiled in less; a process of lower priority
#: may need much longer while the processors are busy.
PATIENCE_SECONDS = 15.0
_POLL_SECONDS = 0.02


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of the operating system on a file, which is created; other processes and threads wait.

    A lock ends with its process. Where there are no such locks, nobody waits. Raises OSError.
    """
    with path.open("a") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            _unlock(file)


def _unlock(file: IO[str]) -> None:
    """Release the lock even if a process that was forked meanwhile has the file open as well."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)


class KernelLocks:
    """One lock for each kernel and each combination of types, in a folder beside the compiled code.

    Kernels that a kernel calls are compiled while its lock is held. As they never call each other in circles, no two
    processes wait for each other. Only one thread of a process may use the locks at a time.
    """

    def __init__(self, folder: Path, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._folder, self._patience_seconds = folder, patience_seconds
        self._depth = 0
        self._before: Callable[[], None] = _nothing

    def call_before(self, function: Callable[[], None]) -> None:
        """Call `function` from now on before each kernel, while this process holds no lock."""
        self._before = function

    @contextmanager
    def lock(self, kernel: str, waiting: Callable[[], AbstractContextManager[None]] = nullcontext) -> Iterator[None]:
        """Let other processes wait that need `kernel`, the name of a kernel with its types.

        If another process compiles it, wait within `waiting()` until it has done so, but not longer than the patience.
        """
        if not self._depth:
            self._before()
        with ExitStack() as held:
            with suppress(OSError):  # no locks on this file system, no right to write, or a full disk
                self._folder.mkdir(parents=True, exist_ok=True)
                file = held.enter_context((self._folder / hashlib.sha256(kernel.encode()).hexdigest()).open("a"))
                held.callback(_unlock, file)
                if not _try_to_lock(file):
                    with waiting():
                        _wait_for_lock(file, self._patience_seconds)
            self._depth += 1
            held.callback(self._leave)
            yield

    def _leave(self) -> None:
        self._depth -= 1


def _try_to_lock(file: IO[str]) -> bool:
    """Return whether this process has the lock now. Raises OSError if there are no locks."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_for_lock(file: IO[str], seconds: float) -> None:
    """Wait at most `seconds` for the lock."""
    deadline = time.monotonic() + seconds
    while not _try_to_lock(file) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)


def _nothing() -> None:
    """Do nothing."""
