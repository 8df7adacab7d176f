"""Unfinished files that a killed process left behind."""

import time
from pathlib import Path

#: Longer than any upload or write of an artefact takes.
ORPHAN_AFTER_SECONDS = 24 * 3600.0


def remove_orphans(staging: Path, older_than_seconds: float = ORPHAN_AFTER_SECONDS) -> int:
    """Delete files that nobody has written to for that long; how many went."""
    n_removed = 0
    for path in staging.iterdir():
        try:
            if path.is_file() and time.time() - path.stat().st_mtime > older_than_seconds:
                path.unlink()
                n_removed += 1
        except FileNotFoundError:
            # Its owner finished, or another process sweeps as well.
            continue
    return n_removed
