"""Files of audited rows: one Arrow file per audit, worst row first, read in slices."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from app.audits.errors import IssuesMissing
from app.audits.records import AuditedRows
from app.storage.content_store import ContentStore
from app.storage.write_transactions import refuse_in_transaction

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


def write_rows(path: Path, rows: AuditedRows) -> None:
    """Write a new file and flush it to disk."""
    table = pa.table([vars(rows)[name] for name in _SCHEMA.names], schema=_SCHEMA)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, _SCHEMA) as writer:
        writer.write_table(table, max_chunksize=_ROWS_PER_BATCH)
    with path.open("rb") as written:
        os.fsync(written.fileno())


def read_rows(path: Path, flagged: bool | None, offset: int, limit: int) -> AuditedRows:
    """Return at most `limit` rows from `offset` on, of the issues (True), the other rows (False) or all rows (None)."""
    refuse_in_transaction("reading the rows of an audit")
    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
        if flagged is None:
            return _rows(table.slice(offset, limit))
        selected = np.flatnonzero(table["is_issue"].to_numpy() == flagged)
        return _rows(table.take(selected[offset : offset + limit]))


def read_batches(path: Path, flagged: bool | None) -> Iterator[AuditedRows]:
    """Yield the issues (True), the other rows (False) or all rows (None) in batches, some of which may be empty."""
    with pa.memory_map(str(path)) as file:
        reader = pa.ipc.open_file(file)
        for number in range(reader.num_record_batches):
            batch = pa.Table.from_batches([reader.get_batch(number)])
            is_selected = batch["is_issue"].to_numpy() == flagged
            yield _rows(batch if flagged is None else batch.filter(pa.array(is_selected)))


def _rows(table: pa.Table) -> AuditedRows:
    return AuditedRows(*(table[name].to_numpy() for name in _SCHEMA.names))
