"""Files of data sets: one Parquet file for each fingerprint."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from app.datasets.canonical import TrainingTable, read_head, read_table
from app.datasets.errors import DatasetFileDamaged, DatasetFileMissing
from app.storage.file_store import FileStore


class DatasetStore(FileStore):
    """Store of data sets, by their fingerprints."""

    suffix = ".parquet"

    def load(self, fingerprint: str) -> TrainingTable:
        """Return the whole data set as arrays. Raises DatasetFileMissing, DatasetFileDamaged."""
        with _explained_errors():
            return read_table(self._file(fingerprint))

    def head(self, fingerprint: str, limit: int) -> list[list[Any]]:
        """Return the first `limit` rows, as columns of numbers and indices, the target's last; None = missing.

        Raises:
            DatasetFileMissing, DatasetFileDamaged.
        """
        with _explained_errors():
            return read_head(self._file(fingerprint), limit)


@contextmanager
def _explained_errors() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise DatasetFileMissing("The stored file of the data set is missing; upload the data again.") from error
    except (pa.ArrowException, OSError, KeyError, StopIteration) as error:
        raise DatasetFileDamaged("The stored file of the data set is damaged; restore it from a backup.") from error
