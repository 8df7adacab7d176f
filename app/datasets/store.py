"""Files of data sets: one Parquet file for each fingerprint."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from app.datasets.errors import DatasetFileDamaged, DatasetFileMissing
from app.datasets.stored_table import TrainingTable, read_column, read_rows, read_samples, read_table
from app.storage.file_store import FileStore
from app.storage.write_transactions import refuse_in_transaction


class DatasetStore(FileStore):
    """Store of data sets, by their fingerprints. Its methods raise DatasetFileMissing and DatasetFileDamaged."""

    suffix = ".parquet"

    def load(self, fingerprint: str, features: Sequence[int] | None = None) -> TrainingTable:
        """Return the whole data set as arrays. features: positions of the columns of X; None for all used ones."""
        with explained_errors():
            return read_table(self._file(fingerprint), features)

    def path(self, fingerprint: str) -> Path:
        """Return the path of the file, for a process that only reads it."""
        with explained_errors():
            if not self.holds(fingerprint):
                raise FileNotFoundError
        return self._file(fingerprint)

    def column(self, fingerprint: str, name: str) -> pa.ChunkedArray:
        """Return one stored column."""
        with explained_errors():
            return read_column(self._file(fingerprint), name)

    def samples(
        self, fingerprint: str, columns: Sequence[str], max_rows: int, max_characters: int
    ) -> Iterator[pa.ChunkedArray]:
        """Yield stored columns of at most `max_rows` rows, evenly spread over the table; texts are cut."""
        with explained_errors():
            yield from read_samples(self._file(fingerprint), columns, max_rows, max_characters)

    def rows(self, fingerprint: str, rows: Sequence[int], max_characters: int) -> pa.Table:
        """Return the stored rows with these 0-based numbers, in ascending order; texts are cut."""
        with explained_errors():
            return read_rows(self._file(fingerprint), rows, max_characters)


@contextmanager
def explained_errors() -> Iterator[None]:
    """Raise the errors of the block, which reads a stored file, as DatasetFileMissing or DatasetFileDamaged."""
    refuse_in_transaction("reading the file of a data set")
    try:
        yield
    except FileNotFoundError as error:
        detail = "The stored file of the data set is missing; restore it from a backup, or upload the data again."
        raise DatasetFileMissing(detail) from error
    except MemoryError:  # which the one of Arrow is, too
        raise
    except (pa.ArrowException, OSError, KeyError) as error:
        detail = "The stored file of the data set is damaged; restore it, or delete the data set and upload it again."
        raise DatasetFileDamaged(detail) from error
