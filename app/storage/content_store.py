"""Folders of files that are named after the SHA-256 of their own bytes."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from app.errors import ServiceError
from app.storage.file_store import FileStore


@dataclass(frozen=True)
class StoredFile:
    """File in a content store."""

    sha256: str
    size_bytes: int


class ContentStore(FileStore):
    """Files named after the SHA-256 of their bytes. A subclass defines what the files are."""

    #: Raised by `path` for a file that the store does not have, and how to get the file back.
    missing: ClassVar[type[ServiceError]]
    way_out: ClassVar[str]

    def put(self, write: Callable[[Path], None]) -> StoredFile:
        """Store the file that `write` writes to the path it is given. Storing the same bytes again is harmless.

        The file is stored completely, and is on disk, or not at all. If `write` raises, nothing is left behind.
        """
        with self.staged() as staged:
            write(staged)
            stored = _digest(staged)
            self.publish(staged, stored.sha256)
        return stored

    def path(self, sha256: str) -> Path:
        """Return the path of the file. Raises `missing` if the store does not have it."""
        if not self.holds(sha256):
            raise self.missing(f"The file {sha256} is missing from the store; {self.way_out}.")
        return self._file(sha256)


def _digest(path: Path) -> StoredFile:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256")
        return StoredFile(digest.hexdigest(), file.tell())
