"""Staged files: unfinished files of this process, and the removal of those that killed processes left behind.

Each staged file has a lock file beside it, with the same stem, that its process keeps locked. The kernel releases the
lock when the process dies, however it dies. So a staged file whose lock is free has no writer any more.
"""

import fcntl
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: For files without a lock, as on file systems that have none. Longer than any upload and any write of an artifact.
ORPHAN_AFTER_SECONDS = 24 * 3600.0
#: Of files that nothing refers to any more, and that are about to be deleted.
DISCARDED_SUFFIX = ".discarded"
_LOCK_SUFFIX = ".lock"


@contextmanager
def staged_path(staging: Path, prefix: str, suffix: str) -> Iterator[Path]:
    """Yield a new path in the staging folder. The file, if there is one, is removed at the end of the block."""
    descriptor, path = _locked_path(staging, prefix, suffix)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        path.with_suffix(_LOCK_SUFFIX).unlink(missing_ok=True)
        os.close(descriptor)


def remove_orphans(staging: Path, older_than_seconds: float = ORPHAN_AFTER_SECONDS) -> int:
    """Delete staged files whose process no longer exists, and files without a lock that are that old.

    Return how many were deleted.
    """
    n_removed = sum(_remove_if_free(lock) for lock in sorted(staging.glob(f"*{_LOCK_SUFFIX}")))
    for path in staging.iterdir():
        # The writer of a file may finish, or another process may delete it, at any moment.
        with suppress(FileNotFoundError):
            if path.with_suffix(_LOCK_SUFFIX).exists() or not path.is_file():
                continue
            if path.suffix == DISCARDED_SUFFIX or time.time() - path.stat().st_mtime > older_than_seconds:
                path.unlink()
                n_removed += 1
    return n_removed


def _locked_path(staging: Path, prefix: str, suffix: str) -> tuple[int, Path]:
    """Return the descriptor of a new lock and the path that it stands for."""
    while True:
        path = staging / f"{prefix}-{uuid.uuid4().hex}{suffix}"
        lock = path.with_suffix(_LOCK_SUFFIX)
        descriptor = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # Maintenance took the new lock for an old one, and removes it.
            os.close(descriptor)
            continue
        except OSError:
            # The file system has no locks: without a lock file, the age of the file decides.
            lock.unlink(missing_ok=True)
            return descriptor, path
        if lock.exists():
            return descriptor, path
        os.close(descriptor)


def _remove_if_free(lock: Path) -> int:
    """Delete the files of this lock if no process holds it. Return how many were deleted, beside the lock itself."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    n_removed = 0
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Files that replace another one at their end are written under its name with a dot in front.
        for path in [*lock.parent.glob(f"{lock.stem}.*"), *lock.parent.glob(f".{lock.stem}.*")]:
            if path != lock:
                path.unlink(missing_ok=True)
                n_removed += 1
        lock.unlink(missing_ok=True)
    except OSError:
        # Its process is alive.
        return n_removed
    finally:
        os.close(descriptor)
    return n_removed
