"""Turns of the processes that compile kernels: a job goes first, because somebody waits for it.

Two processes that compile at the same time slow each other down, even on processors of their own. The process that
compiles ahead waits between kernels while a job compiles. A lock of the operating system ends with its process.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core import service_api

_LOCK = "compiling-job.lock"
_PROGRAMS = "linear-programs-wanted"


@contextmanager
def before_others(solves_programs: bool = False) -> Iterator[None]:
    """Let processes that compile ahead wait until the block ends; several jobs compile at the same time.

    solves_programs: whether the job needs linear programs, which the process that compiles ahead then compiles soon.
    """
    folder = service_api.kernel_cache_folder()
    if folder is None:
        yield
        return
    if solves_programs:
        (folder / _PROGRAMS).touch()
    with (folder / _LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def are_programs_wanted(folder: Path) -> bool:
    """Return whether a job has needed linear programs."""
    return (folder / _PROGRAMS).exists()


def after_jobs(folder: Path) -> None:
    """Wait from now on, before this process compiles or loads a kernel, until no job compiles."""
    lock: Any = (folder / _LOCK).open("a")  # open as long as this process compiles

    def wait() -> None:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fcntl.flock(lock, fcntl.LOCK_UN)

    service_api.call_before_compilation(wait)
