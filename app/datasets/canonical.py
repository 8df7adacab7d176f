"""Stored form of a data set: a Parquet file of plain numbers, whatever the format of the upload.

The columns are `f0`, `f1`, … for the features, `weight` and `group` if the data set has these roles, and `target`.
Numbers have the narrowest type that represents them exactly, dates are seconds since 1970-01-01 UTC. Categories and
labels are indices into the sorted lists in the row of the data set. Groups, and ignored columns of text, are text.
Missing values and labels are null.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from app.datasets.column_types import Column, ColumnKind, as_text
from app.datasets.profiling import FeatureProfile
from app.datasets.target_profiling import TargetProfile
from app.settings import MEBIBYTE

TARGET, WEIGHT, GROUP = "target", "weight", "group"
MATRIX_DTYPE = b"bristlecone.matrix_dtype"
#: In the metadata of the field of a feature that models do not see.
IGNORED = b"bristlecone.ignored"

#: Reading and writing hold one row group in memory. Each column of a row group needs some bytes of metadata, so wide
#: tables have larger row groups.
_MIN_ROW_GROUP_BYTES = 8 * MEBIBYTE
_MIN_COLUMN_CHUNK_BYTES = 8 * 1024


def feature_column(index: int) -> str:
    """Return the name of the column of a feature."""
    return f"f{index}"


@dataclass(frozen=True)
class Encoder:
    """Encodes converted columns in their stored form.

    columns: those of the features, then of weight and group if they exist, then of the target.
    roles: `WEIGHT` and `GROUP`, as far as they exist, in the order of their columns.
    """

    columns: Sequence[Column]
    features: Sequence[FeatureProfile]
    roles: Sequence[str]
    target: TargetProfile

    @property
    def used_columns(self) -> list[str]:
        """Names of the stored columns that models see."""
        is_used = [feature.kind is not ColumnKind.IGNORED for feature in self.features]
        return [feature_column(index) for index, used in enumerate(is_used) if used]

    @property
    def schema(self) -> pa.Schema:
        fields = [_field(index, feature) for index, feature in enumerate(self.features)]
        fields += [pa.field(role, pa.float64() if role == WEIGHT else pa.string()) for role in self.roles]
        used = [feature for feature in self.features if feature.kind is not ColumnKind.IGNORED]
        dtype = b"float32" if all(feature.fits_float32 for feature in used) else b"float64"
        return pa.schema([*fields, pa.field(TARGET, pa.int32())], metadata={MATRIX_DTYPE: dtype})

    def encode(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the stored columns of a batch, which has the columns of `columns`."""
        converted = [column.convert(array) for column, array in zip(self.columns, batch.columns, strict=True)]
        stored = [self._feature(profile, values) for profile, values in zip(self.features, converted, strict=False)]
        roles = converted[len(stored) : -1]
        stored += [
            values.cast(pa.float64(), safe=False) if role == WEIGHT else as_text(values)
            for role, values in zip(self.roles, roles, strict=True)
        ]
        return pa.record_batch([*stored, self._target(converted[-1])], schema=self.schema)

    def _feature(self, profile: FeatureProfile, values: pa.Array) -> pa.Array:
        if profile.categories is None:
            return as_text(values) if profile.storage == pa.string() else values.cast(profile.storage)
        categories = pa.array(profile.categories, pa.string())
        return pc.index_in(values.cast(pa.string()), categories).cast(profile.storage)

    def _target(self, values: pa.Array) -> pa.Array:
        if pa.types.is_floating(values.type):
            # Arrow distinguishes -0.0 from 0.0; as labels they are equal.
            values = pc.add(values, 0.0)
        return pc.index_in(values, pa.array(self.target.labels, values.type))


def _field(index: int, feature: FeatureProfile) -> pa.Field:
    metadata = {IGNORED: b"true"} if feature.kind is ColumnKind.IGNORED else None
    return pa.field(feature_column(index), feature.storage, metadata=metadata)


def write_table(path: Path, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    """Write all encoded batches to a new file and force it to disk."""
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        for group in _row_groups(batches):
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
