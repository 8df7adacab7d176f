"""Profiles of features: counts, ranges and categories, computed batch by batch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.datasets.column_types import Column, ColumnKind, ValueType
from app.datasets.datetime_text import datetime_text
from app.datasets.errors import InfiniteValue, NulCharacter
from app.datasets.ignoring import NumberFacts, Reason, TextFacts, reason_for_numbers, reason_for_text
from app.datasets.placeholders import Placeholder, PlaceholderSearch
from app.datasets.upload_warnings import Place
from app.settings import Limits

#: Distinct values of a numeric column are counted up to this many; if there are more, `distinct` is null. The limit is
#: lower in a wide table, so that all columns together have at most `_MAX_DISTINCT_IN_TOTAL`.
MAX_DISTINCT = 10_000
_MAX_DISTINCT_IN_TOTAL = 8_000_000

_FLOAT32_INTEGERS = 2**24
_BOOLEANS = {"false", "true"}


@dataclass(frozen=True, kw_only=True)
class FeatureProfile:
    """Profile of a feature: an entry of `Dataset.features`, and the Arrow type in which its column is stored.

    reason: why the feature is ignored; None if it is used. categories: None also for ignored text, which may have any
    number of categories and is stored as text. placeholders: numbers that probably stand for missing values.
    """

    column: Column
    missing: int
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    distinct: int | None = None
    categories: list[str] | None = None
    reason: Reason | None = None
    storage: pa.DataType
    fits_float32: bool
    placeholders: Sequence[Placeholder] = ()

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def kind(self) -> ColumnKind:
        return self.column.kind if self.reason is None else ColumnKind.IGNORED

    def as_json(self) -> dict[str, Any]:
        """Return the profile as it is stored in the row of the data set."""
        is_date = self.column.kind is ColumnKind.DATETIME
        numbers = {"min": self.min, "max": self.max, "mean": self.mean}
        texts = {name: None if value is None else datetime_text(value) for name, value in numbers.items()}
        return {
            "name": self.name,
            "kind": str(self.kind),
            "detected": str(self.column.kind),
            "reason": self.reason,
            "missing": self.missing,
            **(texts if is_date else numbers),
            "distinct": self.distinct,
            "categories": self.categories,
            "is_boolean": self.column.values is ValueType.BOOLEAN,
            "reading": self.column.reading.to_json(),
        }


class FeatureProfiler(Protocol):
    """Computes the profile of a feature."""

    def add(self, values: pa.Array, first_row: int) -> None:
        """Add a batch. values: from `Column.convert`. first_row: 0-based number of its first row."""

    def finish(self) -> FeatureProfile: ...


@dataclass(frozen=True)
class FeatureRules:
    """Request and detection result of a feature, which decide with its values whether it is used.

    requested: kind that the upload asks for. unread: whether the column is read as text although most values look
    like numbers or dates. is_float32: whether the file stores numbers of single precision.
    """

    requested: ColumnKind | None = None
    unread: bool = False
    is_float32: bool = False


def feature_profiler(
    column: Column, rules: FeatureRules, n_columns: int, limits: Limits, place: Place
) -> FeatureProfiler:
    """Return a profiler for a feature of a table with `n_columns` columns."""
    if column.kind is ColumnKind.CATEGORICAL:
        return CategoricalProfiler(column, rules, limits)
    return NumericProfiler(column, rules, n_columns, place)


class NumericProfiler:
    """Computes the profile of a feature of numbers or dates."""

    def __init__(self, column: Column, rules: FeatureRules, n_columns: int, place: Place) -> None:
        self._column, self._rules, self._place = column, rules, place
        self._max_distinct = min(MAX_DISTINCT, _MAX_DISTINCT_IN_TOTAL // n_columns)
        self._distinct: np.ndarray | None = np.empty(0)
        self._missing = self._present = 0
        self._min: float | None = None
        self._max: float | None = None
        self._sums: list[float] = []
        self._fits_float32 = True
        self._facts = NumberFacts(column.name)
        self._placeholders = PlaceholderSearch(n_columns, rules.is_float32)

    def add(self, values: pa.Array, first_row: int) -> None:
        """Add a batch. values: integers or float64 with nulls, from `Column.convert`."""
        self._missing += values.null_count
        if values.null_count == len(values):
            return
        self._present += len(values) - values.null_count
        bounds = pc.min_max(values)
        low, high = bounds["min"].as_py(), bounds["max"].as_py()
        if math.isinf(low) or math.isinf(high):
            raise self._infinite(values, first_row)
        self._min = low if self._min is None else min(self._min, low)
        self._max = high if self._max is None else max(self._max, high)
        self._sums.append(pc.sum(values.cast(pa.float64(), safe=False)).as_py())
        self._placeholders.add(values, (low, high), first_row)
        self._note_values(values)

    def _note_values(self, values: pa.Array) -> None:
        if self._column.values is not ValueType.INTEGER and self._fits_float32:
            self._fits_float32 = _fits_float32(values)
        if self._column.values is ValueType.INTEGER:
            self._facts.add(values)
        if self._distinct is not None:
            distinct = pc.unique(values.drop_null()).to_numpy(zero_copy_only=False)
            self._distinct = np.union1d(self._distinct, distinct) if len(self._distinct) else np.sort(distinct)
            if len(self._distinct) > self._max_distinct:
                self._distinct = None

    def _infinite(self, values: pa.Array, first_row: int) -> InfiniteValue:
        index = pc.index(pc.fill_null(pc.is_inf(values), False), True).as_py()
        detail = (
            f"column {self._column.name!r} contains an infinite number in {self._place(first_row + index)}; "
            "replace it by a finite number, leave it empty if it is missing, or leave the column out with `exclude`"
        )
        return InfiniteValue.at("/file", detail)

    def finish(self) -> FeatureProfile:
        distinct = None if self._distinct is None else len(self._distinct)
        profile = FeatureProfile(
            column=self._column,
            missing=self._missing,
            min=self._min,
            max=self._max,
            mean=_mean(self._sums, self._present),
            distinct=distinct,
            storage=self._storage(),
            fits_float32=self._all_fit_float32(),
            placeholders=self._placeholders.found(distinct),
        )
        constant = self._present > 0 and self._min == self._max and not self._missing
        return replace(profile, reason=reason_for_numbers(self._facts, self._present, constant, self._rules.requested))

    def _storage(self) -> pa.DataType:
        if self._column.values is ValueType.INTEGER:
            return narrowest_integer(int(self._min or 0), int(self._max or 0))
        return pa.float32() if self._fits_float32 else pa.float64()

    def _all_fit_float32(self) -> bool:
        if self._column.values is ValueType.INTEGER:
            return max(abs(self._min or 0), abs(self._max or 0)) <= _FLOAT32_INTEGERS
        return self._fits_float32


def _mean(sums: list[float], count: int) -> float | None:
    if not count:
        return None
    mean = math.fsum(total / count for total in sums)
    return mean if math.isfinite(mean) else None


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
    """Computes the profile of a feature of text or booleans."""

    def __init__(self, column: Column, rules: FeatureRules, limits: Limits) -> None:
        self._column, self._rules = column, rules
        self._facts = TextFacts(limits.max_categories, limits.max_text_bytes)

    def add(self, values: pa.Array, first_row: int) -> None:
        """Add a batch. values: text or booleans with nulls, from `Column.convert`."""
        self._facts.add(values)
        if self._facts.has_nul:
            raise nul_character(self._column.name)

    def finish(self) -> FeatureProfile:
        facts, column = self._facts, self._column
        reason = reason_for_text(column, facts, self._rules.requested, self._rules.unread)
        stored_as_text = reason is not None and (facts.too_many or reason not in ("constant", "empty"))
        # A boolean has both categories, even if one of them does not occur.
        present = _BOOLEANS if column.values is ValueType.BOOLEAN else facts.categories
        categories = None if stored_as_text else sorted(present)
        n_codes = len(categories or ())
        return FeatureProfile(
            column=column,
            missing=facts.n_missing,
            distinct=facts.n_distinct,
            categories=categories,
            reason=reason,
            storage=pa.string() if stored_as_text else narrowest_integer(0, max(0, n_codes - 1)),
            fits_float32=n_codes <= _FLOAT32_INTEGERS,
        )


def nul_character(name: str) -> NulCharacter:
    """Return the error of a column with a NUL character."""
    return NulCharacter.at("/file", f"column {name!r} contains text with a NUL character; remove the character")
