"""Folders of files that are named after the SHA-256 of their own bytes."""

import hashlib
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from app.errors import ServiceError
from app.storage.file_store import FileStore


@dataclass(frozen=True)
class StagedFile:
    """Complete file in the staging folder, on disk, whose row has yet to be inserted."""

    store: FileStore
    path: Path
    sha256: str
    size_bytes: int
    #: Remove the file from the staging folder.
    discard: Callable[[], None]

    def publish(self) -> None:
        """Move the file into the store.

        Called at the end of the transaction that inserts its row and holds the lock of its SHA-256. So no deletion of
        another row with the same bytes can come between.
        """
        self.store.publish(self.path, self.sha256)


class ContentStore(FileStore):
    """Files named after the SHA-256 of their bytes. A subclass defines what the files are."""

    #: Raised by `path` for a file that the store does not have, and how to get the file back.
    missing: ClassVar[type[ServiceError]]
    way_out: ClassVar[str]

    def stage(self, write: Callable[[Path], object]) -> StagedFile:
        """Return a file that `write` writes to the path it is given. If `write` raises, nothing is left behind."""
        with ExitStack() as stack:
            path = stack.enter_context(self.staged())
            write(path)
            sha256, size_bytes = _flushed(path)
            return StagedFile(self, path, sha256, size_bytes, stack.pop_all().close)

    def path(self, sha256: str) -> Path:
        """Return the path of the file. Raises `missing` if the store does not have it."""
        if not self.holds(sha256):
            raise self.missing(f"The file {sha256} is missing from the store; {self.way_out}.")
        return self._file(sha256)


def _flushed(path: Path) -> tuple[str, int]:
    """Force the file to disk, and return the SHA-256 and number of its bytes."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256")
        return digest.hexdigest(), file.tell()
