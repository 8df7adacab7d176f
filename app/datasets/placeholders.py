"""Numbers that probably stand for missing values, such as -9999: at an end of a column, and far from all other values.

Models take them as they are: as the lowest incomes of a table, say.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from app.datasets.upload_warnings import MAX_ROWS, UploadWarning
from app.errors import some_of

#: Numbers that people and programs write for missing ones: 99, -999, 9999.9, 777, 888, and limits of types.
_CODE = re.compile(
    r"-?(?:9{2,}(?:\.9+)?|7{2,}|8{2,}|32767|32768|65535|2147483647|2147483648|3\.4028\d*e\+38|1\.797\d*e\+308)"
)
#: Other numbers must be farther from the rest than so many times its range.
_RANGES = 10.0
#: With fewer distinct values, the last one may well be far from the others.
_MIN_DISTINCT = 10
#: More zeros are likely to mean "none".
_MAX_ZERO_SHARE = 0.1
#: Larger whole numbers are written with an exponent.
_EXACT = 1e15
_SAMPLE_SIZE = 1_000
_SAMPLED_IN_TOTAL = 4_000_000
#: More columns with the same number share a warning.
_MAX_WARNINGS = 3


@dataclass(frozen=True)
class Placeholder:
    """Number that probably stands for a missing value. others: lowest and highest other value. rows: the first ones."""

    number: int | float
    count: int
    others: tuple[int | float, int | float]
    rows: Sequence[int]


class PlaceholderSearch:
    """Looks for placeholders at both ends of a column of numbers, batch by batch."""

    def __init__(self, n_columns: int) -> None:
        self._ends = (_End(min), _End(max))
        self._sample = _EvenSample(min(_SAMPLE_SIZE, max(10, _SAMPLED_IN_TOTAL // n_columns)))

    def add(self, values: pa.Array, bounds: tuple[int | float, int | float], first_row: int) -> None:
        """Add a batch of finite numbers, some of which may be null. bounds: lowest and highest one."""
        for end, bound in zip(self._ends, bounds, strict=True):
            end.add(values, bound, first_row)
        self._sample.add(values.drop_null())

    def found(self, distinct: int | None) -> list[Placeholder]:
        """Return the placeholders. distinct: number of distinct values, None for many."""
        low, high = self._ends
        return [
            Placeholder(end.value, end.count, _ordered(end.neighbor, other.value), end.rows)
            for end, other in ((low, high), (high, low))
            if self._is_placeholder(end, other, distinct)
        ]

    def _is_placeholder(self, end: "_End", other: "_End", distinct: int | None) -> bool:
        others_differ = math.isfinite(end.neighbor) and end.neighbor != other.value
        if end.count < 2 or not others_differ:
            return False
        distance, others_range = abs(end.value - end.neighbor), abs(end.neighbor - other.value)
        is_code = _CODE.fullmatch(_text(end.value)) is not None
        if is_code and end.value < 0 <= end.neighbor:
            return True
        spread = self._sample.interquartile_range(without=end.value) or others_range
        if is_code:
            return distance > spread
        if distinct is not None and distinct < _MIN_DISTINCT:
            return False
        few_zeros = end.value == 0 < end.neighbor and end.count <= _MAX_ZERO_SHARE * self._sample.n_seen
        return distance > (spread if few_zeros else _RANGES * others_range)


class _End:
    """Lowest or highest value of a column, its number of rows and the first of them, and the value next to it.

    pick: min or max.
    """

    def __init__(self, pick: Callable[..., float]) -> None:
        self._pick = pick
        self.value = self.neighbor = -pick(-math.inf, math.inf)
        self.count = 0
        self.rows: list[int] = []

    def add(self, values: pa.Array, bound: int | float, first_row: int) -> None:
        if self._pick(self.neighbor, bound) == self.neighbor != bound:
            return
        if bound != self.value and self._pick(self.value, bound) == bound:
            self.value, self.neighbor, self.count, self.rows = bound, self.value, 0, []
        is_value = pc.equal(values, pa.scalar(self.value, values.type))
        rest = pc.min_max(values.filter(pc.invert(is_value)))["min" if self._pick is min else "max"].as_py()
        self.neighbor = self.neighbor if rest is None else self._pick(self.neighbor, rest)
        rows = np.flatnonzero(pc.fill_null(is_value, False).to_numpy(zero_copy_only=False))
        self.count += len(rows)
        self.rows += (rows[: MAX_ROWS - len(self.rows)] + first_row).tolist()


class _EvenSample:
    """Values at even distances, the same however they are divided into batches."""

    def __init__(self, size: int) -> None:
        self._size, self._step, self.n_seen = size, 1, 0
        self._values: NDArray[np.float64] = np.empty(0)

    def add(self, values: pa.Array) -> None:
        chosen = np.arange(-self.n_seen % self._step, len(values), self._step)
        numbers = values.take(pa.array(chosen)).cast(pa.float64(), safe=False).to_numpy()
        self._values = np.concatenate([self._values, numbers])
        self.n_seen += len(values)
        while len(self._values) > self._size:
            self._values, self._step = self._values[::2].copy(), self._step * 2

    def interquartile_range(self, without: float) -> float:
        others = self._values[self._values != without]
        if not len(others):
            return 0.0
        low, high = np.quantile(others, (0.25, 0.75))
        return float(high - low)


def placeholder_warnings(found: Mapping[str, Sequence[Placeholder]]) -> Iterator[UploadWarning]:
    """Yield warnings about columns of numbers. found: by column."""
    columns: dict[int | float, dict[str, Placeholder]] = {}
    for name, placeholders in found.items():
        for placeholder in placeholders:
            columns.setdefault(placeholder.number, {})[name] = placeholder
    for number, by_column in columns.items():
        if len(by_column) > _MAX_WARNINGS:
            yield _shared_warning(_text(number), list(by_column))
        else:
            yield from (_warning(name, placeholder) for name, placeholder in by_column.items())


def _warning(name: str, placeholder: Placeholder) -> UploadWarning:
    text, (low, high) = _text(placeholder.number), placeholder.others
    nulls = json.dumps({name: [text]}, ensure_ascii=False)
    detail = (
        f"{placeholder.count:,} values of column {name!r} are {text}, far from all others, which are {_text(low)} to "
        f"{_text(high)}; models take it as a number. If it means that the value is missing, send nulls={nulls}"
    )
    return UploadWarning(name, "likely_missing", detail, placeholder.rows)


def _shared_warning(text: str, names: Sequence[str]) -> UploadWarning:
    detail = (
        f"{len(names)} columns have {text} far from all other values: {some_of(names)}; models take it as a number. If "
        "it means that a value is missing, list it in `nulls`"
    )
    return UploadWarning(None, "likely_missing", detail)


def _ordered(one: int | float, other: int | float) -> tuple[int | float, int | float]:
    return min(one, other), max(one, other)


def _text(number: int | float) -> str:
    """Return a number as people write it: whole ones without a decimal point, and others with few digits."""
    if isinstance(number, int) or (number.is_integer() and abs(number) < _EXACT):
        return str(int(number))
    with np.errstate(over="ignore", under="ignore"):
        short = np.float32(number)
    return str(short if short == number else number)
