"""Conversion of the forms in which rows arrive to a `Table`; `coercion` interprets the cells."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

from app.errors import Invalid
from app.predictions.errors import DuplicateName, Faults, NoRows, RaggedColumns, pointer, query_pointer

#: Names in a query string that are not features.
RESERVED = ("model", "on_unknown", "on_missing", "extra", "output")

#: Path to the rows in the body of a request that names them.
IN_ROWS = ("rows",)

_ESCAPED = re.compile(rf"x\.((?:x\.)*(?:{'|'.join(RESERVED)}))")


class Absent:
    """Type of `ABSENT`, which stands for a feature that a row does not name."""


ABSENT: Final = Absent()


@dataclass(frozen=True)
class Table:
    """Rows of one request, by column, as they were written.

    columns: cells of each feature, all of length `n_rows`, as JSON values or as an Arrow array; a feature that the
        request does not name may be left out.
    unknown: pointer and name of each name that is not a feature of the model.
    pointer_to: returns the pointer to the cell of a feature and row, or to the feature as a whole for row None.
    spelling: returns how a feature is written in this form if that is not its name, as the end of a sentence; else "".
    """

    n_rows: int
    columns: Mapping[str, Sequence[Any] | pa.Array]
    unknown: Iterable[tuple[str, str]]
    pointer_to: Callable[[str, int | None], str]
    spelling: Callable[[str], str] = lambda name: ""


def shown(cell: Any) -> str:
    """Return a JSON value as error messages show it."""
    if isinstance(cell, dict | list):
        return "an object" if isinstance(cell, dict) else "an array"
    return str(cell).lower() if isinstance(cell, bool) else f"{cell!r:.100}"


def from_query(items: Iterable[tuple[str, str]], known: frozenset[str], faults: Faults) -> Table:
    """Return the row that the pairs of a query string hold. `x.NAME` is the feature NAME if NAME itself is reserved."""
    columns: dict[str, list[str]] = {}
    keys: dict[str, str] = {}
    unknown: list[tuple[str, str]] = []
    seen: set[str] = set()
    for key, value in items:
        if key in seen:
            spelling = _query_spelling(key) if key in known else ""
            faults.add(DuplicateName, query_pointer(key), f"{key!r:.100} occurs twice; give it once{spelling}")
        seen.add(key)
        if key in RESERVED:
            continue
        name = _feature_name(key)
        if name in known:
            columns[name], keys[name] = [value], key
        else:
            unknown.append((query_pointer(key), name))
    return Table(
        1,
        columns,
        unknown,
        lambda name, _: query_pointer(keys.get(name, query_key(name))),
        _query_spelling,
    )


def _query_spelling(name: str) -> str:
    key = query_key(name)
    return "" if key == name else f"; write the feature as {key}, because {name} has another meaning in the query"


def _feature_name(key: str) -> str:
    escaped = _ESCAPED.fullmatch(key)
    return escaped[1] if escaped else key


def query_key(name: str) -> str:
    """Return the parameter name of a feature in a query string."""
    return f"x.{name}" if name in RESERVED or _ESCAPED.fullmatch(name) else name


def from_rows(
    rows: Sequence[Any], known: Sequence[str], faults: Faults, first: int = 0, within: tuple[str, ...] = IN_ROWS
) -> Table:
    """Return the rows that a JSON list of objects holds.

    first: number of the first of them in the request. within: path to the list in the body, `()` if it is the body.
    """
    if not rows:
        faults.add(NoRows, pointer(*within) or "/", "the list has no rows; give at least one row")
    for i, row in enumerate(rows, first):
        if not isinstance(row, dict):
            detail = f"{shown(row)} is not a row; write an object such as {{feature: value}}"
            faults.add(Invalid, pointer(*within, i), detail)
            if faults.full:
                break
    faults.raise_if_any()
    columns = {name: [row.get(name, ABSENT) for row in rows] for name in known}
    unknown = _unknown_in_rows(rows, frozenset(known), first, within)
    return Table(len(rows), columns, unknown, _in_rows(first, within))


def _unknown_in_rows(
    rows: Sequence[dict[str, Any]], known: frozenset[str], first: int, within: tuple[str, ...]
) -> Iterable[tuple[str, str]]:
    for i, row in enumerate(rows, first):
        if not row.keys() <= known:
            yield from ((pointer(*within, i, name), name) for name in row if name not in known)


def _in_rows(first: int, within: tuple[str, ...]) -> Callable[[str, int | None], str]:
    return lambda name, row: pointer(*within, name) if row is None else pointer(*within, first + row, name)


def from_columns(columns: dict[str, Any], known: frozenset[str], faults: Faults) -> Table:
    """Return the rows that a JSON object of lists holds, one list per feature."""
    for name, cells in columns.items():
        if not isinstance(cells, list):
            faults.add(Invalid, pointer("columns", name), f"{shown(cells)} is not a column; write a list of values")
    faults.raise_if_any()
    n_rows = _common_length(columns, faults)
    features = {name: cells for name, cells in columns.items() if name in known}
    return Table(n_rows, features, _unknown_columns(columns, known), _in_columns(0))


def _common_length(columns: Mapping[str, list[Any]], faults: Faults) -> int:
    first = next(iter(columns), None)
    n_rows = 0 if first is None else len(columns[first])
    for name, cells in columns.items():
        if len(cells) != n_rows:
            detail = f"{len(cells)} values, but {first!r:.100} has {n_rows}; give every column one value per row"
            faults.add(RaggedColumns, pointer("columns", name), detail)
    if n_rows == 0:
        faults.add(NoRows, "/columns", "the columns have no rows; give every column at least one value")
    faults.raise_if_any()
    return n_rows


def from_batch(batch: pa.RecordBatch, names: Iterable[str], known: frozenset[str], first: int) -> Table:
    """Return the rows of a batch of Arrow columns.

    names: all columns of the source, of which the batch needs only those that are `known`. first: number of its first
    row in the source.
    """
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    features = {name: cells for name, cells in columns.items() if name in known}
    return Table(batch.num_rows, features, _unknown_columns(names, known), _in_columns(first))


def sliced(table: Table, start: int, n_rows: int) -> Table:
    """Return at most so many rows of a table, beginning with number `start`."""

    def pointer_to(name: str, row: int | None) -> str:
        return table.pointer_to(name, None if row is None else start + row)

    columns = {name: cells[start : start + n_rows] for name, cells in table.columns.items()}
    n_left = min(n_rows, table.n_rows - start)
    return replace(table, n_rows=n_left, columns=columns, pointer_to=pointer_to)


def _unknown_columns(names: Iterable[str], known: frozenset[str]) -> Sequence[tuple[str, str]]:
    return [(pointer("columns", name), name) for name in names if name not in known]


def _in_columns(first: int) -> Callable[[str, int | None], str]:
    return lambda name, row: pointer("columns", name) if row is None else pointer("columns", name, first + row)
