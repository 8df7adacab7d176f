"""First scan of a column of text: whether all values are plain numbers or booleans."""

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from app.datasets.column_types import ValueType, try_cast
from core import MISSING_TEXTS
from core.service_api import clean_texts


class PlainScan:
    """Types that are still possible for a column, after the values seen so far.

    sample: one of the values, "" if there are none.
    """

    def __init__(self, may_be_numeric: bool, nulls: tuple[str, ...]) -> None:
        self._real = self._integer = may_be_numeric
        self._boolean = True
        self._empty = True
        self._nulls = nulls
        self.sample = ""

    @property
    def values(self) -> ValueType:
        """Type of the values; a column without values is numeric."""
        if self._boolean and not self._empty:
            return ValueType.BOOLEAN
        if self._real or self._empty:
            return ValueType.INTEGER if self._integer and not self._empty else ValueType.REAL
        return ValueType.TEXT

    @property
    def is_fractional(self) -> bool:
        """Whether the values are numbers that are not all whole."""
        return self.values is ValueType.REAL and not self._empty

    @property
    def open(self) -> bool:
        """Whether the type is still unknown."""
        return self._real or self._boolean

    def add(self, array: pa.Array) -> None:
        """Add a batch of text."""
        if not self.open or array.null_count == len(array):
            return
        numbers = self._numbers(array) if self._nulls == MISSING_TEXTS else None
        if numbers is None:
            array = clean_texts(array, self._nulls)
            numbers = self._numbers(array)
        if array.null_count == len(array):
            return
        self._empty = False
        self.sample = self.sample or array[pc.index(pc.is_valid(array), True).as_py()].as_py()
        self._boolean = self._boolean and numbers is None and _all_boolean(array)
        self._real = self._real and numbers is not None
        # Arrow parses 0x1f as an integer but not as a float; it counts as a number only if both succeed.
        self._integer = self._real and self._integer and try_cast(array, pa.int64()) is not None

    def _numbers(self, array: pa.Array) -> pa.Array | None:
        numbers = try_cast(array, pa.float64()) if self._real else None
        # Arrow reads "nan" as a number; whether it is missing is up to the texts that mean so.
        is_plain = numbers is not None and not pc.any(pc.is_nan(numbers)).as_py() and not _has_codes(array)
        return numbers if is_plain else None


def _has_codes(numbers: pa.Array) -> bool:
    """Return whether a value begins with a zero before a digit, such as 01234, -007 or 00.5, which is a code."""
    begins = [pc.starts_with(numbers, sign + "0") for sign in ("", "-", "+")]
    zeros = numbers.filter(reduce(pc.or_, begins))
    # Many are 0 alone, which takes no regular expression to find out.
    longer = zeros.filter(pc.greater(pc.binary_length(zeros), 1))
    return len(longer) > 0 and bool(pc.any(pc.match_substring_regex(longer, r"^[+-]?0\d")).as_py())


def _all_boolean(array: pa.Array) -> bool:
    return bool(pc.all(pc.is_in(pc.utf8_lower(array), pa.array(["true", "false", None]))).as_py())
