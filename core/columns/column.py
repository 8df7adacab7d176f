"""How the cells of one feature become numbers, as fitted."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core.columns.arrow_types import is_number, is_temporal, is_text, plain_array
from core.columns.category_codes import CategoryCodes
from core.columns.datetimes import parse_datetimes, seconds_of_temporal
from core.columns.reading import DEFAULT_READING, TextReading
from core.columns.texts import parse_numbers, without_null_numbers
from core.exceptions import InvalidInput

BOOLEAN_CATEGORIES = ("false", "true")


class ColumnKind(StrEnum):
    """Kind of a feature."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    DATETIME = "datetime"


_SUITABLE_TYPES = {
    ColumnKind.NUMERIC: "numbers, or text that contains numbers",
    ColumnKind.CATEGORICAL: "text, booleans, numbers or dates",
    ColumnKind.DATETIME: "dates, timestamps, or text that contains dates",
}


class EncodedCells(NamedTuple):
    """Cells of a column as numbers (row,).

    values: NaN = missing, and where one of the masks is set.
    invalid: whether a cell is present but is not a finite number or a date.
    unknown: whether a cell is a category that the column does not have.
    """

    values: NDArray[np.float64]
    invalid: NDArray[np.bool_]
    unknown: NDArray[np.bool_]


@dataclass(frozen=True)
class Column:
    """How the cells of one feature become numbers.

    A number stays as it is, a date becomes seconds since 1970-01-01 in UTC, and a category its index in `categories`.
    categories: sorted distinct texts, None unless the kind is categorical.
    is_boolean: whether the categories are "false" and "true", which are read in any case.
    reading: how cells of text are read.
    """

    name: str
    kind: ColumnKind
    categories: tuple[str, ...] | None = None
    is_boolean: bool = False
    reading: TextReading = DEFAULT_READING

    def __post_init__(self) -> None:
        if not isinstance(self.kind, ColumnKind):
            kinds = ", ".join(f"ColumnKind.{kind.name}" for kind in ColumnKind)
            raise InvalidInput(
                f"the kind of column {self.name!r:.100} is {self.kind!r:.100}; it must be one of {kinds}."
            )
        if (self.categories is None) == (self.kind is ColumnKind.CATEGORICAL):
            raise InvalidInput(f"column {self.name!r:.100} must have categories if it is categorical, and only then.")
        if self.categories is not None and len(set(self.categories)) != len(self.categories):
            raise InvalidInput(f"the categories of column {self.name!r:.100} are not distinct; list each of them once.")
        if self.is_boolean and self.categories != BOOLEAN_CATEGORIES:
            raise InvalidInput(f"the boolean column {self.name!r:.100} must have the categories 'false' and 'true'.")

    def to_json(self) -> dict[str, Any]:
        """Return the column as JSON, without what is the default."""
        json: dict[str, Any] = {"name": self.name, "kind": str(self.kind)}
        if self.categories is not None:
            json |= {"categories": list(self.categories), "is_boolean": self.is_boolean}
        reading = self.reading.to_json()
        return json | ({"reading": reading} if reading else {})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the column of a mapping with the keys of `to_json`; others are ignored.

        Without `is_boolean`, the categories "false" and "true" are those of a boolean column.

        Raises InvalidInput, InvalidParameter, and KeyError, TypeError or ValueError for values of a wrong type.
        """
        name, categories = value["name"], value.get("categories")
        if not isinstance(name, str):
            raise InvalidInput(f"the name of a column is {name!r:.100}; it must be text.")
        if categories is not None:
            if not (isinstance(categories, list) and all(isinstance(text, str) for text in categories)):
                raise InvalidInput(f"the categories of column {name!r:.100} must be a list of texts.")
            categories = tuple(categories)
        "".join((name, *(categories or ()))).encode()  # a lone surrogate, which Arrow would refuse later
        is_boolean = value.get("is_boolean", categories == BOOLEAN_CATEGORIES)
        if not isinstance(is_boolean, bool):
            raise InvalidInput(f"is_boolean of column {name!r:.100} is {is_boolean!r:.100}; it must be true or false.")
        reading = TextReading.from_json(value.get("reading"))
        return cls(name, ColumnKind(value["kind"]), categories, is_boolean, reading)

    def encode(self, cells: pa.Array | pa.ChunkedArray) -> EncodedCells:
        """Return Arrow values of any type as numbers. Raises InvalidInput if the type does not suit the kind."""
        array = plain_array(cells)
        if array.null_count == len(array):
            return _encoded(pa.nulls(len(array), pa.float64()))
        if self.kind is ColumnKind.CATEGORICAL:
            return self._encode_categories(array)
        if is_text(array.type):
            parse = parse_numbers if self.kind is ColumnKind.NUMERIC else parse_datetimes
            return _encoded(*parse(array, self.reading))
        if self.kind is ColumnKind.NUMERIC and is_number(array.type):
            return _finite(without_null_numbers(array, self.reading).cast(pa.float64(), safe=False))
        if self.kind is ColumnKind.DATETIME and is_temporal(array.type):
            return _encoded(seconds_of_temporal(array))
        raise InvalidInput(self._unsuitable(array.type))

    def _encode_categories(self, array: pa.Array) -> EncodedCells:
        if is_text(array.type) or is_temporal(array.type):
            return _encoded_codes(*self.codes.of_texts(array.cast(pa.string())))
        if pa.types.is_boolean(array.type) or (is_number(array.type) and not self.is_boolean):
            return _encoded_codes(*self.codes.of_values(array))
        raise InvalidInput(self._unsuitable(array.type))

    def _unsuitable(self, stored: pa.DataType) -> str:
        types = "booleans, or text true and false" if self.is_boolean else _SUITABLE_TYPES[self.kind]
        kind = "boolean" if self.is_boolean else str(self.kind)
        return f"column {self.name!r:.100} has the type {stored!s:.80}, but its kind is {kind}; pass {types}."

    @property
    def rule(self) -> str:
        """How a value must be written, as the end of an error message."""
        if self.kind is ColumnKind.NUMERIC:
            return f"write a finite number such as {self.reading.number_example}, or leave it empty if it is missing"
        if self.kind is ColumnKind.DATETIME:
            return f"write a date {self.reading.date_example}, or leave it empty if it is missing"
        return "write a category that occurred in training, or leave it empty if it is missing"

    @cached_property
    def codes(self) -> CategoryCodes:
        """The codes of the categories of a categorical column."""
        return CategoryCodes(self.categories or (), self.is_boolean, self.reading)


def _encoded(values: pa.Array, invalid: pa.Array | None = None) -> EncodedCells:
    none = np.zeros(len(values), dtype=np.bool_)
    return EncodedCells(_floats(values), none if invalid is None else _mask(invalid), none)


def _encoded_codes(codes: pa.Array, unknown: pa.Array) -> EncodedCells:
    return EncodedCells(_floats(codes.cast(pa.float64())), np.zeros(len(codes), dtype=np.bool_), _mask(unknown))


def _finite(numbers: pa.Array) -> EncodedCells:
    values = _floats(numbers)
    infinite = np.isinf(values)
    return EncodedCells(np.where(infinite, np.nan, values), infinite, np.zeros(len(values), dtype=np.bool_))


def _floats(values: pa.Array) -> NDArray[np.float64]:
    floats: NDArray[np.float64] = pc.fill_null(values, np.nan).to_numpy(zero_copy_only=False)
    return floats


def _mask(values: pa.Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = values.to_numpy(zero_copy_only=False)
    return mask
