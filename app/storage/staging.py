"""Unfinished files that killed processes left behind."""

import time
from pathlib import Path

#: Longer than any upload and any write of an artifact takes.
ORPHAN_AFTER_SECONDS = 24 * 3600.0


def remove_orphans(staging: Path, older_than_seconds: float = ORPHAN_AFTER_SECONDS) -> int:
    """Delete the files that have not been written to for that long. Return how many were deleted."""
    n_removed = 0
    for path in staging.iterdir():
        try:
            if path.is_file() and time.time() - path.stat().st_mtime > older_than_seconds:
                path.unlink()
                n_removed += 1
        except FileNotFoundError:
            # Its writer has finished, or another process has deleted it.
            continue
    return n_removed
