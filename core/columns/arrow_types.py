"""Families of Arrow types that hold text, numbers and dates."""

import pyarrow as pa


def is_text(stored: pa.DataType) -> bool:
    """Return whether values of this type are text."""
    return bool(pa.types.is_string(stored) or pa.types.is_large_string(stored) or pa.types.is_string_view(stored))


def is_number(stored: pa.DataType) -> bool:
    """Return whether values of this type are numbers; booleans are not."""
    return bool(pa.types.is_integer(stored) or pa.types.is_floating(stored) or pa.types.is_decimal(stored))


def is_temporal(stored: pa.DataType) -> bool:
    """Return whether values of this type are dates or timestamps; times of day and durations are not."""
    return bool(pa.types.is_timestamp(stored) or pa.types.is_date(stored))


def plain_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return one array without dictionary, text as `pa.string()` or `pa.large_string()`."""
    if not isinstance(values, pa.ChunkedArray):
        return _plain_chunk(values)
    chunks = [_plain_chunk(chunk) for chunk in values.chunks or [pa.array([], values.type)]]
    return chunks[0] if len(chunks) == 1 else pa.chunked_array(chunks).combine_chunks()


def _plain_chunk(values: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(values.type):
        return _plain_chunk(values.dictionary).take(values.indices)
    return values.cast(pa.string()) if pa.types.is_string_view(values.type) else values
