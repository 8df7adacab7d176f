"""Single cells as numbers, by the rules of their column.

The values are those of `Column.encode`, which reads whole columns and takes longer for one cell than predicting it.
"""

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa

from core.columns.column import Column, ColumnKind
from core.columns.date_forms import date_pattern
from core.columns.datetimes import seconds_of_fields
from core.columns.reading import TextReading, compiled_number, number_of_text

_PLAIN_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?")


class CellFault(Enum):
    """Reason why a cell has no value."""

    INVALID = "invalid"  #: the cell is not a finite number, or not a date
    UNKNOWN = "unknown"  #: the cell is a category that the column does not have


def encode_cell(column: Column, cell: Any) -> float | CellFault:
    """Return one cell as a number, NaN if it is missing. The cell is text, a number, a boolean or None."""
    if cell is None or (type(cell) in (int, float) and cell in column.reading.null_numbers):
        return math.nan
    if column.kind is ColumnKind.CATEGORICAL:
        return _code(column, cell)
    if isinstance(cell, str):
        return _value_of_text(column, cell)
    if column.kind is ColumnKind.NUMERIC and type(cell) in (int, float):
        return _finite(cell)
    return CellFault.INVALID


def text_encoder(column: Column) -> Callable[[str], float | CellFault]:
    """Return a function that does what `encode_cell` does with cells of text, prepared for many calls."""
    reading = column.reading
    is_plain = (reading.decimal, reading.thousands, reading.percent) == (".", "", False)
    if column.kind is ColumnKind.NUMERIC and is_plain:
        return _plain_number_encoder(column)
    return partial(encode_cell, column)


def _plain_number_encoder(column: Column) -> Callable[[str], float | CellFault]:
    is_number, nulls = compiled_number(column.reading).fullmatch, column.reading.null_numbers

    def encode(text: str) -> float | CellFault:
        number = _float(text) if is_number(text) else None
        return encode_cell(column, text) if number is None or number in nulls else number

    return encode


def _float(number: str) -> float | None:
    """Return a finite number, None for others and for signs that `float` does not read."""
    try:
        value = float(number)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _finite(cell: int | float) -> float | CellFault:
    try:
        number = float(cell)
    except OverflowError:
        return CellFault.INVALID
    return number if math.isfinite(number) else CellFault.INVALID


def _value_of_text(column: Column, text: str) -> float | CellFault:
    plain = text.strip(" ")
    if plain in column.reading.nulls:
        return math.nan
    is_number = column.kind is ColumnKind.NUMERIC
    value = (number_of_text if is_number else _date)(plain, column.reading)
    if value is None:
        return _encoded_text(column, text, CellFault.INVALID)
    return math.nan if is_number and value in column.reading.null_numbers else value


def _date(text: str, reading: TextReading) -> float | None:
    """Return a date as `parse_datetimes` reads it, None for others and ISO 8601 with fractions or a zone."""
    if reading.dates is None:
        return _plain_date(text)
    match = _compiled_date(reading.dates).fullmatch(text)
    return None if match is None else seconds_of_fields(match.groupdict())


@lru_cache(maxsize=256)
def _compiled_date(form: str) -> re.Pattern[str]:
    return re.compile(date_pattern(form), re.ASCII)


def _plain_date(text: str) -> float | None:
    if not _PLAIN_DATE.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _encoded_text(column: Column, text: str, fault: CellFault) -> float | CellFault:
    try:
        encoded = column.encode(pa.array([text], pa.string()))
    except UnicodeEncodeError:  # a lone surrogate
        return fault
    return fault if encoded.invalid[0] or encoded.unknown[0] else float(encoded.values[0])


def _code(column: Column, cell: Any) -> float | CellFault:
    if isinstance(cell, str):
        code = column.codes.by_text.get(cell)
        if code is None and cell.strip(" ") in column.reading.nulls:
            return math.nan
        return _encoded_text(column, cell, CellFault.UNKNOWN) if code is None else code
    if isinstance(cell, float) and not math.isfinite(cell):
        return CellFault.INVALID
    is_suitable = isinstance(cell, bool) or (isinstance(cell, int | float) and not column.is_boolean)
    code = column.codes.of_value(cell) if is_suitable else None
    return CellFault.UNKNOWN if code is None else code
