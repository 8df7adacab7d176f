"""Folders of files that never change, each named after a SHA-256."""

import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

_SHA256 = re.compile(r"[0-9a-f]{64}")


class FileStore:
    """Folder of finished files and a staging folder for unfinished ones.

    Both must be on the same file system, so that a file is moved into place in one atomic step. A subclass defines
    which SHA-256 is the key of a file.
    """

    suffix: ClassVar[str]

    def __init__(self, folder: Path, staging: Path) -> None:
        self._folder = folder
        self._staging = staging

    @contextmanager
    def staged(self) -> Iterator[Path]:
        """Yield a new path in the staging folder. A file that is still there at the end of the block is removed."""
        path = self._staging / f"{self._folder.name}-{uuid.uuid4().hex}{self.suffix}"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def publish(self, staged: Path, key: str) -> None:
        """Move a finished file into place and force the move to disk. A file that has the key already is replaced."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.replace(staged, self._file(key))
        self._sync_folder()

    def holds(self, key: str) -> bool:
        """Return whether the store has the file."""
        return self._file(key).is_file()

    def files(self) -> Iterator[tuple[str, float]]:
        """Yield the key of each file and when it was written, in seconds since 1970."""
        for path in self._folder.glob(f"*{self.suffix}"):
            # Another process may delete files meanwhile. Files with other names do not belong to the store.
            with suppress(FileNotFoundError):
                if _SHA256.fullmatch(path.stem):
                    yield path.stem, path.stat().st_mtime

    def delete(self, key: str, older_than_seconds: float = 0.0) -> bool:
        """Delete the file unless it was written less than `older_than_seconds` ago. Return whether it is gone.

        A missing file is not an error. The caller must know that nothing refers to the file.
        """
        file = self._file(key)
        with suppress(FileNotFoundError):
            # Without a minimum age the clock is not read, so that a clock that was set back cannot keep the file.
            if older_than_seconds > 0 and time.time() - file.stat().st_mtime < older_than_seconds:
                return False
            file.unlink()
            self._sync_folder()
        return True

    def _file(self, key: str) -> Path:
        if not _SHA256.fullmatch(key):
            raise ValueError(f"not a SHA-256 in lower-case hexadecimal digits: {key!r}")
        return self._folder / f"{key}{self.suffix}"

    def _sync_folder(self) -> None:
        # A rename or a deletion survives a power cut only once the folder itself is on disk.
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
