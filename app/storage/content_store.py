"""A folder of files that never change, each named after the SHA-256 of its own bytes."""

import hashlib
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.errors import ServiceError
from app.storage.database import SessionFactory, lock, reading, writing
from app.storage.staging import ORPHAN_AFTER_SECONDS

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class StoredFile:
    sha256: str
    size_bytes: int


class ContentStore:
    """A folder of finished files. `staging` must be on the same file system, so that a rename is atomic.

    A subclass says what the files are.
    """

    suffix: ClassVar[str]
    #: What `path` raises for a file that is not there, and what to do then.
    missing: ClassVar[type[ServiceError]]
    way_out: ClassVar[str]

    def __init__(self, folder: Path, staging: Path) -> None:
        self._folder = folder
        self._staging = staging

    def put(self, write: Callable[[Path], None]) -> StoredFile:
        """Keep what `write` puts at the path it is given. The same bytes twice are one file.

        A file is in the store whole, and on the disk, or not at all; when `write` raises, nothing is left behind.
        """
        unfinished = self._staging / f"{self._folder.name}-{uuid.uuid4()}{self.suffix}"
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
        for path in self._folder.glob(f"*{self.suffix}"):
            # Another process may delete while this one lists; and what has another name is nobody's but its owner's.
            with suppress(FileNotFoundError):
                if _SHA256.fullmatch(path.stem):
                    yield path.stem, path.stat().st_mtime

    def path(self, sha256: str) -> Path:
        """Where the file lies. Raises `missing` when the store does not hold it."""
        if not self.holds(sha256):
            raise self.missing(f"The file {sha256} is missing from the store; {self.way_out}.")
        return self._file(sha256)

    def delete(self, sha256: str, older_than_seconds: float = 0.0) -> bool:
        """Forget the file, unless it was put here since; whether it is gone. Absent is fine.

        Whether somebody still needs it is for the caller to know.
        """
        file = self._file(sha256)
        with suppress(FileNotFoundError):
            # Asked for no age, not even a clock that was set back keeps the file.
            if older_than_seconds > 0 and time.time() - file.stat().st_mtime < older_than_seconds:
                return False
            file.unlink()
        _sync(self._folder)
        return True

    def _file(self, sha256: str) -> Path:
        if not _SHA256.fullmatch(sha256):
            raise ValueError(f"not a SHA-256 in lower-case hexadecimal digits: {sha256!r}")
        return self._folder / f"{sha256}{self.suffix}"


def drop_unless_named(
    session: Session,
    store: ContentStore,
    column: InstrumentedAttribute[str],
    sha256: str,
    older_than_seconds: float = 0.0,
) -> bool:
    """Remove a file that no row names in `column`, if that old; whether it went. Call it after a row's deletion is
    committed.
    """
    lock(session, sha256)
    if session.scalar(select(column).where(column == sha256).limit(1)) is not None:
        return False
    return store.delete(sha256, older_than_seconds)


def remove_unnamed(
    sessions: SessionFactory,
    store: ContentStore,
    column: InstrumentedAttribute[str],
    older_than_seconds: float = ORPHAN_AFTER_SECONDS,
) -> int:
    """Delete the files that a crash left without a row that names them in `column`, if that old; how many went."""
    old = [sha256 for sha256, written in store.digests() if time.time() - written > older_than_seconds]
    if not old:
        return 0
    with reading(sessions) as session:
        named = set(session.scalars(select(column).distinct()))
    n_removed = 0
    for sha256 in old:
        if sha256 not in named:
            with writing(sessions) as session:
                # Its age once more: a job may have put the same bytes here, and will name them in a moment.
                n_removed += drop_unless_named(session, store, column, sha256, older_than_seconds)
    return n_removed


def _digest(path: Path) -> StoredFile:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256")
        return StoredFile(digest.hexdigest(), file.tell())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
