"""Profiles of the columns of a stored data set, ready to draw: quantiles, histograms and levels, also by class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from app.datasets.canonical import TARGET, feature_column
from app.datasets.column_types import ColumnKind
from app.datasets.datetime_text import datetime_text
from app.datasets.errors import UnknownColumn
from app.datasets.records import DatasetRecord
from app.datasets.store import DatasetStore
from app.datasets.text_limits import shortened
from app.errors import some_of
from app.settings import MEBIBYTE

#: Quantiles, histograms and levels of a larger table are those of so many rows, evenly spread.
MAX_PROFILED_ROWS = 100_000
#: About as much as the profile of one column is made from.
PROFILED_BYTES = 4 * MEBIBYTE
MAX_LEVELS = 20
#: Longer levels are cut, and end with "…".
MAX_LEVEL_CHARACTERS = 200
#: The most frequent classes, for which a column is profiled apart.
MAX_CLASSES = 20
QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
_BINS = 30
#: Whole numbers over so short a range have a bin each.
_MAX_UNIT_BINS = 50
#: Beyond it, float64 has no numbers between whole ones.
_LARGEST_UNIT_BIN = 2.0**52


@dataclass(frozen=True)
class ColumnSelection:
    """Features to profile: those that are named, or `limit` of them from `offset` on."""

    names: Sequence[str]
    offset: int
    limit: int

    def positions(self, dataset: DatasetRecord) -> Sequence[int]:
        """Return the positions of the features. Raises UnknownColumn."""
        if not self.names:
            return range(self.offset, min(self.offset + self.limit, len(dataset.features)))
        positions = {feature["name"]: position for position, feature in enumerate(dataset.features)}
        for name in self.names:
            if name not in positions:
                detail = f"the data set has no feature {name!r:.100}; its features are {some_of(list(positions))}"
                raise UnknownColumn.at("query/column", detail)
        return [positions[name] for name in self.names]


@dataclass(frozen=True)
class TableProfile:
    """Profiles of columns. classes: numbers of the classes that the profiles tell apart, in class order."""

    n_profiled: int
    classes: list[int]
    columns: list[dict[str, Any]]


@dataclass(frozen=True)
class _Classes:
    """Class of each profiled row, as a position in `numbers`; -1 for other classes and rows without a label."""

    numbers: list[int]
    positions: NDArray[np.int64]

    def counts(self, cells: NDArray[np.int64], n_cells: int) -> NDArray[np.int64]:
        """Return the rows of each class in each cell (class, cell). cells: -1 for rows that are in none."""
        inside = (cells >= 0) & (self.positions >= 0)
        flat = self.positions[inside] * n_cells + cells[inside]
        return np.bincount(flat, minlength=len(self.numbers) * n_cells).reshape(len(self.numbers), n_cells)


def profile_columns(dataset: DatasetRecord, store: DatasetStore, positions: Sequence[int]) -> TableProfile:
    """Return the profiles of the features at these positions. Raises DatasetFileMissing, DatasetFileDamaged."""
    names = [feature_column(position) for position in positions]
    samples = store.samples(dataset.fingerprint, [TARGET, *names], MAX_PROFILED_ROWS, MAX_LEVEL_CHARACTERS)
    target = next(samples)
    classes = _classes(dataset, target)
    columns = [
        _profile(dataset.features[position], values, classes)
        for position, values in zip(positions, samples, strict=True)
    ]
    return TableProfile(len(target), classes.numbers, columns)


def _classes(dataset: DatasetRecord, target: pa.ChunkedArray) -> _Classes:
    counts = [entry["count"] for entry in dataset.classes]
    numbers = sorted(sorted(range(len(counts)), key=lambda number: -counts[number])[:MAX_CLASSES])
    position = np.full(len(counts) + 1, -1)
    position[numbers] = np.arange(len(numbers))
    labels = pc.fill_null(target, len(counts)).to_numpy()
    return _Classes(numbers, position[labels])


def _profile(feature: Mapping[str, Any], values: pa.ChunkedArray, classes: _Classes) -> dict[str, Any]:
    known = {key: feature.get(key) for key in ("name", "kind", "reason", "missing", "distinct", "min", "max", "mean")}
    if pa.types.is_string(values.type) or feature["categories"] is not None:
        return known | {"levels": _levels(values, feature["categories"], classes)}
    numbers = pc.fill_null(values.cast(pa.float64(), safe=False), float("nan")).to_numpy()
    is_date = feature.get("detected", feature["kind"]) == ColumnKind.DATETIME
    return known | _numeric_profile(numbers, pa.types.is_integer(values.type), classes, is_date)


def _levels(values: pa.ChunkedArray, categories: Sequence[str] | None, classes: _Classes) -> list[dict[str, Any]]:
    """Return the most frequent levels, each with its rows and its rows by class."""
    counted = values.drop_null().value_counts()
    order = np.argsort(-counted.field(1).to_numpy(), kind="stable")[:MAX_LEVELS]
    top, counts = counted.field(0).take(pa.array(order)), counted.field(1).to_numpy()[order]
    cells = pc.fill_null(pc.index_in(values, top), -1).to_numpy().astype(np.int64)
    by_class = classes.counts(cells, len(top))
    names = [categories[code] for code in top.to_pylist()] if categories is not None else top.to_pylist()
    return [
        {"level": shortened(name, MAX_LEVEL_CHARACTERS), "count": int(count), "by_class": by_class[:, cell].tolist()}
        for cell, (name, count) in enumerate(zip(names, counts, strict=True))
    ]


def _numeric_profile(numbers: NDArray[np.float64], whole: bool, classes: _Classes, is_date: bool) -> dict[str, Any]:
    present = numbers[~np.isnan(numbers)]
    if not len(present):
        return {"sd": None, "quantiles": None, "histogram": None, "by_class": None}
    edges = _edges(present, whole)
    cells = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    cells[np.isnan(numbers)] = -1
    histogram = {
        "edges": _shown(edges, is_date),
        "counts": np.bincount(cells[cells >= 0], minlength=len(edges) - 1).tolist(),
        "by_class": classes.counts(cells, len(edges) - 1).tolist(),
    }
    by_class = [numbers[(classes.positions == position) & (cells >= 0)] for position in range(len(classes.numbers))]
    return {
        "sd": float(np.std(present)),
        "quantiles": _quantiles(present, is_date),
        "histogram": histogram,
        "by_class": [_quantiles(values, is_date) for values in by_class],
    }


def _edges(present: NDArray[np.float64], whole: bool) -> NDArray[np.float64]:
    low, high = float(present.min()), float(present.max())
    if whole and high - low < _MAX_UNIT_BINS and max(abs(low), abs(high)) < _LARGEST_UNIT_BIN:
        return np.arange(low, high + 2) - 0.5
    if low == high:
        return np.array([low - 0.5, high + 0.5])
    return np.linspace(low, high, _BINS + 1)


def _quantiles(values: NDArray[np.float64], is_date: bool) -> list[Any] | None:
    return _shown(np.quantile(values, QUANTILES), is_date) if len(values) else None


def _shown(values: NDArray[np.float64], is_date: bool) -> list[Any]:
    return [datetime_text(value) for value in values.tolist()] if is_date else values.tolist()
