"""Types of columns, detected from the whole file, and conversion of columns to their types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from app.datasets.errors import NotNumeric, NotUtf8, UnsupportedColumnType, column_pointer
from app.datasets.reading import TableReader
from core import MISSING_TEXTS


class ColumnKind(StrEnum):
    """Kind of a column that is used as a feature."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"


class ValueType(StrEnum):
    """Type of the values of a column."""

    INTEGER = "integer"
    REAL = "real"
    BOOLEAN = "boolean"
    TEXT = "text"

    @property
    def kind(self) -> ColumnKind:
        return ColumnKind.NUMERIC if self in (ValueType.INTEGER, ValueType.REAL) else ColumnKind.CATEGORICAL


@dataclass(frozen=True)
class Column:
    """Column and its type.

    from_text: whether the file has no types; then surrounding blanks and texts that mean "missing" are removed.
    """

    name: str
    values: ValueType
    from_text: bool

    @property
    def kind(self) -> ColumnKind:
        return self.values.kind

    def convert(self, array: pa.Array) -> pa.Array:
        """Return `array` as integers of any width, float64, bool or string. Missing values, NaN included, are null."""
        match self.values:
            case ValueType.INTEGER:
                return array if pa.types.is_integer(array.type) else _cast(array, pa.int64())
            case ValueType.REAL:
                return _null_instead_of_nan(_cast(array, pa.float64()))
            case ValueType.BOOLEAN:
                return array if pa.types.is_boolean(array.type) else pc.equal(pc.utf8_lower(_clean(array)), "true")
        text = _clean(as_text(array)) if self.from_text else as_text(array)
        return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def resolve_columns(
    reader: TableReader, names: Sequence[str], requested: Mapping[str, ColumnKind]
) -> dict[str, Column]:
    """Return the type of each column: the requested one, otherwise the one that all of its values have.

    Text is numeric if every value that is present is a number, and boolean if every one is true or false. A column
    without values is numeric.

    Raises:
        UnsupportedColumnType: the file declares dates, lists or the like.
        NotNumeric: a column is requested as numeric, but a value is not a number.
    """
    resolved = {name: _declared(name, reader, requested.get(name)) for name in names}
    undecided = {
        name: _TextColumn(may_be_numeric=requested.get(name) is not ColumnKind.CATEGORICAL)
        for name, values in resolved.items()
        if values is None
    }
    _decide(reader, undecided, requested)
    return {name: Column(name, values or undecided[name].values, reader.is_text) for name, values in resolved.items()}


def _decide(reader: TableReader, undecided: Mapping[str, "_TextColumn"], requested: Mapping[str, ColumnKind]) -> None:
    if not undecided:
        return
    first_row = 1
    for batch in reader.batches(list(undecided)):
        for name, array in zip(undecided, batch.columns, strict=True):
            undecided[name].add(as_text(array), first_row)
            if requested.get(name) is ColumnKind.NUMERIC:
                _require_numeric(name, undecided[name])
        first_row += batch.num_rows


def _require_numeric(name: str, column: "_TextColumn") -> None:
    if column.first_text is not None:
        row, value = column.first_text
        detail = (
            f"column {name!r} must be numeric according to types, but row {row} contains {value[:80]!r}; "
            "correct the value, leave it empty if it is missing, or make the column categorical"
        )
        raise NotNumeric.at(column_pointer("types", name), detail)


def _declared(name: str, reader: TableReader, requested: ColumnKind | None) -> ValueType | None:
    """Return the type that the file or the request declares, or None if it has to be detected from text."""
    stored = reader.schema.field(name).type
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if _is_text(stored):
        # In a file with types, a column of text is meant as text.
        return None if reader.is_text or requested is ColumnKind.NUMERIC else ValueType.TEXT
    declared = _value_type(name, stored)
    if requested is None or requested is declared.kind:
        return declared
    return ValueType.TEXT if requested is ColumnKind.CATEGORICAL else ValueType.INTEGER


