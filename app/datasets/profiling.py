"""Profiles of columns: counts, ranges, categories and classes, computed batch by batch."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.datasets.column_types import Column, ColumnKind, ValueType
from app.datasets.errors import (
    InfiniteValue,
    MissingLabel,
    NulCharacter,
    SingleClass,
    TooManyCategories,
    TooManyClasses,
)
from app.settings import Limits

Label = int | float | bool | str

#: Distinct values of a numeric column are counted up to this many; if there are more, `distinct` is null. The limit is
#: lower in a wide table, so that all columns together have at most `_MAX_DISTINCT_IN_TOTAL`.
MAX_DISTINCT = 10_000
_MAX_DISTINCT_IN_TOTAL = 8_000_000

_FLOAT32_INTEGERS = 2**24


@dataclass(frozen=True)
class FeatureProfile:
    """Profile of a feature: an entry of `Dataset.features`, and the Arrow type in which its column is stored."""

    name: str
    kind: ColumnKind
    missing: int
    min: float | None
    max: float | None
    mean: float | None
    distinct: int | None
    categories: list[str] | None
    storage: pa.DataType
    fits_float32: bool

    def as_json(self) -> dict[str, Any]:
        """Return the profile as it is stored in the row of the data set."""
        return {
            "name": self.name,
            "kind": str(self.kind),
            "missing": self.missing,
            "min": self.min,
            "max": self.max,
            "mean": self.mean,
            "distinct": self.distinct,
            "categories": self.categories,
        }


@dataclass(frozen=True)
class TargetProfile:
    """Profile of the target. labels and counts are in class order."""

    labels: list[Label]
    counts: list[int]

    def as_json(self) -> list[dict[str, Any]]:
        """Return the classes as they are stored in the row of the data set."""
        return [{"label": label, "count": count} for label, count in zip(self.labels, self.counts, strict=True)]


def feature_profiler(column: Column, n_columns: int, limits: Limits) -> "NumericProfiler | CategoricalProfiler":
    """Return a profiler for a feature of a table with `n_columns` columns."""
    if column.kind is ColumnKind.NUMERIC:
        return NumericProfiler(column, min(MAX_DISTINCT, _MAX_DISTINCT_IN_TOTAL // n_columns))
    return CategoricalProfiler(column, limits.max_categories)


class NumericProfiler:
    """Computes the profile of a numeric feature."""

    def __init__(self, column: Column, max_distinct: int) -> None:
        self._column = column
        self._max_distinct = max_distinct
        self._distinct: np.ndarray | None = np.empty(0)
        self._missing = self._present = 0
        self._min: float | None = None
        self._max: float | None = None
        self._sums: list[float] = []
        self._fits_float32 = True

    def add(self, values: pa.Array, first_row: int) -> None:
        """Add a batch. values: integers or float64 with nulls, from `Column.convert`."""
        self._missing += values.null_count
        if values.null_count == len(values):
            return
        self._present += len(values) - values.null_count
        bounds = pc.min_max(values)
        low, high = bounds["min"].as_py(), bounds["max"].as_py()
        if math.isinf(low) or math.isinf(high):
            raise _infinite(self._column.name, values, first_row)
        self._min = low if self._min is None else min(self._min, low)
        self._max = high if self._max is None else max(self._max, high)
        self._sums.append(pc.sum(values.cast(pa.float64(), safe=False)).as_py())
        self._note_values(values)

    def _note_values(self, values: pa.Array) -> None:
        if self._column.values is ValueType.REAL and self._fits_float32:
            self._fits_float32 = _fits_float32(values)
        if self._distinct is not None:
            distinct = pc.unique(values.drop_null()).to_numpy(zero_copy_only=False)
            self._distinct = np.union1d(self._distinct, distinct) if len(self._distinct) else np.sort(distinct)
            if len(self._distinct) > self._max_distinct:
                self._distinct = None

    def finish(self) -> FeatureProfile:
        return FeatureProfile(
            name=self._column.name,
            kind=ColumnKind.NUMERIC,
            missing=self._missing,
            min=self._min,
            max=self._max,
            mean=_mean(self._sums, self._present),
            distinct=None if self._distinct is None else len(self._distinct),
            categories=None,
            storage=self._storage(),
            fits_float32=self._all_fit_float32(),
        )

    def _storage(self) -> pa.DataType:
        if self._column.values is ValueType.REAL:
            return pa.float32() if self._fits_float32 else pa.float64()
        return narrowest_integer(int(self._min or 0), int(self._max or 0))

    def _all_fit_float32(self) -> bool:
        if self._column.values is ValueType.REAL:
            return self._fits_float32
        return max(abs(self._min or 0), abs(self._max or 0)) <= _FLOAT32_INTEGERS


def _mean(sums: list[float], count: int) -> float | None:
    if not count:
        return None
    mean = math.fsum(total / count for total in sums)
    return mean if math.isfinite(mean) else None


def _infinite(name: str, values: pa.Array, first_row: int) -> InfiniteValue:
    index = pc.index(pc.fill_null(pc.is_inf(values), False), True).as_py()
    detail = (
        f"column {name!r} contains an infinite number in row {first_row + index}; "
        "leave the value empty if it is missing, or replace it by a finite number"
    )
    return InfiniteValue.at("/file", detail)


def _fits_float32(values: pa.Array) -> bool:
    numbers = values.drop_null().to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore", under="ignore"):
        return bool((numbers.astype(np.float32) == numbers).all())


def narrowest_integer(low: int, high: int) -> pa.DataType:
    """Return the narrowest Arrow integer type for low..high; an unsigned one if `low` is not negative."""
    bits = next(width for width in (8, 16, 32, 64) if _can_represent(width, low, high))
    return getattr(pa, f"{'u' if low >= 0 else ''}int{bits}")()


def _can_represent(bits: int, low: int, high: int) -> bool:
    bound: int = 2 ** (bits - 1)
    return high < 2 * bound if low >= 0 else -bound <= low and high < bound


class CategoricalProfiler:
    """Computes the profile of a categorical feature."""

    def __init__(self, column: Column, max_categories: int) -> None:
        self._column = column
        self._max_categories = max_categories
        self._categories: set[str] = set()
        self._missing = 0

    def add(self, values: pa.Array, first_row: int) -> None:
        """Add a batch. values: text or booleans with nulls, from `Column.convert`."""
        self._missing += values.null_count
        categories = pc.unique(values.cast(pa.string()).drop_null()).to_pylist()
        self._categories.update(categories)
        if any("\0" in category for category in categories):
            raise nul_character(self._column.name)
        if len(self._categories) > self._max_categories:
            raise self._too_many()

    def _too_many(self) -> TooManyCategories:
        detail = (
            f"column {self._column.name!r} has more than {self._max_categories} categories, the limit "
            "BRISTLECONE_MAX_CATEGORIES; exclude it, or declare it as numeric in `types` if it contains numbers"
        )
        return TooManyCategories.at("/file", detail)

    def finish(self) -> FeatureProfile:
        categories = sorted(self._categories)
        return FeatureProfile(
            name=self._column.name,
            kind=ColumnKind.CATEGORICAL,
            missing=self._missing,
            min=None,
            max=None,
            mean=None,
            distinct=len(categories),
            categories=categories,
            storage=narrowest_integer(0, max(0, len(categories) - 1)),
            fits_float32=len(categories) <= _FLOAT32_INTEGERS,
        )


def nul_character(name: str) -> NulCharacter:
    """Return the error of a column with a NUL character."""
    return NulCharacter.at("/file", f"column {name!r} contains text with a NUL character; remove the character")


class TargetProfiler:
    """Computes the profile of the target."""

    def __init__(self, column: Column, max_classes: int) -> None:
        self._column = column
        self._max_classes = max_classes
        self._counts: Counter[Label] = Counter()

    def add(self, values: pa.Array, first_row: int) -> None:
        """Add a batch. values: from `Column.convert`."""
        if values.null_count:
            self._raise_missing(first_row + pc.index(pc.is_null(values), True).as_py())
        for entry in pc.value_counts(values):
            self._counts[entry["values"].as_py()] += entry["counts"].as_py()
        if len(self._counts) > self._max_classes:
            detail = (
                f"the target {self._column.name!r} has more than {self._max_classes} classes; "
                "choose a column of class labels, or group its values into classes"
            )
            raise TooManyClasses.at("/target", detail)

    def _raise_missing(self, row: int) -> None:
        detail = f"the target {self._column.name!r} has no label in row {row}; add the label or remove the row"
        raise MissingLabel.at("/target", detail)

    def finish(self) -> TargetProfile:
        self._check()
        labels = sorted(self._counts)
        counts = [self._counts[label] for label in labels]
        # Beyond 2^53 a float does not stand for one integer alone.
        if all(isinstance(label, float) and label.is_integer() and abs(label) <= 2**53 for label in labels):
            labels = [int(label) for label in labels]
        return TargetProfile(labels, counts)

    def _check(self) -> None:
        if len(self._counts) == 1:
            (label,) = self._counts
            detail = (
                f"the target {self._column.name!r} contains only the class {label!r}, but a model needs at least two; "
                "add rows of another class or choose another target"
            )
            raise SingleClass.at("/target", detail)
        for label in self._counts:
            if isinstance(label, str) and "\0" in label:
                raise nul_character(self._column.name)
            if isinstance(label, float) and math.isinf(label):
                detail = f"the target {self._column.name!r} contains an infinite number; replace it by a finite label"
                raise InfiniteValue.at("/target", detail)
