"""Single cells as numbers, by the rules of their column.

The values are those of `Column.encode`, which reads whole columns and takes longer for one cell than predicting it.
"""

import math
import re
from enum import Enum
from typing import Any

import pyarrow as pa

from core.columns.column import Column, ColumnKind
from core.columns.reading import MISSING_TEXTS

_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,14})?")


class CellFault(Enum):
    """Reason why a cell has no value."""

    INVALID = "invalid"  #: the cell is not a finite number, or not a date
    UNKNOWN = "unknown"  #: the cell is a category that the column does not have


def encode_cell(column: Column, cell: Any) -> float | CellFault:
    """Return one cell as a number, NaN if it is missing. The cell is text, a number, a boolean or None."""
    if cell is None:
        return math.nan
    if column.kind is ColumnKind.CATEGORICAL:
        return _code(column, cell)
    if isinstance(cell, str):
        return _value_of_text(column, cell)
    if column.kind is ColumnKind.NUMERIC and type(cell) in (int, float):
        return _finite(cell)
    return CellFault.INVALID


def _finite(cell: int | float) -> float | CellFault:
    try:
        number = float(cell)
    except OverflowError:
        return CellFault.INVALID
    return number if math.isfinite(number) else CellFault.INVALID


def _value_of_text(column: Column, text: str) -> float | CellFault:
    has_plain_numbers = column.reading.decimal == "." and column.reading.nulls == MISSING_TEXTS
    if column.kind is ColumnKind.NUMERIC and has_plain_numbers and _PLAIN_NUMBER.fullmatch(text):
        return float(text)  # most numbers in queries
    return _encoded_text(column, text, CellFault.INVALID)


def _encoded_text(column: Column, text: str, fault: CellFault) -> float | CellFault:
    try:
        encoded = column.encode(pa.array([text], pa.string()))
    except UnicodeEncodeError:  # a lone surrogate
        return fault
    return fault if encoded.invalid[0] or encoded.unknown[0] else float(encoded.values[0])


def _code(column: Column, cell: Any) -> float | CellFault:
    if isinstance(cell, str):
        code = column.codes.by_text.get(cell)
        return _encoded_text(column, cell, CellFault.UNKNOWN) if code is None else code
    if isinstance(cell, float) and not math.isfinite(cell):
        return CellFault.INVALID
    is_suitable = isinstance(cell, bool) or (isinstance(cell, int | float) and not column.is_boolean)
    code = column.codes.of_value(cell) if is_suitable else None
    return CellFault.UNKNOWN if code is None else code
