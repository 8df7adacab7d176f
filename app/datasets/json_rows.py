"""JSON files with one object per row, in lines or in an array, converted to cells of text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from app.datasets.cells import CellsReader, Fraction, Row, write_cells
from app.datasets.errors import NoRows, TooManyRows, UnreadableFile
from app.datasets.json_array import items_of_array
from app.datasets.json_texts import UnclearJson, parse_json
from app.datasets.reading import check_names
from app.settings import MEBIBYTE, Limits

_MAX_LINE_BYTES = 16 * MEBIBYTE
#: Types of columns that contain arrays or objects, as Parquet has them.
_NESTED_TYPES: dict[type, pa.DataType] = {list: pa.list_(pa.null()), dict: pa.struct([])}


def read_json_rows(path: Path, target: Path, limits: Limits) -> CellsReader:
    """Convert the file to the new file `target`.

    The columns are the keys of all objects in the order in which they first appear. A key that an object lacks is a
    missing value. A column that contains arrays or objects has their type, and no cells.

    Raises:
        UnreadableFile, NoRows, TooManyRows, TooManyColumns, InvalidColumnName.
    """
    types = _columns(path, limits)
    reader = write_cells(target, pa.schema(types), _rows(path, types))
    if reader.n_rows == 0:
        raise NoRows.at("/file", "the file has no rows; upload at least one row of each of two classes")
    return reader


def _columns(path: Path, limits: Limits) -> dict[str, pa.DataType]:
    types: dict[str, pa.DataType] = {}
    for n_rows, (_, item) in enumerate(json_objects(path), 1):
        if n_rows > limits.max_rows:
            limit = f"{limits.max_rows} rows, the limit BRISTLECONE_MAX_ROWS"
            raise TooManyRows.at("/file", f"the file has more than {limit}; upload a sample of it")
        if not item.keys() <= types.keys():
            types |= {name: pa.string() for name in item if name not in types}
            check_names(list(types), limits)
        types |= {name: _NESTED_TYPES[type(value)] for name, value in item.items() if type(value) in _NESTED_TYPES}
    return types


def _rows(path: Path, types: dict[str, pa.DataType]) -> Iterator[Row]:
    is_nested = {name: pa.types.is_nested(stored) for name, stored in types.items()}
    for line, item in json_objects(path):
        yield line, [None if nested else _cell(item.get(name)) for name, nested in is_nested.items()]


def json_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line in which each object begins, from 1, and the object. Raises UnreadableFile."""
    is_array = _begins_with_bracket(path)
    for line, item in items_of_array(path) if is_array else _items_of_lines(path):
        if not isinstance(item, dict):
            way_out = "write an array of objects" if is_array else "write one object per line"
            raise UnreadableFile.at("/file", f"line {line} is JSON, but not an object; {way_out}")
        yield line, item


def _begins_with_bracket(path: Path) -> bool:
    with path.open("rb") as source:
        while (line := source.readline(_MAX_LINE_BYTES).removeprefix(b"\xef\xbb\xbf")) and not line.strip():
            pass
    return line.lstrip().startswith(b"[")


def _items_of_lines(path: Path) -> Iterator[tuple[int, Any]]:
    line = 0
    with path.open("rb") as source:
        while text := source.readline(_MAX_LINE_BYTES):
            line += 1
            if line == 1:
                text = text.removeprefix(b"\xef\xbb\xbf")
            if not text.endswith(b"\n") and len(text) == _MAX_LINE_BYTES:
                raise UnreadableFile.at("/file", f"line {line} has more than {_MAX_LINE_BYTES} bytes; split the object")
            if text.strip():
                yield line, _parsed(line, text)


def _parsed(line: int, text: bytes) -> Any:
    try:
        return parse_json(text.decode())
    except UnclearJson as error:
        raise UnreadableFile.at("/file", f"line {line} has {error}") from error
    except ValueError as error:
        detail = f'line {line} is not a JSON object in UTF-8; write one object per line, such as {{"age": 41}}'
        raise UnreadableFile.at("/file", detail) from error


def _cell(value: Any) -> str | None:
    """Return a JSON value that is no array or object as the text that a CSV file would have."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return Fraction(repr(value)) if isinstance(value, float) else repr(value)
