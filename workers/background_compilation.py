"""Compilation of kernels before the first job needs them, in a process of its own at the lowest priority.

A worker compiles the kernels of the default job when it starts. This process compiles those of other jobs, so that even
a first job of its kind rarely waits: first the kernels that many jobs share, also while a job compiles, and then those
of the other usual fits (`core.warmup.usual_fits`), which wait while a job compiles. It runs once for each version of
the kernels on a machine; what it has not finished goes on at the next start of a worker.
"""

import fcntl
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from app.logs import configure_logging
from app.operations.child_process import ChildCommand, spawn
from core import service_api
from workers.compilation_turns import after_jobs, are_programs_wanted

log = logging.getLogger(__name__)

_LOWEST_PRIORITY = 19
_STOP_SECONDS = 10.0
_LOCK = "compiled-ahead.lock"
#: With the version whose compiled code is in the folder, because other versions compile anew.
_DONE = f"compiled-ahead-{version('numba')}"


@contextmanager
def background_compilation() -> Iterator[None]:
    """Run the process until the block ends, if there is something to compile."""
    folder = service_api.kernel_cache_folder()
    if folder is None or (folder / _DONE).exists():
        yield
        return
    command = ChildCommand("compilation", [sys.executable, "-m", "workers.background_compilation"], _STOP_SECONDS)
    process = spawn(command, os.environ)
    try:
        yield
    finally:
        _stop(process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def compile_ahead(folder: Path) -> None:
    """Compile everything, and mark the folder of compiled kernels; nothing while another process does so."""
    with (folder / _LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        service_api.warm_up_shared_kernels(lambda: are_programs_wanted(folder))
        after_jobs(folder)
        service_api.warm_up_later_fits()
        (folder / _DONE).touch()
    log.info("compiled the kernels of other jobs in %.0f s", service_api.compile_seconds())


def main() -> None:
    os.nice(_LOWEST_PRIORITY)
    configure_logging()
    logging.getLogger("core.compilation").setLevel(logging.ERROR)  # nobody waits for this process
    folder = service_api.kernel_cache_folder()
    if folder is not None:
        compile_ahead(folder)


if __name__ == "__main__":
    main()
