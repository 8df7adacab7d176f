"""Columns of JSON values as a file, so that inline data takes the same way as an upload."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from app.datasets.errors import InfiniteValue, MixedColumn, NotUtf8, UnequalColumns, column_pointer
from app.datasets.formats import PlainFile

_KINDS: dict[type, str] = {bool: "boolean", int: "number", float: "number", str: "text"}


def write_columns(path: Path, columns: Mapping[str, list[Any]]) -> PlainFile:
    """Write the columns to the new file `path` as an Arrow stream.

    Raises:
        UnequalColumns: not all columns have the same number of values.
        MixedColumn: a column mixes numbers, booleans and text, or holds something else.
        InfiniteValue: a whole number is too large for a 64-bit float.
        NotUtf8: a name or a text holds half of a surrogate pair.
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
            detail = f"column {name!r} has {length} values, column {first!r} has {lengths[first]}; give all the same"
            raise UnequalColumns.at(column_pointer("file", name), detail)


def _array(name: str, values: list[Any]) -> pa.Array:
    kinds = {_KINDS.get(type(value), "an array or object") for value in values if value is not None}
    if len(kinds) > 1 or "an array or object" in kinds:
        detail = f"column {name!r} holds {' and '.join(sorted(kinds))}; a column holds numbers, booleans or text only"
        raise MixedColumn.at(column_pointer("file", name), detail)
    _require_encodable(name, (name,))
    if kinds == {"number"}:
        return _numbers(name, values)
    if kinds == {"text"}:
        _require_encodable(name, values)
    return pa.array(values, {"boolean": pa.bool_(), "text": pa.string()}.get(next(iter(kinds), ""), pa.float64()))


def _require_encodable(name: str, texts: Iterable[str | None]) -> None:
    for text in texts:
        try:
            (text or "").encode()
        except UnicodeEncodeError as error:
            detail = (
                f"column {name!r:.100} holds {text!r:.100}, half of a surrogate pair; send text that UTF-8 can write"
            )
            raise NotUtf8.at(column_pointer("file", name), detail) from error


def _numbers(name: str, values: list[Any]) -> pa.Array:
    whole = all(value is None or (isinstance(value, int) and abs(value) < 2**63) for value in values)
    if whole:
        return pa.array(values, pa.int64())
    try:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    except OverflowError as error:
        detail = f"column {name!r:.100} holds a whole number beyond 1.8e308, the largest that can be kept; scale it"
        raise InfiniteValue.at(column_pointer("file", name), detail) from error


def inline_pointer(pointer: str) -> str:
    """Where inline data carries what an upload would have at `pointer`."""
    return "/data/columns" + pointer.removeprefix("/file") if pointer.startswith("/file") else "/data" + pointer
