"""Tables of the user: pandas, polars and Arrow frames, dictionaries of columns, and lists of rows.

None of these libraries is imported unless the user passes one of its frames.
"""

import datetime
import importlib
import io
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple, SupportsFloat

from bristlecone.media_types import NDJSON, PARQUET

Columns = dict[str, list[Any]]


class FileContent(NamedTuple):
    """Table as a file: its bytes and its media type."""

    content: bytes
    media_type: str


def columns_of(frame: Any) -> Columns:
    """Return the columns as lists of values that JSON has; missing values are None, times are in ISO 8601.

    Raises TypeError for anything that is not a table.
    """
    return {str(name): [_plain(value) for value in values] for name, values in _raw_columns(frame)}


def _raw_columns(frame: Any) -> Iterable[tuple[Any, Iterable[Any]]]:
    match _library(frame):
        case "pandas":
            _check_distinct(frame.columns)
            return ((name, frame[name].tolist()) for name in frame.columns)
        case "polars":
            return ((name, frame[name].to_list()) for name in frame.columns)
        case "pyarrow":
            return ((name, frame[name].to_pylist()) for name in frame.column_names)
    if isinstance(frame, Mapping):
        _check_lists(frame)
        return frame.items()
    if _is_list_of_rows(frame):
        names = list(dict.fromkeys(name for row in frame for name in row))
        return ((name, [row.get(name) for row in frame]) for name in names)
    kind = type(frame).__name__
    raise TypeError(
        f"{kind} is not a table; pass a pandas, polars or Arrow frame, a dict of columns or a list of dicts"
    )


def _check_lists(columns: Mapping[Any, Any]) -> None:
    for name, values in columns.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise TypeError(
                f"column {name!r} is {values!r:.100}, which is no list of values; pass a list for each column, or a "
                "list of dicts, one for each row"
            )


def _check_distinct(names: Iterable[Any]) -> None:
    repeated = [name for name, count in Counter(map(str, names)).items() if count > 1]
    if repeated:
        raise ValueError(f"several columns have the name {repeated[0]!r}; rename them, so that each has its own")


def _is_list_of_rows(frame: Any) -> bool:
    is_list = isinstance(frame, Sequence) and not isinstance(frame, str | bytes)
    return is_list and all(isinstance(row, Mapping) for row in frame)


def check_complete(frame: Any) -> None:
    """Raise ValueError if a row of a list of rows lacks a key that others have."""
    if not _is_list_of_rows(frame):
        return
    names = dict.fromkeys(name for row in frame for name in row)
    for number, row in enumerate(frame):
        lacking = [name for name in names if name not in row]
        if lacking:
            raise ValueError(
                f"row {number} has no {lacking[0]!r}, which other rows have; give it in every row, or pass "
                'on_missing="missing"'
            )


def _library(frame: Any) -> str:
    """Return the library of a two-dimensional frame, or an empty text."""
    module, name = type(frame).__module__.partition(".")[0], type(frame).__name__
    return module if (module, name) in _FRAMES else ""


_FRAMES = {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch")}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if value != value else value
    if isinstance(value, datetime.date | datetime.time):
        # pandas' NaT is a date that does not equal itself.
        return None if value != value else value.isoformat()
    if type(value).__name__ == "NAType":
        return None
    if hasattr(value, "item"):
        return _plain(value.item())
    return float(value) if isinstance(value, SupportsFloat) else str(value)


def like(frame: Any, columns: Columns) -> Any:
    """Return columns as a table of the same kind as `frame`, with the index of a pandas frame."""
    library = _library(frame)
    if library == "pandas":
        return type(frame)(columns, index=frame.index)
    if library == "polars":
        return type(frame)(columns)
    if library == "pyarrow":
        return type(frame).from_pydict(columns)
    if isinstance(frame, Mapping):
        return columns
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def arrow_of(frame: Any) -> Any:
    """Return a frame as an Arrow table; None without pyarrow, for other tables, and if a column mixes types."""
    library = _library(frame)
    if library not in ("pandas", "polars", "pyarrow") or not find_spec("pyarrow"):
        return None
    pa = importlib.import_module("pyarrow")
    if library == "polars":
        return frame.to_arrow()
    if library == "pandas":
        try:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            return None if any(_is_of_pandas_alone(stored) for stored in table.schema.types) else table
        except (pa.ArrowException, TypeError, ValueError):
            return None
    return pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame


def _is_of_pandas_alone(stored: Any) -> bool:
    """Return whether values of an Arrow type are objects of pandas, such as intervals."""
    return hasattr(getattr(stored, "value_type", stored), "extension_name")


def stream_of(table: Any) -> bytes:
    """Return an Arrow table as an Arrow IPC stream."""
    pa = importlib.import_module("pyarrow")
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def columns_of_stream(content: bytes) -> Columns:
    """Return the columns of an Arrow IPC stream."""
    columns: Columns = importlib.import_module("pyarrow").ipc.open_stream(content).read_all().to_pydict()
    return columns


def as_file(frame: Any) -> FileContent:
    """Return a table as Parquet, which keeps its types, or as NDJSON if a column mixes types or no library for Parquet
    is installed.
    """
    buffer = io.BytesIO()
    if _library(frame) == "polars":
        frame.write_parquet(buffer)
    elif (table := arrow_of(frame)) is not None:
        importlib.import_module("pyarrow.parquet").write_table(table, buffer)
    else:
        return FileContent(_as_ndjson(columns_of(frame)), NDJSON)
    return FileContent(buffer.getvalue(), PARQUET)


def _as_ndjson(columns: Columns) -> bytes:
    for name, values in columns.items():
        if any(isinstance(value, float) and math.isinf(value) for value in values):
            raise ValueError(
                f"column {name!r} contains infinity, which JSON cannot hold; replace it, for example by None"
            )
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns have different numbers of values, {lengths}; give each the same number")
    rows = zip(*columns.values(), strict=True)
    lines = (json.dumps(dict(zip(columns, row, strict=True)), allow_nan=False) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()
