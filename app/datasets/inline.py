"""Inline data: columns of JSON values are written to a file and then processed like an upload."""

import hashlib
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from app.datasets.errors import InfiniteValue, MixedColumn, NotUtf8, UnequalColumns, column_pointer
from app.datasets.formats import PlainFile
from app.errors import InvalidJson

#: Format in which inline data arrived.
INLINE_FORMAT = "JSON"

_KINDS: dict[type, str] = {bool: "boolean", int: "number", float: "number", str: "text"}


def write_columns(path: Path, columns: Mapping[str, list[Any]]) -> PlainFile:
    """Write the columns to the new file `path` as an Arrow stream.

    Raises:
        UnequalColumns: not all columns have the same number of values.
        MixedColumn: a column mixes numbers, booleans and text, or contains something else.
        InvalidJson: a value is NaN.
        InfiniteValue: a number is infinite, or a whole number is too large for a 64-bit float.
        NotUtf8: a name or a text contains a lone surrogate.
    """
    _check_lengths(columns)
    arrays = [_array(name, values) for name, values in columns.items()]
    batch = pa.record_batch(arrays, names=list(columns))
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, batch.schema) as stream:
        stream.write_batch(batch)
    with path.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    return PlainFile(path, digest, path.stat().st_size)


def _check_lengths(columns: Mapping[str, list[Any]]) -> None:
    lengths = {name: len(values) for name, values in columns.items()}
    first = next(iter(lengths), "")
    for name, length in lengths.items():
        if length != lengths[first]:
            detail = (
                f"column {name!r} has {length} values and column {first!r} has {lengths[first]}; all columns "
                "need the same number of values"
            )
            raise UnequalColumns.at(column_pointer("file", name), detail)


def _array(name: str, values: list[Any]) -> pa.Array:
    _require_finite(name, values)
    kinds = {_KINDS.get(type(value), "an array or object") for value in values if value is not None}
    if len(kinds) > 1 or "an array or object" in kinds:
        contents = " and ".join(sorted(kinds))
        detail = f"column {name!r} contains {contents}; a column must contain only numbers, only booleans or only text"
        raise MixedColumn.at(column_pointer("file", name), detail)
    _require_encodable(name, (name,))
    if kinds == {"number"}:
        return _numbers(name, values)
    if kinds == {"text"}:
        _require_encodable(name, values)
    return pa.array(values, {"boolean": pa.bool_(), "text": pa.string()}.get(next(iter(kinds), ""), pa.float64()))


def _require_finite(name: str, values: list[Any]) -> None:
    """Raise InvalidJson or InfiniteValue for the first value that is not finite.

    The parser takes NaN and Infinity, which JSON does not have. Uploads of JSON and predictions refuse them as well.
    """
    for row, value in enumerate(values):
        if isinstance(value, float) and not math.isfinite(value):
            place = f"{column_pointer('file', name)}/{row}"
            shown = f"row {row} of column {name!r:.100} is"
            if math.isnan(value):
                raise InvalidJson.at(place, f"{shown} NaN, which is not JSON; write null if the value is missing")
            rule = "numbers must be finite; write another number, or null if the value is missing"
            raise InfiniteValue.at(place, f"{shown} infinite; {rule}")


def _require_encodable(name: str, texts: Iterable[str | None]) -> None:
    for text in texts:
        try:
            (text or "").encode()
        except UnicodeEncodeError as error:
            detail = (
                f"column {name!r:.100} contains {text!r:.100} with a lone surrogate; send text that UTF-8 can encode"
            )
            raise NotUtf8.at(column_pointer("file", name), detail) from error


def _numbers(name: str, values: list[Any]) -> pa.Array:
    whole = all(value is None or (isinstance(value, int) and abs(value) < 2**63) for value in values)
    if whole:
        return pa.array(values, pa.int64())
    try:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    except OverflowError as error:
        detail = f"column {name!r:.100} contains a whole number beyond 1.8e308, the largest float; rescale it"
        raise InfiniteValue.at(column_pointer("file", name), detail) from error


def inline_pointer(pointer: str) -> str:
    """Return the place in inline data of what an upload has at `pointer`."""
    return "/data/columns" + pointer.removeprefix("/file") if pointer.startswith("/file") else "/data" + pointer