def _value_type(name: str, stored: pa.DataType) -> ValueType:
    types = pa.types
    if types.is_boolean(stored):
        return ValueType.BOOLEAN
    if types.is_integer(stored):
        return ValueType.INTEGER
    if types.is_floating(stored) or types.is_decimal(stored) or types.is_null(stored):
        return ValueType.REAL
    raise _unsupported(name, stored)


def _is_text(stored: pa.DataType) -> bool:
    return bool(pa.types.is_string(stored) or pa.types.is_large_string(stored) or pa.types.is_string_view(stored))


def _unsupported(name: str, stored: pa.DataType) -> UnsupportedColumnType:
    detail = (
        f"column {name!r} has the type {str(stored)[:80]}; it must contain numbers, booleans or text. Leave it out "
        "with `exclude`, or convert it to one of these types"
    )
    return UnsupportedColumnType.at("/file", detail)


class _TextColumn:
    """Types that are still possible for a column of text, after the values seen so far."""

    def __init__(self, may_be_numeric: bool) -> None:
        self._real = self._integer = may_be_numeric
        self._boolean = True
        self._empty = True
        self.first_text: tuple[int, str] | None = None

    @property
    def values(self) -> ValueType:
        if self._boolean and not self._empty:
            return ValueType.BOOLEAN
        if self._real:
            return ValueType.INTEGER if self._integer and not self._empty else ValueType.REAL
        return ValueType.TEXT

    def add(self, array: pa.Array, first_row: int) -> None:
        if not (self._real or self._boolean) or array.null_count == len(array):
            return
        numbers = _try_cast(array, pa.float64()) if self._real else None
        if numbers is None:
            array = _clean(array)
            numbers = _try_cast(array, pa.float64()) if self._real else None
        if array.null_count == len(array):
            return
        self._empty = False
        self._boolean = self._boolean and numbers is None and _all_boolean(array)
        if self._real and numbers is None:
            self._real = self._integer = False
            index = _first_text(array)
            self.first_text = first_row + index, array[index].as_py()
        # Arrow parses 0x1f as an integer but not as a float; it counts as a number only if both succeed.
        self._integer = self._integer and _try_cast(array, pa.int64()) is not None


def _all_boolean(array: pa.Array) -> bool:
    return bool(pc.all(pc.is_in(pc.utf8_lower(array), pa.array(["true", "false", None]))).as_py())


def _first_text(array: pa.Array) -> int:
    """Return the index of the first value that is not a number, by bisection over prefixes that can be cast."""
    numbers, texts = 0, len(array)
    while texts - numbers > 1:
        middle = (numbers + texts) // 2
        if _try_cast(array.slice(0, middle), pa.float64()) is None:
            texts = middle
        else:
            numbers = middle
    return numbers


def as_text(array: pa.Array) -> pa.Array:
    """Return the values as text, whole numbers without a decimal point. Missing values are null."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if _is_text(array.type):
        _require_utf8(array)
        return array if array.type == pa.string() else array.cast(pa.string())
    if pa.types.is_floating(array.type):
        array = _null_instead_of_nan(array)
    return array.cast(pa.string())


def _require_utf8(array: pa.Array) -> None:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise NotUtf8.at("/file", "a column of text contains bytes that are not UTF-8; encode it as UTF-8") from error


def _clean(array: pa.Array) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(array)
    missing = pc.is_in(trimmed, pa.array(MISSING_TEXTS))
    return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)


def _cast(array: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if _is_text(array.type):
        numbers = _try_cast(array, target)
        return numbers if numbers is not None else _clean(array).cast(target)
    return array.cast(target, safe=False)


def _try_cast(array: pa.Array, target: pa.DataType) -> pa.Array | None:
    try:
        return array.cast(target)
    except pa.ArrowInvalid:
        return None


def _null_instead_of_nan(array: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
