"""Reading of the stored form of a data set, as a whole or some of its rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from app.datasets.canonical import GROUP, IGNORED, MATRIX_DTYPE, TARGET, WEIGHT, feature_column

#: A profile of a large table is made of so many of its row groups, which are evenly spread.
_MAX_SAMPLED_GROUPS = 64
#: Index of the class of a row without a label.
NO_LABEL = -1


@dataclass(frozen=True)
class TrainingTable:
    """Data set as arrays; the ignored columns are left out.

    X: (n_rows, n_features), Fortran order; NaN = missing, categories are their indices, dates are seconds since
    1970-01-01 UTC. Its type is float32 if that represents all values exactly, else float64. y: int64 (n_rows,), indices
    into the classes of the data set; `NO_LABEL` if the row has no label. weights: float64 (n_rows,) or None.
    groups: int64 (n_rows,), the number of the group of each row, or None.
    """

    X: npt.NDArray[np.float32] | npt.NDArray[np.float64]
    y: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64] | None
    groups: npt.NDArray[np.int64] | None


def read_table(path: Path, features: Sequence[int] | None = None) -> TrainingTable:
    """Return the whole table, read one row group at a time.

    Only the arrays, one row group and the texts of the groups are in memory. features: positions of the columns of X;
    None for all features but the ignored ones. With ignored ones, X is float64.
    """
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        schema = file.schema_arrow
        default = _used_features(schema)
        used = default if features is None else [feature_column(index) for index in features]
        dtype = (schema.metadata or {})[MATRIX_DTYPE].decode() if set(used) <= set(default) else "float64"
        table = _empty_table(schema, (file.metadata.num_rows, len(used)), dtype)
        columns = [*used, *(name for name in (WEIGHT, TARGET) if name in schema.names)]
        start = 0
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns=columns, use_threads=False)
            _fill(table, used, rows, start)
            start += rows.num_rows
        groups = _group_numbers(file.read([GROUP]).column(GROUP)) if GROUP in schema.names else None
    return replace(table, groups=groups)


def _used_features(schema: pa.Schema) -> list[str]:
    others = {WEIGHT, GROUP, TARGET}
    return [field.name for field in schema if field.name not in others and IGNORED not in (field.metadata or {})]


def _empty_table(schema: pa.Schema, shape: tuple[int, int], dtype: str) -> TrainingTable:
    weights = np.empty(shape[0]) if WEIGHT in schema.names else None
    return TrainingTable(np.empty(shape, dtype, order="F"), np.empty(shape[0], np.int64), weights, None)


def _fill(table: TrainingTable, used: Sequence[str], rows: pa.Table, start: int) -> None:
    stop = start + rows.num_rows
    for index, name in enumerate(used):
        table.X[start:stop, index] = _with_nan(rows.column(name), table.X.dtype)
    table.y[start:stop] = pc.fill_null(rows.column(TARGET), NO_LABEL).to_numpy()
    if table.weights is not None:
        table.weights[start:stop] = rows.column(WEIGHT).to_numpy()


def _with_nan(column: pa.ChunkedArray, dtype: np.dtype[np.floating]) -> npt.NDArray[np.number]:
    if column.null_count == 0:
        values: npt.NDArray[np.number] = column.to_numpy()
        return values
    # Filled after the cast: integers have no NaN, and Arrow would convert them to float64 first.
    target_type = pa.from_numpy_dtype(dtype)
    filled: npt.NDArray[np.number] = pc.fill_null(column.cast(target_type, safe=False), float("nan")).to_numpy()
    return filled


def _group_numbers(texts: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return the number of the group of each row, in the order of first appearance; a row without one is its own."""
    encoded = texts.combine_chunks().dictionary_encode()
    numbers: npt.NDArray[np.int64] = pc.fill_null(encoded.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    numbers = numbers.copy()
    alone = np.flatnonzero(numbers < 0)
    numbers[alone] = len(encoded.dictionary) + np.arange(len(alone))
    return numbers


def read_column(path: Path, name: str) -> pa.ChunkedArray:
    """Return one stored column."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read([name], use_threads=False).column(0)


def read_samples(path: Path, columns: Sequence[str], max_rows: int, max_characters: int) -> Iterator[pa.ChunkedArray]:
    """Yield columns of at most `max_rows` rows, evenly spread over the table; of all rows if there are no more.

    At most `_MAX_SAMPLED_GROUPS` row groups are read, and one column of one of them at a time. max_characters: length
    at which texts are cut.
    """
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        metadata = file.metadata
        n_groups = min(metadata.num_row_groups, _MAX_SAMPLED_GROUPS)
        groups = [number * metadata.num_row_groups // n_groups for number in range(n_groups)]
        n_rows = sum(metadata.row_group(group).num_rows for group in groups)
        stride = max(1, -(-n_rows // max_rows))
        for column in columns:
            found, start = [], 0
            for group in groups:
                rows = file.read_row_group(group, columns=[column], use_threads=False)
                wanted = pa.array(range(-start % stride, rows.num_rows, stride), pa.int64())
                found.append(_with_short_texts(rows.take(wanted), max_characters))
                start += rows.num_rows
            yield pa.concat_tables(found).combine_chunks().column(0)


def _with_short_texts(table: pa.Table, max_characters: int) -> pa.Table:
    """Return the table, whose texts are cut after so many characters; "…" is the last of those that are."""
    for index, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            texts = table.column(index)
            cut = pc.binary_join_element_wise(pc.utf8_slice_codeunits(texts, 0, max_characters - 1), "…", "")
            is_long = pc.greater(pc.utf8_length(texts), max_characters)
            table = table.set_column(index, field, pc.if_else(is_long, cut, texts))
    return table


def read_rows(path: Path, rows: Sequence[int], max_characters: int) -> pa.Table:
    """Return the rows with these 0-based numbers, in ascending order. Only row groups that have one are read.

    max_characters: length at which texts are cut.
    """
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        found = [
            _with_short_texts(
                file.read_row_group(group, use_threads=False).take(pa.array(wanted, pa.int64())), max_characters
            )
            for group, wanted in _rows_per_group(file.metadata, sorted(set(rows)))
        ]
        return pa.concat_tables(found) if found else file.schema_arrow.empty_table()


def _rows_per_group(metadata: Any, rows: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield each row group that has some of the rows, and their positions in it. rows: ascending."""
    start, position = 0, 0
    for group in range(metadata.num_row_groups):
        stop = start + metadata.row_group(group).num_rows
        wanted = []
        while position < len(rows) and rows[position] < stop:
            wanted.append(rows[position] - start)
            position += 1
        if wanted:
            yield group, wanted
        start = stop
