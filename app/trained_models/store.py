"""Artefact files of trained models, each named after the SHA-256 of its own bytes."""

import hashlib
import os
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.trained_models.errors import ArtifactMissing

SUFFIX = ".bristlecone"

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class StoredArtifact:
    sha256: str
    size_bytes: int


class ArtifactStore:
    """A folder of finished files. `staging` must be on the same file system, so that a rename is atomic."""

    def __init__(self, folder: Path, staging: Path) -> None:
        self._folder = folder
        self._staging = staging

    def put(self, write: Callable[[Path], None]) -> StoredArtifact:
        """Keep what `write` puts at the path it is given. The same bytes twice are one file.

        A file is in the store whole, and on the disk, or not at all; when `write` raises, nothing is left behind.
        """
        unfinished = self._staging / f"artifact-{uuid.uuid4()}{SUFFIX}"
        try:
            write(unfinished)
            stored = _digest(unfinished)
            unfinished.replace(self._file(stored.sha256))
        finally:
            unfinished.unlink(missing_ok=True)
        _sync(self._folder)
        return stored

    def holds(self, sha256: str) -> bool:
        return self._file(sha256).is_file()

    def digests(self) -> Iterator[tuple[str, float]]:
        """What the store holds, and when each file was written, in seconds since 1970."""
        for path in self._folder.glob(f"*{SUFFIX}"):
            # Another process may delete while this one lists; and what has another name is nobody's but its owner's.
            with suppress(FileNotFoundError):
                if _SHA256.fullmatch(path.stem):
                    yield path.stem, path.stat().st_mtime

    def path(self, sha256: str) -> Path:
        """Where the artefact lies.

        Raises:
            ArtifactMissing: the store does not hold it.
        """
        if not self.holds(sha256):
            raise ArtifactMissing(f"The model file {sha256} is missing from the store; restore it or train again.")
        return self._file(sha256)

    def delete(self, sha256: str) -> None:
        """Forget the artefact. Whether a model still needs it is for the caller to know. Absent is fine."""
        self._file(sha256).unlink(missing_ok=True)
        _sync(self._folder)

    def _file(self, sha256: str) -> Path:
        if not _SHA256.fullmatch(sha256):
            raise ValueError(f"not a SHA-256 in lower-case hexadecimal digits: {sha256!r}")
        return self._folder / f"{sha256}{SUFFIX}"


def _digest(path: Path) -> StoredArtifact:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256")
        return StoredArtifact(digest.hexdigest(), file.tell())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
