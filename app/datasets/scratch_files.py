"""Files that the reader of an upload writes beside it, and that a killed process leaves behind."""

from pathlib import Path


def scratch_files(scratch: Path) -> tuple[Path, Path]:
    """Return the paths of the text as UTF-8 and of the converted cells. scratch: beginning of their names."""
    return scratch.with_suffix(".utf8"), scratch.with_suffix(".cells")


def remove_scratch(scratch: Path) -> None:
    """Remove those of `scratch_files` that exist."""
    for path in scratch_files(scratch):
        path.unlink(missing_ok=True)
