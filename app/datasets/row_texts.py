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


@dataclass(frozen=True)
class RowSelection:
    """Rows of a data set: those that are numbered, or `limit` rows from `offset` on."""

    numbered: Sequence[int] | None
    offset: int
    limit: int

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
    rows = [list(values) for values in zip(*columns, strict=True)]
    return UploadedRows([*names, dataset.target], rows, list(row_numbers))


def _values(stored: list[Any], feature: Mapping[str, Any]) -> list[Any]:
    if feature["categories"] is not None:
        return _named(stored, feature["categories"])
    if feature.get("detected", feature["kind"]) == ColumnKind.DATETIME:
        return datetime_texts(stored, (feature.get("reading") or {}).get("dates"))
    return stored


def _named(codes: list[int | None], names: Sequence[Any]) -> list[Any]:
    return [None if code is None else names[code] for code in codes]
