"""Number that processes on one machine share, and that changes when something was changed."""

import fcntl
import mmap
import os
from pathlib import Path
from secrets import randbits

_BYTES = 8


class Generation:
    """Number in a file that is mapped into memory, so that reading it takes no system call.

    It is replaced by a random number, not counted up: two processes that change it at the same moment need no lock,
    and a number that was replaced never comes back.
    """

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _write_once(descriptor)
            self._number = memoryview(mmap.mmap(descriptor, _BYTES)).cast("Q")
        finally:
            os.close(descriptor)

    def current(self) -> int:
        return self._number[0]

    def change(self) -> None:
        """Replace the number. Call this when others can see the change, after the commit of its transaction."""
        self._number[0] = randbits(8 * _BYTES)


def _write_once(descriptor: int) -> None:
    """Write the first number, unless another process has done so, whose later change this one would take back.

    It is written, not only sized: a write to a mapped page for which the disk has no room ends the process.
    """
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        if os.fstat(descriptor).st_size != _BYTES:
            os.pwrite(descriptor, bytes(_BYTES), 0)
    finally:
        # The map has a copy of the descriptor, which would keep the lock beyond the end of this one.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
