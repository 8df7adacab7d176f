"""Where the bytes of data sets live: staging for what is unfinished, one file per fingerprint for what is stored."""

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from app.datasets.canonical import TrainingTable, read_head, read_table
from app.datasets.errors import DatasetFileDamaged, DatasetFileMissing

__all__ = ["DatasetStore", "TrainingTable"]

SUFFIX = ".parquet"

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


class DatasetStore:
    """Both folders have to be on one file system, so that a rename is all or nothing."""

    def __init__(self, folder: Path, staging: Path) -> None:
        self._folder = folder
        self._staging = staging

    @contextmanager
    def staged(self) -> Iterator[Path]:
        """A path in staging that nobody else has; whatever is there at the end of the block is removed."""
        path = self._staging / f"dataset-{uuid.uuid4().hex}"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def publish(self, staged: Path, fingerprint: str) -> None:
        """Move a finished file into place, replacing one that a crash left without its row."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.replace(staged, self._path(fingerprint))
        self._sync_folder()

    def has(self, fingerprint: str) -> bool:
        return self._path(fingerprint).exists()

    def fingerprints(self) -> Iterator[tuple[str, float]]:
        """What the store holds, and when each file was written, in seconds since 1970."""
        for path in self._folder.glob(f"*{SUFFIX}"):
            # Another process may delete while this one lists; and what has another name is nobody's but its owner's.
            with suppress(FileNotFoundError):
                if _FINGERPRINT.fullmatch(path.stem):
                    yield path.stem, path.stat().st_mtime

    def load(self, fingerprint: str) -> TrainingTable:
        """The whole data set as arrays.

        Raises:
            DatasetFileMissing, DatasetFileDamaged.
        """
        with _faults_of_store():
            return read_table(self._path(fingerprint))

    def head(self, fingerprint: str, limit: int) -> list[list[Any]]:
        """The first `limit` rows, as columns of numbers and indices, the target's last; null = missing.

        Raises:
            DatasetFileMissing, DatasetFileDamaged.
        """
        with _faults_of_store():
            return read_head(self._path(fingerprint), limit)

    def delete(self, fingerprint: str) -> None:
        self._path(fingerprint).unlink(missing_ok=True)

    def _path(self, fingerprint: str) -> Path:
        return self._folder / f"{fingerprint}{SUFFIX}"

    def _sync_folder(self) -> None:
        # A rename survives a power cut only once the folder itself is on disk.
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _faults_of_store() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise DatasetFileMissing("the stored file of the data set is missing; upload the data again") from error
    except (pa.ArrowException, OSError, KeyError, StopIteration) as error:
        raise DatasetFileDamaged("the stored file of the data set is damaged; restore it from a backup") from error
