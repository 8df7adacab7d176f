"""Numbers that probably stand for missing values, such as -9999: at an end of a column, and far from all other values.

Models take them as they are: as the lowest incomes of a table, say.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from app.datasets.upload_warnings import MAX_ROWS, UploadWarning
from app.errors import some_of

#: Numbers that people and programs write for missing ones: 99, -999, 9999.9, 98, 777, and limits of types.
_CODE = re.compile(
    r"-?(?:9{2,}(?:\.9+)?|9+[78]|7{2,}|8{2,}|32767|32768|65535|2147483647|2147483648|3\.4028\d*e\+38|1\.797\d*e\+308)"
)
#: Numbers that are codes where no other number is negative.
_NEGATIVE_CODE = re.compile(r"-[789]")
#: Most codes at one end of a column, such as 97, 98 and 99.
_MAX_CODES = 3
#: Other numbers must be farther from the rest than so many times its range.
_RANGES = 10.0
#: With fewer distinct values, the last one may well be far from the others.
_MIN_DISTINCT = 10
#: More zeros are likely to mean "none".
_MAX_ZERO_SHARE = 0.1
#: Where more of the others end in 9, as prices do, 99 is no code.
_MAX_NINES = 0.3
#: Larger whole numbers are written with an exponent.
_EXACT = 1e15
_SAMPLE_SIZE = 1_000
_SAMPLED_IN_TOTAL = 4_000_000
#: More columns with the same number share a warning.
_MAX_WARNINGS = 3

Number = int | float


@dataclass(frozen=True)
class Placeholder:
    """Number that probably stands for a missing value.

    others: lowest and highest value that does not. rows: the first rows with the number.
    """

    text: str
    count: int
    others: tuple[str, str]
    rows: Sequence[int]


class PlaceholderSearch:
    """Looks for placeholders at both ends of a column of numbers, batch by batch."""

    def __init__(self, n_columns: int, is_float32: bool = False) -> None:
        self._is_float32 = is_float32
        self._ends = (_End(min), _End(max))
        self._sample = _EvenSample(min(_SAMPLE_SIZE, max(10, _SAMPLED_IN_TOTAL // n_columns)))

    def add(self, values: pa.Array, bounds: tuple[Number, Number], first_row: int) -> None:
        """Add a batch of finite numbers, some of which may be null. bounds: lowest and highest one."""
        for end, bound in zip(self._ends, bounds, strict=True):
            end.add(values, bound, first_row)
        self._sample.add(values.drop_null())

    def found(self, distinct: int | None) -> list[Placeholder]:
        """Return the placeholders. distinct: number of distinct values, None for many."""
        low, high = (list(end.seen.items()) for end in self._ends)
        n_low, n_high = self._n_placeholders(low, high, distinct), self._n_placeholders(high, low, distinct)
        if not low or n_low == len(low) or n_high == len(high):
            return []
        others = self._text(low[n_low][0]), self._text(high[n_high][0])
        return [
            Placeholder(self._text(number), seen.count, others, seen.rows)
            for number, seen in (*low[:n_low], *high[:n_high])
        ]

    def _n_placeholders(self, end: "_Extremes", other_end: "_Extremes", distinct: int | None) -> int:
        """Return how many numbers at one end are placeholders. end: numbers from the outermost one on."""
        for n in range(min(_MAX_CODES, len(end) - 1), 0, -1):
            if self._are_codes(end[:n], end[n][0], other_end[0][0]):
                return n
        return int(len(end) > 1 and self._is_far(*end[0], end[1][0], other_end[0][0], distinct))

    def _are_codes(self, outer: "_Extremes", neighbor: Number, last: Number) -> bool:
        """Return whether numbers are codes, apart from the others, which are between `neighbor` and `last`."""
        texts = [self._text(number) for number, _ in outer]
        if any(seen.count < 2 for _, seen in outer) or neighbor == last:
            return False
        if outer[-1][0] < 0 <= neighbor:
            return all(_CODE.fullmatch(text) or _NEGATIVE_CODE.fullmatch(text) for text in texts)
        others = self._sample.without([number for number, _ in outer])
        distance = abs(outer[-1][0] - neighbor)
        are_codes = all(map(_CODE.fullmatch, texts)) and distance > (_spread(others) or abs(neighbor - last))
        return are_codes and self._share_of_nines(others) <= _MAX_NINES

    def _is_far(self, number: Number, seen: "_Seen", neighbor: Number, last: Number, distinct: int | None) -> bool:
        """Return whether a number that is not a code is so far from the others that it hardly is one of them."""
        distance, others_range = abs(number - neighbor), abs(neighbor - last)
        if seen.count < 2 or others_range == 0 or (distinct is not None and distinct < _MIN_DISTINCT):
            return False
        if number == 0 < neighbor and seen.count <= _MAX_ZERO_SHARE * self._sample.n_seen:
            return distance > (_spread(self._sample.without([0])) or others_range)
        return distance > _RANGES * others_range

    def _share_of_nines(self, others: NDArray[np.float64]) -> float:
        texts = [self._text(number) for number in others[:100].tolist()]
        return sum(text.endswith("9") for text in texts) / max(1, len(texts))

    def _text(self, number: Number) -> str:
        """Return a number as people write it: whole ones without a decimal point."""
        if isinstance(number, int) or (number.is_integer() and abs(number) < _EXACT):
            return str(int(number))
        return str(np.float32(number)) if self._is_float32 else repr(float(number))


@dataclass
class _Seen:
    """How often a number occurs, and its first rows."""

    count: int = 0
    rows: list[int] = field(default_factory=list)


_Extremes = list[tuple[Number, _Seen]]


class _End:
    """The lowest or the highest numbers of a column, from the outermost one on.

    pick: min or max.
    """

    def __init__(self, pick: Callable[..., Number]) -> None:
        self._pick = pick
        self.seen: dict[Number, _Seen] = {}

    def add(self, values: pa.Array, bound: Number, first_row: int) -> None:
        if self._has_all(bound):
            return
        for number in self._outermost(values):
            seen = self.seen.setdefault(number, _Seen())
            equal = pc.fill_null(pc.equal(values, pa.scalar(number, values.type)), False)
            rows = np.flatnonzero(equal.to_numpy(zero_copy_only=False))
            seen.count += len(rows)
            seen.rows += (rows[: MAX_ROWS - len(seen.rows)] + first_row).tolist()
        order = sorted(self.seen, reverse=self._pick is max)
        self.seen = {number: self.seen[number] for number in order[: _MAX_CODES + 1]}

    def _has_all(self, bound: Number) -> bool:
        """Return whether all numbers up to `bound`, the outermost one of a batch, are farther in than those seen."""
        last = next(reversed(self.seen), bound)
        return len(self.seen) > _MAX_CODES and last != bound and self._pick(last, bound) == last

    def _outermost(self, values: pa.Array) -> Iterator[Number]:
        end = "min" if self._pick is min else "max"
        for _ in range(_MAX_CODES + 1):
            number = pc.min_max(values)[end].as_py()
            if number is None:
                return
            yield number
            values = values.filter(pc.not_equal(values, pa.scalar(number, values.type)))


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

    def without(self, numbers: Sequence[Number]) -> NDArray[np.float64]:
        return reduce(lambda values, number: values[values != number], numbers, self._values)


def _spread(values: NDArray[np.float64]) -> float:
    """Return the distance between the quartiles, 0 for no values."""
    low, high = np.quantile(values, (0.25, 0.75)) if len(values) else (0.0, 0.0)
    return float(high - low)


def placeholder_warnings(found: Mapping[str, Sequence[Placeholder]]) -> Iterator[UploadWarning]:
    """Yield warnings about columns of numbers. found: by column."""
    columns: dict[str, dict[str, Placeholder]] = {}
    for name, placeholders in found.items():
        for placeholder in placeholders:
            columns.setdefault(placeholder.text, {})[name] = placeholder
    for text, by_column in columns.items():
        if len(by_column) > _MAX_WARNINGS:
            yield _shared_warning(text, list(by_column))
        else:
            yield from (_warning(name, placeholder) for name, placeholder in by_column.items())


def _warning(name: str, placeholder: Placeholder) -> UploadWarning:
    text, (low, high) = placeholder.text, placeholder.others
    finding = (
        f"{placeholder.count:,} values of column {name!r} are {text}, far from all others, which are {low} to {high}"
    )
    return UploadWarning(name, "likely_missing", f"{finding}; {_way_out(text, [name])}", placeholder.rows)


def _shared_warning(text: str, names: Sequence[str]) -> UploadWarning:
    finding = f"{len(names)} columns have {text} far from all other values: {some_of(names)}"
    return UploadWarning(None, "likely_missing", f"{finding}; {_way_out(text, names)}")


def _way_out(text: str, names: Sequence[str]) -> str:
    shown = json.dumps({name: [text] for name in names[:_MAX_WARNINGS]}, ensure_ascii=False)
    nulls = shown if len(names) <= _MAX_WARNINGS else f"{shown[:-1]}, …}}"
    return (
        "models take it as a number. If it means that the value is missing, leave these values empty, or upload the "
        f"table again with nulls={nulls}"
    )
