"""Readers of files as Arrow record batches, for any number of passes, with one batch in memory.

Cells of text files are read as text; `app.datasets.detection` finds their types.
"""

from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from app.datasets.errors import DuplicateColumn, InvalidColumnName, TooManyColumns
from app.datasets.read_errors import explained_errors
from app.settings import Limits

MAX_NAME_CHARACTERS = 500
_CELLS_PER_BATCH = 4_000_000


class TableReader(Protocol):
    """Reader of one file. `schema` has all columns of the file.

    is_text: whether all columns are read as text, because the file has no types. delimiter: that of a text file.
    fractions: columns read as text that contain numbers of the file itself, which are written with a decimal point.
    """

    schema: pa.Schema
    is_text: bool

    @property
    def fractions(self) -> Set[str]: ...

    @property
    def delimiter(self) -> str | None: ...

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, with these columns in this order."""
        ...

    def place(self, row: int) -> str:
        """Return the text for a 0-based row: "row 3", and if the file has lines "row 3 (line 5)"."""
        ...


def check_names(names: Sequence[str], limits: Limits) -> None:
    """Raise TooManyColumns, InvalidColumnName or DuplicateColumn if these are not valid names of columns."""
    if len(names) > limits.max_columns:
        limit = f"the limit BRISTLECONE_MAX_COLUMNS is {limits.max_columns}"
        detail = f"the file has {len(names)} columns; {limit}: upload fewer columns, or raise the limit"
        raise TooManyColumns.at("/file", detail)
    for position, name in enumerate(names, 1):
        if not name or len(name) > MAX_NAME_CHARACTERS or "\0" in name:
            detail = (
                f"column {position} needs a name of 1 to {MAX_NAME_CHARACTERS} characters without NUL; "
                "name it in the header (a column of row numbers can then be left out with `exclude`)"
            )
            raise InvalidColumnName.at("/file", detail)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DuplicateColumn.at("/file", f"two columns have the name {name!r}; rename one of them")
        seen.add(name)


def rows_per_batch(n_columns: int) -> int:
    """Return the size of batches of a table with so many columns."""
    return max(1, min(65_536, _CELLS_PER_BATCH // max(1, n_columns)))


class ParquetReader:
    """Reader of a Parquet file."""

    is_text = False
    delimiter = None
    fractions: Set[str] = frozenset()

    def __init__(self, path: Path) -> None:
        self._path = path
        with explained_errors(), pq.ParquetFile(path) as file:
            self.schema: pa.Schema = file.schema_arrow

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        size = rows_per_batch(len(names))
        with explained_errors(), pq.ParquetFile(self._path, page_checksum_verification=True) as file:
            for batch in file.iter_batches(batch_size=size, columns=list(names), use_threads=False):
                yield batch.select(list(names))

    def place(self, row: int) -> str:
        return f"row {row}"


class ArrowReader:
    """Reader of an Arrow IPC file, or of a stream, which has no footer."""

    is_text = False
    delimiter = None
    fractions: Set[str] = frozenset()

    def __init__(self, path: Path, has_footer: bool) -> None:
        self._path, self._has_footer = path, has_footer
        with explained_errors(), pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source) if has_footer else pa.ipc.open_stream(source)
            self.schema: pa.Schema = reader.schema

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        size = rows_per_batch(len(names))
        with explained_errors(), pa.memory_map(str(self._path)) as source:
            for batch in self._stored_batches(source):
                chosen = batch.select(list(names))
                # Arrow trusts the offsets in the file; a manipulated one would make it read outside of its buffers.
                chosen.validate(full=True)
                for start in range(0, chosen.num_rows, size):
                    yield chosen.slice(start, size)

    def place(self, row: int) -> str:
        return f"row {row}"

    def _stored_batches(self, source: pa.MemoryMappedFile) -> Iterator[pa.RecordBatch]:
        if self._has_footer:
            reader = pa.ipc.open_file(source)
            return (reader.get_batch(index) for index in range(reader.num_record_batches))
        return iter(pa.ipc.open_stream(source))
