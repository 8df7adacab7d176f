"""Stored form of a data set: a Parquet file of plain numbers, whatever the format of the upload.

The columns are `f0`, `f1`, … for the features, and `target`. Numeric features have the narrowest type that represents
them exactly. Categories and labels are indices into the sorted lists in the row of the data set. Missing values are
null.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from app.datasets.column_types import Column, ColumnKind
from app.datasets.profiling import FeatureProfile, TargetProfile
from app.settings import MEBIBYTE

_TARGET = "target"

#: Reading and writing hold one row group in memory. Each column of a row group needs some bytes of metadata, so wide
#: tables have larger row groups.
_MIN_ROW_GROUP_BYTES = 8 * MEBIBYTE
_MIN_COLUMN_CHUNK_BYTES = 8 * 1024
_MATRIX_DTYPE = b"bristlecone.matrix_dtype"


@dataclass(frozen=True)
class TrainingTable:
    """Data set as arrays.

    X: (n_rows, n_features), Fortran order; NaN = missing, categories are their indices. Its type is float32 if that
    represents all values exactly, else float64. y: int64 (n_rows,), indices into the classes of the data set.
    """

    X: npt.NDArray[np.float32] | npt.NDArray[np.float64]
    y: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Encoder:
    """Encodes converted columns in their stored form."""

    columns: Sequence[Column]
    features: Sequence[FeatureProfile]
    target: TargetProfile

    @property
    def schema(self) -> pa.Schema:
        fields = [pa.field(f"f{index}", feature.storage) for index, feature in enumerate(self.features)]
        dtype = b"float32" if all(feature.fits_float32 for feature in self.features) else b"float64"
        return pa.schema([*fields, pa.field(_TARGET, pa.int32())], metadata={_MATRIX_DTYPE: dtype})

    def encode(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the stored columns of a batch, which has the columns of the features and then of the target."""
        converted = [column.convert(array) for column, array in zip(self.columns, batch.columns, strict=True)]
        stored = [self._feature(profile, values) for profile, values in zip(self.features, converted, strict=False)]
        return pa.record_batch([*stored, self._target(converted[-1])], schema=self.schema)

    def _feature(self, profile: FeatureProfile, values: pa.Array) -> pa.Array:
        if profile.kind is ColumnKind.NUMERIC:
            return values.cast(profile.storage)
        categories = pa.array(profile.categories, pa.string())
        return pc.index_in(values.cast(pa.string()), categories).cast(profile.storage)

    def _target(self, values: pa.Array) -> pa.Array:
        if pa.types.is_floating(values.type):
            # Arrow distinguishes -0.0 from 0.0; as labels they are equal.
            values = pc.add(values, 0.0)
        return pc.index_in(values, pa.array(self.target.labels, values.type))


def write_table(path: Path, encoder: Encoder, batches: Iterator[pa.RecordBatch]) -> None:
    """Write all batches to a new file and force it to disk."""
    schema = encoder.schema
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        for group in _row_groups(encoder.encode(batch) for batch in batches):
            writer.write_table(group)
    with path.open("rb") as written:
        os.fsync(written.fileno())


def _row_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    pending: list[pa.RecordBatch] = []
    n_bytes = 0
    for batch in batches:
        pending.append(batch)
        n_bytes += batch.nbytes
        if n_bytes >= max(_MIN_ROW_GROUP_BYTES, batch.num_columns * _MIN_COLUMN_CHUNK_BYTES):
            yield pa.Table.from_batches(pending)
            pending, n_bytes = [], 0
    if pending:
        yield pa.Table.from_batches(pending)


def read_table(path: Path) -> TrainingTable:
    """Return the whole table, read one row group at a time. Only the arrays and one group are in memory."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        dtype = np.dtype((file.schema_arrow.metadata or {})[_MATRIX_DTYPE].decode())
        n_rows, n_features = file.metadata.num_rows, file.metadata.num_columns - 1
        table = TrainingTable(np.empty((n_rows, n_features), dtype, order="F"), np.empty(n_rows, np.int64))
        start = 0
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, use_threads=False)
            _fill(table, rows, start)
            start += rows.num_rows
    return table


def _fill(table: TrainingTable, rows: pa.Table, start: int) -> None:
    stop = start + rows.num_rows
    for index, column in enumerate(rows.columns[:-1]):
        table.X[start:stop, index] = _with_nan(column, table.X.dtype)
    table.y[start:stop] = rows.column(_TARGET).to_numpy()


def _with_nan(column: pa.ChunkedArray, dtype: np.dtype[np.floating]) -> npt.NDArray[np.number]:
    if column.null_count == 0:
        values: npt.NDArray[np.number] = column.to_numpy()
        return values
    # Filled after the cast: integers have no NaN, and Arrow would convert them to float64 first.
    target_type = pa.from_numpy_dtype(dtype)
    filled: npt.NDArray[np.number] = pc.fill_null(column.cast(target_type, safe=False), float("nan")).to_numpy()
    return filled


def read_head(path: Path, limit: int) -> list[list[float | int | None]]:
    """Return the first `limit` rows as columns of stored values, the target last."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        batch = next(file.iter_batches(batch_size=limit, use_threads=False))
    return [column.to_pylist() for column in batch.columns]
