"""Kinds of columns, and conversion of their cells to values."""

from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from app.datasets.errors import NotUtf8, UnsupportedColumnType
from core import MISSING_TEXTS, TextReading
from core.service_api import (
    clean_texts,
    is_number,
    is_text,
    parse_booleans,
    parse_datetimes,
    parse_numbers,
    plain_array,
    seconds_of_temporal,
    with_hyphens,
    without_null_numbers,
)


class ColumnKind(StrEnum):
    """Kind of a feature. Models do not see ignored ones."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    DATETIME = "datetime"
    IGNORED = "ignored"


class ValueType(StrEnum):
    """Type of the values of a column."""

    INTEGER = "integer"
    REAL = "real"
    BOOLEAN = "boolean"
    TEXT = "text"
    DATETIME = "datetime"

    @property
    def kind(self) -> ColumnKind:
        match self:
            case ValueType.INTEGER | ValueType.REAL:
                return ColumnKind.NUMERIC
            case ValueType.DATETIME:
                return ColumnKind.DATETIME
        return ColumnKind.CATEGORICAL


DEFAULT_READING = TextReading()


@dataclass(frozen=True)
class Column:
    """Column and the type of its values.

    reading: how cells of text are read.
    """

    name: str
    values: ValueType
    reading: TextReading = DEFAULT_READING

    @property
    def kind(self) -> ColumnKind:
        return self.values.kind

    def convert(self, array: pa.Array) -> pa.Array:
        """Return `array` as integers of any width, float64, bool or string; dates as seconds since 1970-01-01 in UTC.

        Missing values, NaN included, are null.
        """
        match self.values:
            case ValueType.INTEGER:
                return self._number(array, pa.int64())
            case ValueType.REAL:
                return _null_instead_of_nan(self._number(array, pa.float64()))
            case ValueType.BOOLEAN:
                array = plain_array(array)
                return array if pa.types.is_boolean(array.type) else parse_booleans(array, self.reading).values
            case ValueType.DATETIME:
                return self._seconds(array)
        return self._text(array)

    def _number(self, array: pa.Array, target: pa.DataType) -> pa.Array:
        array = plain_array(array)
        if not is_text(array.type):
            known = without_null_numbers(array, self.reading)
            keeps_type = target == pa.int64() and pa.types.is_integer(known.type)
            return known if keeps_type else known.cast(target, safe=False)
        if not is_plain(self.reading):
            return parse_numbers(array, self.reading).values
        # Arrow reads some texts as numbers that may be among the missing ones, such as 007 or inf.
        numbers = try_cast(array, target) if self.reading.nulls == MISSING_TEXTS else None
        if numbers is None:
            numbers = with_hyphens(clean_texts(array, self.reading.nulls)).cast(target)
        return without_null_numbers(numbers, self.reading)

    def _seconds(self, array: pa.Array) -> pa.Array:
        array = plain_array(array)
        if not is_text(array.type):
            return seconds_of_temporal(array)
        # Dates repeat, and reading one takes much longer than finding it again.
        encoded = array.dictionary_encode()
        return parse_datetimes(encoded.dictionary, self.reading).values.take(encoded.indices)

    def _text(self, array: pa.Array) -> pa.Array:
        array = plain_array(array)
        if is_number(array.type):
            array = without_null_numbers(array, self.reading)
        text = as_text(array)
        return clean_texts(text, self.reading.nulls) if is_text(array.type) else text


def is_plain(reading: TextReading) -> bool:
    """Return whether numbers are written as Arrow reads them, but for the minus: with a decimal point only."""
    return reading.decimal == "." and not reading.thousands and not reading.percent


def declared_values(name: str, stored: pa.DataType) -> ValueType | None:
    """Return the type that a file declares for a column; None for text, whose type has to be detected.

    Raises:
        UnsupportedColumnType: lists, bytes and the like.
    """
    types = pa.types
    if types.is_dictionary(stored):
        declared = declared_values(name, stored.value_type)
        # Who declares text as categories means categories.
        return ValueType.TEXT if declared is None else declared
    if is_text(stored):
        return None
    if types.is_boolean(stored):
        return ValueType.BOOLEAN
    if types.is_integer(stored):
        return ValueType.INTEGER
    if types.is_floating(stored) or types.is_decimal(stored) or types.is_null(stored):
        return ValueType.REAL
    if types.is_timestamp(stored) or types.is_date(stored):
        return ValueType.DATETIME
    raise _unsupported(name, stored)


def _unsupported(name: str, stored: pa.DataType) -> UnsupportedColumnType:
    shown = str(stored)[:80]
    finding = f"contains arrays or objects ({shown})" if pa.types.is_nested(stored) else f"has the type {shown}"
    detail = (
        f"column {name!r} {finding}; it must contain numbers, booleans, dates, timestamps or text. Leave it out with "
        "`exclude`, or convert it to one of these types"
    )
    return UnsupportedColumnType.at("/file", detail)


def as_text(array: pa.Array) -> pa.Array:
    """Return the values as text, whole numbers without a decimal point. Missing values are null."""
    array = plain_array(array)
    if is_text(array.type):
        _require_utf8(array)
        return array if array.type == pa.string() else array.cast(pa.string())
    if pa.types.is_floating(array.type):
        array = _null_instead_of_nan(array)
    return array.cast(pa.string())


def distinct_text(array: pa.Array) -> pa.Array:
    """Return the values as text; those of a dictionary only once each."""
    if pa.types.is_dictionary(array.type):
        array = plain_array(array.dictionary).take(pc.unique(array.indices))
    return as_text(array)


def _require_utf8(array: pa.Array) -> None:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise NotUtf8.at("/file", "a column of text contains bytes that are not UTF-8; encode it as UTF-8") from error


def try_cast(array: pa.Array, target: pa.DataType) -> pa.Array | None:
    """Return the values with another type, or None if Arrow cannot cast all of them."""
    try:
        return array.cast(target)
    except pa.ArrowInvalid:
        return None


def _null_instead_of_nan(array: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
