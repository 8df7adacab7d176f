"""NDJSON files: one JSON object per line, converted to cells of text."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.datasets.cells import CellsReader, Fraction, Row, write_cells
from app.datasets.errors import NoRows, TooManyRows, UnreadableFile, UnsupportedColumnType
from app.datasets.json_texts import UnclearJson, parse_json
from app.datasets.reading import check_names
from app.settings import MEBIBYTE, Limits

_MAX_LINE_BYTES = 16 * MEBIBYTE


def read_json_lines(path: Path, target: Path, limits: Limits) -> CellsReader:
    """Convert the file to the new file `target`.

    The columns are the keys of all objects in the order in which they first appear. A key that an object lacks is a
    missing value.

    Raises:
        UnreadableFile, UnsupportedColumnType, NoRows, TooManyRows, TooManyColumns, InvalidColumnName.
    """
    names = _keys(path, limits)
    reader = write_cells(target, names, _rows(path, names))
    if reader.n_rows == 0:
        raise NoRows.at("/file", "the file has no rows; upload at least one row of each of two classes")
    return reader


def _keys(path: Path, limits: Limits) -> list[str]:
    names: dict[str, None] = {}
    for n_rows, (_, item) in enumerate(json_objects(path), 1):
        if n_rows > limits.max_rows:
            limit = f"{limits.max_rows} rows, the limit BRISTLECONE_MAX_ROWS"
            raise TooManyRows.at("/file", f"the file has more than {limit}; upload a sample of it")
        if not item.keys() <= names.keys():
            names |= dict.fromkeys(item)
            check_names(list(names), limits)
    return list(names)


def _rows(path: Path, names: list[str]) -> Iterator[Row]:
    for line, item in json_objects(path):
        try:
            yield line, [_cell(item.get(name)) for name in names]
        except TypeError:
            raise _nested(line, item) from None


def json_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the object of each line that is not blank, and the number of the line, from 1."""
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


def _parsed(line: int, text: bytes) -> dict[str, Any]:
    try:
        item = parse_json(text.decode())
        # Encoding raises for a lone surrogate, which a JSON escape can write.
        if b"\\ud" in text or b"\\uD" in text:
            json.dumps(item, ensure_ascii=False).encode()
    except UnclearJson as error:
        raise UnreadableFile.at("/file", f"line {line} has {error}") from error
    except ValueError as error:
        detail = f'line {line} is not a JSON object in UTF-8; write one object per line, such as {{"age": 41}}'
        raise UnreadableFile.at("/file", detail) from error
    if not isinstance(item, dict):
        raise UnreadableFile.at("/file", f"line {line} is JSON, but not an object; write one object per line")
    return item


def _cell(value: Any) -> str | None:
    """Return a JSON value as the text that a CSV file would have. Raises TypeError for an array or object."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return Fraction(repr(value))
    if isinstance(value, int):
        return repr(value)
    raise TypeError


def _nested(line: int, item: dict[str, Any]) -> UnsupportedColumnType:
    name = next(name for name, value in item.items() if isinstance(value, list | dict))
    kind = "an array" if isinstance(item[name], list) else "an object"
    detail = (
        f"line {line} has {kind} in {name[:80]!r}; it must be a number, text, true, false or null. Write its parts as "
        "keys of their own, or remove it from the file"
    )
    return UnsupportedColumnType.at("/file", detail)
