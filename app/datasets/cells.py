"""Tables of text that are converted before they are read: rows of cells, with the line in which each row stands."""

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.datasets.batch_slices import rows_per_batch
from app.settings import MEBIBYTE

#: No column of an upload can have this name.
_LINE = "\0line"

#: A batch ends after so many characters, even if it has few rows.
_MAX_CHARACTERS = 8 * MEBIBYTE

#: Line of a row in the file, from 1, and its cells.
Row = tuple[int, Sequence[str | None]]


class Fraction(str):
    """Number that the file holds as a number, not as text, written with a decimal point."""

    __slots__ = ()


def write_cells(path: Path, columns: pa.Schema, rows: Iterable[Row]) -> "CellsReader":
    """Write rows to the new file `path`, and return a reader of it.

    columns: text, or other types of which all cells are None.
    """
    names, schema = columns.names, columns.append(pa.field(_LINE, pa.int64()))
    n_rows, fractions = 0, set[str]()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, schema, options=options) as writer:
        for batch in _batches(rows, rows_per_batch(len(names))):
            values: list[Sequence[Any]] = [*zip(*(cells for _, cells in batch), strict=True)]
            fractions.update(name for name, cells in zip(names, values, strict=True) if _has_fraction(cells))
            values.append([line for line, _ in batch])
            arrays = [pa.array(cells, field.type) for cells, field in zip(values, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            n_rows += len(batch)
    return CellsReader(path, n_rows, fractions)


def _has_fraction(cells: Sequence[Any]) -> bool:
    return any(type(cell) is Fraction for cell in cells)


def _batches(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    pending: list[Row] = []
    n_characters = 0
    for row in rows:
        pending.append(row)
        n_characters += sum(map(len, filter(None, row[1])))
        if len(pending) == size or n_characters > _MAX_CHARACTERS:
            yield pending
            pending, n_characters = [], 0
    if pending:
        yield pending


class CellsReader:
    """Reader of what `write_cells` wrote."""

    is_text = True
    delimiter = None

    def __init__(self, path: Path, n_rows: int, fractions: Set[str]) -> None:
        self._path, self.n_rows, self.fractions = path, n_rows, fractions
        with pa.memory_map(str(path)) as source:
            self.schema = pa.schema([field for field in pa.ipc.open_file(source).schema if field.name != _LINE])

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(str(self._path)) as source:
            positions = [*(self.schema.get_field_index(name) for name in names)]
            reader = pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=positions))
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index).select(list(names))

    def empty_columns(self) -> list[str]:
        """Return the columns in which no row has a cell."""
        names: list[str] = self.schema.names
        for batch in self.batches(names):
            names = [name for name in names if batch.column(name).null_count == batch.num_rows]
        return names

    def without_nulls(self) -> Self:
        return self

    def with_texts_cut(self, max_characters: int) -> Self:
        return self

    def place(self, row: int) -> str:
        return f"row {row} (line {self._lines[row]})"

    @cached_property
    def _lines(self) -> NDArray[np.int64]:
        with pa.memory_map(str(self._path)) as source:
            options = pa.ipc.IpcReadOptions(included_fields=[len(self.schema)])
            lines: NDArray[np.int64] = pa.ipc.open_file(source, options=options).read_all().column(_LINE).to_numpy()
            return lines.copy()
