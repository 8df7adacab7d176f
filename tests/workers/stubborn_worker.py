"""Worker whose training jobs hold Python's lock instead of training: `python -m tests.workers.stubborn_worker`.

A job with `"holds_lock": true` in its request never returns from one call, during which no other thread of its process
runs. One with `"waits_for"` succeeds once that file exists, whatever it is asked to do meanwhile.
Any other job succeeds at once.
"""

import ctypes
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.operations.lasting_imports import lasting_imports

with lasting_imports():
    from sqlalchemy.orm import Session

    from app.context import ServiceContext
    from app.jobs.lease import Claim
    from app.jobs.states import JobKind
    from app.logs import configure_logging
    from app.settings import load_settings
    from app.storage.content_store import StagedFile
    from workers.celery_app import build_worker, run_worker
    from workers.monitor import JobMonitor


@dataclass(frozen=True)
class Nothing:
    """Result without columns and files."""

    files: tuple[StagedFile, ...] = ()

    def store(self, session: Session, context: ServiceContext) -> dict[str, Any]:
        return {}


def hold_lock(context: ServiceContext, claim: Claim, monitor: JobMonitor) -> Nothing:
    monitor.plan({"holding": 1})
    monitor.begin("holding", 1, "locks")
    if claim.request.get("holds_lock"):
        _never_return()
    while (path := claim.request.get("waits_for")) and not Path(path).exists():
        time.sleep(0.02)
    return Nothing()


def _never_return() -> None:
    """Wait for a mutex that this thread holds, without giving up Python's lock: a computation that takes no processor.

    Signals whose handlers are written in Python do not interrupt it.
    """
    library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(256)
    library.pthread_mutex_init(mutex, None)
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)


if __name__ == "__main__":
    configure_logging()
    run_worker(build_worker(load_settings(), {JobKind.TRAIN: hold_lock}))
