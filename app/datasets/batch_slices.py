"""Slices of record batches that stay small when dictionaries are decoded and texts are copied."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from app.settings import MEBIBYTE
from core.service_api import is_text

#: Most bytes of text in a slice, once its dictionaries are decoded. A row with more is a slice of its own.
MAX_SLICE_TEXT_BYTES = 16 * MEBIBYTE
#: Most cells in a batch.
_CELLS_PER_BATCH = 4_000_000
_ROWS_PER_BATCH = 65_536


def rows_per_batch(n_columns: int) -> int:
    """Return the size of batches of a table with so many columns."""
    return max(1, min(_ROWS_PER_BATCH, _CELLS_PER_BATCH // max(1, n_columns)))


def bounded_slices(batch: pa.RecordBatch, max_rows: int, max_characters: int | None = None) -> Iterator[pa.RecordBatch]:
    """Yield all rows in slices of at most `max_rows` rows and `MAX_SLICE_TEXT_BYTES` bytes of text.

    max_characters: length at which texts are cut, as far as that saves memory; None keeps them whole.
    """
    if max_characters is not None:
        columns = [_cut(column, max_characters) for column in batch.columns]
        batch = pa.record_batch(columns, names=batch.schema.names)
    for start in range(0, batch.num_rows, max_rows):
        part = batch.slice(start, max_rows)
        if sum(_most_text_bytes(column) for column in part.columns) <= MAX_SLICE_TEXT_BYTES:
            yield part
        else:
            yield from _sliced_by_text(part)


def _cut(column: pa.Array, max_characters: int) -> pa.Array:
    if not _holds_text(column.type):
        return column
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _cut(column.dictionary, max_characters))
    texts = column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column
    is_short = (pc.max(pc.binary_length(texts)).as_py() or 0) <= max_characters
    return texts if is_short else pc.utf8_slice_codeunits(texts, 0, max_characters)


def _sliced_by_text(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    n_bytes = np.zeros(batch.num_rows, np.int64)
    for column in batch.columns:
        if _holds_text(column.type):
            n_bytes += _text_bytes(column)
    ends = np.cumsum(n_bytes)
    start = before = 0
    while start < batch.num_rows:
        stop = max(start + 1, int(np.searchsorted(ends, before + MAX_SLICE_TEXT_BYTES, side="right")))
        yield batch.slice(start, stop - start)
        start, before = stop, int(ends[stop - 1])


def _holds_text(stored: pa.DataType) -> bool:
    return is_text(stored.value_type if pa.types.is_dictionary(stored) else stored)


def _most_text_bytes(column: pa.Array) -> int:
    """Return a bound on the text in a column, which takes no pass over its rows."""
    if not _holds_text(column.type):
        return 0
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    longest = pc.max(_lengths(column.dictionary)).as_py()
    return len(column) * (longest or 0)


def _text_bytes(column: pa.Array) -> NDArray[np.int64]:
    """Return the size of the text of each row."""
    if not pa.types.is_dictionary(column.type):
        return _filled(_lengths(column))
    return _filled(_lengths(column.dictionary).take(column.indices))


def _lengths(texts: pa.Array) -> pa.Array:
    return pc.binary_length(texts.cast(pa.large_string()) if pa.types.is_string_view(texts.type) else texts)


def _filled(lengths: pa.Array) -> NDArray[np.int64]:
    filled: NDArray[np.int64] = pc.fill_null(lengths.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return filled
