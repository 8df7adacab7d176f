"""The forms in which rows arrive, each turned into one `Table`; what the cells mean is `coercion`'s business."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.errors import Invalid
from app.predictions.errors import DuplicateName, Faults, NoRows, RaggedColumns, TooManyCells, pointer, query_pointer

#: Names in a query string that are not features.
RESERVED = ("model", "on_unknown", "on_missing", "extra")

#: Half a gigabyte of float64. Few short rows with many features left out can ask for far more than their own size.
MAX_CELLS = 2**26

_ESCAPED = re.compile(rf"x\.((?:x\.)*(?:{'|'.join(RESERVED)}))")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class Absent:
    """The type of `ABSENT`: the row does not name the feature at all."""


ABSENT: Final = Absent()

#: Turns one cell that is not empty into a number, NaN = missing; raises ValueError with a reason meant for the client.
NumberReader = Callable[[Any], float]


@dataclass(frozen=True)
class Table:
    """Rows of one request, by column, as they were written.

    columns: cells of each feature, all of length `n_rows`; a feature that no row can name is left out.
    unknown: where the request names what is no feature of the model, and the name.
    pointer_to: feature and row -> where the cell is in the request; row None = the feature as a whole.
    """

    n_rows: int
    columns: Mapping[str, Sequence[Any]]
    unknown: Iterable[tuple[str, str]]
    pointer_to: Callable[[str, int | None], str]
    as_number: NumberReader


class RepeatedKeys(dict[str, Any]):
    """A JSON object that names a key twice; `repeated` are those keys."""

    repeated: tuple[str, ...] = ()


def json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The `object_pairs_hook` that remembers what a dict forgets."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    times = Counter(key for key, _ in pairs)
    repeated = RepeatedKeys(found)
    repeated.repeated = tuple(key for key, n in times.items() if n > 1)
    return repeated


def number_in_text(cell: str) -> float:
    """Plain decimal or scientific notation; no underscores, hexadecimals, nan or infinity. Blanks = missing, NaN."""
    text = cell.strip()
    if not text:
        return math.nan
    if len(text) > 400 or not _DECIMAL.fullmatch(text):
        raise ValueError(
            f"{cell!r:.100} is not a number; write it like 41, -0.5 or 1.2e6, or leave it empty if missing"
        )
    return _finite(float(text), text)


def number_in_json(cell: Any) -> float:
    if type(cell) is int or type(cell) is float:
        try:
            return _finite(float(cell), cell)
        except OverflowError:
            raise ValueError("the number is too large for a 64-bit float") from None
    raise ValueError(f"{_shown(cell)} is not a number; write a JSON number, or null if missing")


def _finite(number: float, cell: str | float) -> float:
    if not math.isfinite(number):
        raise ValueError(f"{cell!s:.100} is not a finite number; write null (empty in a query) if missing")
    return number


def _shown(cell: Any) -> str:
    if isinstance(cell, dict | list):
        return "an object" if isinstance(cell, dict) else "an array"
    return str(cell).lower() if isinstance(cell, bool) else f"{cell!r:.100}"


def from_query(items: Iterable[tuple[str, str]], known: frozenset[str], faults: Faults) -> Table:
    """One row from the pairs of a query string. `x.NAME` means the feature NAME where NAME alone is reserved."""
    columns: dict[str, list[str]] = {}
    written: dict[str, str] = {}
    unknown: list[tuple[str, str]] = []
    seen: set[str] = set()
    for key, value in items:
        if key in seen:
            faults.add(DuplicateName, query_pointer(key), f"{key!r:.100} is given twice; give it once")
        seen.add(key)
        if key in RESERVED:
            continue
        name = _feature_name(key)
        if name in known:
            columns[name], written[name] = [value], key
        else:
            unknown.append((query_pointer(key), name))
    return Table(1, columns, unknown, lambda name, _: query_pointer(written.get(name, query_key(name))), number_in_text)


def _feature_name(key: str) -> str:
    escaped = _ESCAPED.fullmatch(key)
    return escaped[1] if escaped else key


def query_key(name: str) -> str:
    """How a feature is written in a query string."""
    return f"x.{name}" if name in RESERVED or _ESCAPED.fullmatch(name) else name


def from_rows(rows: Sequence[Any], known: Sequence[str], faults: Faults) -> Table:
    """Rows as a JSON list of objects."""
    if not rows:
        faults.add(NoRows, "/rows", "the list is empty; give at least one row")
    for i, row in enumerate(rows):
        if type(row) is not dict:
            _add_odd_row(i, row, faults)
    faults.raise_if_any()
    _check_size(len(rows), len(known))
    columns = {name: [row.get(name, ABSENT) for row in rows] for name in known}
    return Table(len(rows), columns, _unknown_in_rows(rows, frozenset(known)), _in_rows, number_in_json)


def _add_odd_row(i: int, row: Any, faults: Faults) -> None:
    if isinstance(row, RepeatedKeys):
        for name in row.repeated:
            faults.add(DuplicateName, pointer("rows", i, name), f"{name!r:.100} is given twice; give it once")
    elif not isinstance(row, dict):
        faults.add(Invalid, pointer("rows", i), f"{_shown(row)} is not a row; write an object like {{feature: value}}")


def _unknown_in_rows(rows: Sequence[dict[str, Any]], known: frozenset[str]) -> Iterable[tuple[str, str]]:
    for i, row in enumerate(rows):
        if not row.keys() <= known:
            yield from ((pointer("rows", i, name), name) for name in row if name not in known)


def _in_rows(name: str, row: int | None) -> str:
    return pointer("rows", name) if row is None else pointer("rows", row, name)


def from_columns(columns: dict[str, Any], known: frozenset[str], faults: Faults) -> Table:
    """Rows as a JSON object of lists, one list per feature."""
    for name in getattr(columns, "repeated", ()):
        faults.add(DuplicateName, pointer("columns", name), f"{name!r:.100} is given twice; give it once")
    for name, cells in columns.items():
        if not isinstance(cells, list):
            faults.add(Invalid, pointer("columns", name), f"{_shown(cells)} is not a column; write a list of values")
    faults.raise_if_any()
    n_rows = _common_length(columns, faults)
    _check_size(n_rows, len(known))
    unknown = ((pointer("columns", name), name) for name in columns if name not in known)
    features = {name: cells for name, cells in columns.items() if name in known}
    return Table(n_rows, features, unknown, _in_columns, number_in_json)


def _check_size(n_rows: int, n_features: int) -> None:
    if n_rows * n_features > MAX_CELLS:
        raise TooManyCells(
            f"{n_rows} rows of {n_features} features are more than {MAX_CELLS} cells; send fewer rows at a time."
        )


def _common_length(columns: Mapping[str, list[Any]], faults: Faults) -> int:
    first = next(iter(columns), None)
    n_rows = 0 if first is None else len(columns[first])
    for name, cells in columns.items():
        if len(cells) != n_rows:
            detail = f"{len(cells)} values, but {first!r:.100} has {n_rows}; give every column one value per row"
            faults.add(RaggedColumns, pointer("columns", name), detail)
    if n_rows == 0:
        faults.add(NoRows, "/columns", "there are no rows; give every column at least one value")
    faults.raise_if_any()
    return n_rows


def _in_columns(name: str, row: int | None) -> str:
    return pointer("columns", name) if row is None else pointer("columns", name, row)
