"""Files of judged rows: an Arrow file each, worst row first, read by the slice."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.audits.errors import IssuesMissing
from app.storage.content_store import ContentStore

_SCHEMA = pa.schema(
    [
        pa.field("row", pa.int64(), nullable=False),
        pa.field("given", pa.int32(), nullable=False),
        pa.field("suggested", pa.int32(), nullable=False),
        pa.field("quality", pa.float64(), nullable=False),
        pa.field("is_issue", pa.bool_(), nullable=False),
    ]
)
_ROWS_PER_BATCH = 2**16


class IssueStore(ContentStore):
    suffix = ".arrow"
    missing = IssuesMissing
    way_out = "restore it or run the audit again"


@dataclass(frozen=True)
class JudgedRows:
    """Some rows of a data set. Arrays (row,); labels are indices into the data set's classes."""

    row: NDArray[np.int64]  # number in the data set, from 0
    given: NDArray[np.int32]
    suggested: NDArray[np.int32]
    quality: NDArray[np.float64]  # in [0, 1]
    is_issue: NDArray[np.bool_]

    def worst_first(self) -> "JudgedRows":
        """The same rows by quality, ties in their order."""
        order = np.argsort(self.quality, kind="stable")
        return JudgedRows(*(values[order] for values in vars(self).values()))

    def first(self, n_rows: int) -> "JudgedRows":
        return JudgedRows(*(values[:n_rows] for values in vars(self).values()))

    def __len__(self) -> int:
        return len(self.row)


def write_rows(path: Path, rows: JudgedRows) -> None:
    """Write a new file and force it to disk."""
    table = pa.table([vars(rows)[name] for name in _SCHEMA.names], schema=_SCHEMA)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, _SCHEMA) as writer:
        writer.write_table(table, max_chunksize=_ROWS_PER_BATCH)
    with path.open("rb") as written:
        os.fsync(written.fileno())


def read_rows(path: Path, flagged: bool | None, offset: int, limit: int) -> JudgedRows:
    """At most `limit` rows from place `offset` on among those that are issues, that are none, or all (None)."""
    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
        if flagged is None:
            return _of(table.slice(offset, limit))
        wanted = np.flatnonzero(table["is_issue"].to_numpy() == flagged)
        return _of(table.take(wanted[offset : offset + limit]))


def read_batches(path: Path, flagged: bool | None) -> Iterator[JudgedRows]:
    """All rows, or those that are issues or none, in batches; a batch may be empty."""
    with pa.memory_map(str(path)) as file:
        reader = pa.ipc.open_file(file)
        for number in range(reader.num_record_batches):
            batch = pa.Table.from_batches([reader.get_batch(number)])
            is_wanted = batch["is_issue"].to_numpy() == flagged
            yield _of(batch if flagged is None else batch.filter(pa.array(is_wanted)))


def _of(table: pa.Table) -> JudgedRows:
    return JudgedRows(*(table[name].to_numpy() for name in _SCHEMA.names))
