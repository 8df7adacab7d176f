"""Stored rows of a data set as they were uploaded: categories and labels by name, dates as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from app.datasets.canonical import GROUP, TARGET, WEIGHT, feature_column
from app.datasets.column_types import ColumnKind
from app.datasets.datetime_text import datetime_texts
from app.datasets.errors import UnknownRow
from app.datasets.records import DatasetRecord
from app.datasets.text_limits import shortened
from app.errors import Invalid
from app.settings import MEBIBYTE

#: Most cells of an answer.
MAX_SHOWN_CELLS = 600_000
#: Longer texts are cut, and end with "…"; so do shorter ones in an answer whose texts could be longer together.
MAX_SHOWN_CHARACTERS = 1_024
_MAX_CHARACTERS_IN_TOTAL = 16 * MEBIBYTE
#: Beside its text.
_BYTES_PER_CELL = 16


@dataclass(frozen=True)
class RowSelection:
    """Rows of a data set: those that are numbered, or `limit` rows from `offset` on."""

    numbered: Sequence[int] | None
    offset: int
    limit: int

    @property
    def max_rows(self) -> int:
        """Number of the rows, unless the table has fewer."""
        return self.limit if self.numbered is None else len(self.numbered)

    def rows(self, n_rows: int) -> Sequence[int]:
        """Return the numbers of the rows of a table with `n_rows`. Raises UnknownRow."""
        if self.numbered is None:
            return range(self.offset, min(self.offset + self.limit, n_rows))
        for row in self.numbered:
            if row >= n_rows:
                detail = f"there is no row {row}; rows are numbered from 0 to {n_rows - 1}"
                raise UnknownRow.at("query/rows", detail)
        return self.numbered


@dataclass(frozen=True)
class UploadedRows:
    """Rows as they were uploaded; None = missing. row_numbers: 0-based, in file order."""

    columns: list[str]
    rows: list[list[Any]]
    row_numbers: list[int]


def uploaded_rows(dataset: DatasetRecord, stored: pa.Table, row_numbers: Sequence[int]) -> UploadedRows:
    """Return the stored rows as they were uploaded, in the order of `row_numbers`.

    stored: the rows with these numbers in ascending order.
    """
    position = {row: index for index, row in enumerate(sorted(set(row_numbers)))}
    table = stored.take(pa.array([position[row] for row in row_numbers], pa.int64()))
    names, columns = [], []
    for index, feature in enumerate(dataset.features):
        names.append(feature["name"])
        columns.append(_values(table.column(feature_column(index)).to_pylist(), feature))
    for role in (WEIGHT, GROUP):
        if dataset.roles.get(role) is not None:
            names.append(dataset.roles[role])
            columns.append(table.column(role).to_pylist())
    labels = [entry["label"] for entry in dataset.classes]
    columns.append(_named(table.column(TARGET).to_pylist(), labels))
    max_characters = max(32, min(MAX_SHOWN_CHARACTERS, _MAX_CHARACTERS_IN_TOTAL // max(1, len(columns) * len(table))))
    rows = [[_shown(value, max_characters) for value in values] for values in zip(*columns, strict=True)]
    return UploadedRows([*names, dataset.target], rows, list(row_numbers))


def check_size(n_rows: int, n_columns: int) -> None:
    """Raise Invalid if an answer would have too many cells."""
    if n_rows * n_columns > MAX_SHOWN_CELLS:
        detail = (
            f"{n_rows} rows of {n_columns} columns are {n_rows * n_columns} cells; an answer has at most "
            f"{MAX_SHOWN_CELLS}: ask for {max(1, MAX_SHOWN_CELLS // n_columns)} rows at a time"
        )
        raise Invalid.at("query/limit", detail)


def shown_bytes(n_rows: int, n_columns: int) -> int:
    """Return a bound on the bytes of the values of an answer with so many cells."""
    n_cells = min(n_rows * n_columns, MAX_SHOWN_CELLS)
    return _BYTES_PER_CELL * n_cells + min(MAX_SHOWN_CHARACTERS * n_cells, _MAX_CHARACTERS_IN_TOTAL)


def _shown(value: Any, max_characters: int) -> Any:
    return shortened(value, max_characters) if isinstance(value, str) else value


def _values(stored: list[Any], feature: Mapping[str, Any]) -> list[Any]:
    if feature["categories"] is not None:
        return _named(stored, feature["categories"])
    if feature.get("detected", feature["kind"]) == ColumnKind.DATETIME:
        return datetime_texts(stored, (feature.get("reading") or {}).get("dates"))
    return stored


def _named(codes: list[int | None], names: Sequence[Any]) -> list[Any]:
    return [None if code is None else names[code] for code in codes]
