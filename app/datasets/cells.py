"""Tables of text that are converted before they are read: rows of cells, with the line in which each row stands."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.datasets.reading import rows_per_batch

#: No column of an upload can have this name.
_LINE = "\0line"

#: Cells of a row, and its line in the file, from 1.
Row = tuple[int, Sequence[str | None]]


def write_cells(path: Path, names: Sequence[str], rows: Iterable[Row]) -> int:
    """Write rows to the new file `path`. Return how many."""
    schema = pa.schema([*((name, pa.string()) for name in names), (_LINE, pa.int64())])
    size, n_rows = rows_per_batch(len(names)), 0
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, schema, options=options) as writer:
        pending: list[Row] = []
        for row in rows:
            pending.append(row)
            if len(pending) == size:
                writer.write_batch(_batch(pending, schema))
                n_rows += len(pending)
                pending = []
        if pending:
            writer.write_batch(_batch(pending, schema))
    return n_rows + len(pending)


def _batch(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    columns: list[Sequence[Any]] = [*zip(*(cells for _, cells in rows), strict=True)]
    columns.append([line for line, _ in rows])
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.record_batch(arrays, schema=schema)


class CellsReader:
    """Reader of what `write_cells` wrote."""

    is_text = True
    delimiter = None

    def __init__(self, path: Path) -> None:
        self._path = path
        with pa.memory_map(str(path)) as source:
            self.schema = pa.schema([field for field in pa.ipc.open_file(source).schema if field.name != _LINE])

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(str(self._path)) as source:
            positions = [*(self.schema.get_field_index(name) for name in names)]
            reader = pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=positions))
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index).select(list(names))

    def place(self, row: int) -> str:
        return f"row {row} (line {self._lines[row]})"

    @cached_property
    def _lines(self) -> NDArray[np.int64]:
        with pa.memory_map(str(self._path)) as source:
            options = pa.ipc.IpcReadOptions(included_fields=[len(self.schema)])
            lines: NDArray[np.int64] = pa.ipc.open_file(source, options=options).read_all().column(_LINE).to_numpy()
            return lines.copy()
