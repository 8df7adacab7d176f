"""Conversion of a `Table` of cells to the matrix of an estimator, by the same rules for every form of input."""

import math
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import core
from app.errors import Invalid, nearest, some_of
from app.predictions.errors import (
    MAX_REPORTED,
    Faults,
    MissingFeature,
    NotADate,
    NotANumber,
    UnknownCategory,
    UnknownFeature,
)
from app.predictions.forms import ABSENT, Table, shown
from core import Column, ColumnKind
from core.service_api import CellFault, EncodedCells, encode_cell


@dataclass(frozen=True)
class Leniency:
    """Treatment of inputs that are refused by default."""

    on_unknown: Literal["error", "missing"] = "error"
    on_missing: Literal["error", "missing"] = "error"
    extra: Literal["error", "ignore"] = "error"


class FeatureEncoder:
    """Encoder for the features of a trained model, in the order of the columns of X.

    left_out: other columns of the training data, such as the target, which rows may have.
    """

    def __init__(self, columns: Sequence[Column], left_out: Iterable[str] = ()) -> None:
        self.columns = tuple(columns)
        self.names = tuple(column.name for column in self.columns)
        self.known = frozenset(self.names)
        self.left_out = frozenset(left_out)

    def matrix(self, table: Table, leniency: Leniency, faults: Faults) -> NDArray[np.float64]:
        """Return X (row, feature), with NaN for missing values.

        Raises:
            Invalid: the first of `faults`, including those that were added before this call; it lists the others.
        """
        if leniency.extra == "error":
            self._refuse_unknown(table, faults)
        X = np.empty((table.n_rows, len(self.columns)), dtype=np.float64)
        reader = _CellReader(table, leniency, faults)
        for j, column in enumerate(self.columns):
            if faults.full:
                break
            X[:, j] = reader.numbers(column)
        faults.raise_if_any()
        return X

    def _refuse_unknown(self, table: Table, faults: Faults) -> None:
        for pointer, name in table.unknown:
            if name in self.left_out:
                continue
            detail = f"the model has no feature {name!r:.100}; its features are {some_of(self.names)}"
            faults.add(UnknownFeature, pointer, f"{detail}{nearest(name, self.names)}")
            if faults.full:
                break


_KINDS_OF_FAULTS: dict[ColumnKind, type[Invalid]] = {
    ColumnKind.NUMERIC: NotANumber,
    ColumnKind.CATEGORICAL: UnknownCategory,
    ColumnKind.DATETIME: NotADate,
}


class _CellReader:
    """Reader of the cells of a table that reports those that cannot be read."""

    def __init__(self, table: Table, leniency: Leniency, faults: Faults) -> None:
        self._table = table
        self._leniency = leniency
        self._faults = faults

    def numbers(self, column: Column) -> NDArray[np.float64] | float:
        """Return the cells of a column as numbers, or one number for all of its rows."""
        cells = self._table.columns.get(column.name)
        if cells is None:
            return self._absent(column, None)
        if isinstance(cells, pa.Array):
            return self._array(column, cells)
        if len(cells) == 1:
            return self._number(column, 0, cells[0])
        present = self._without_absent(column, cells)
        types = set(map(type, present)) - {NoneType}
        if types == {str}:
            return self._texts(column, present)
        is_plain = types <= {int, float} and column.kind is ColumnKind.NUMERIC
        values = _plain_numbers(present, column.reading.null_numbers) if is_plain else None
        return self._one_by_one(column, present) if values is None else values

    def _without_absent(self, column: Column, cells: Sequence[Any]) -> Sequence[Any]:
        """Return the cells with None for those that are absent, after they were reported."""
        if ABSENT not in cells:
            return cells
        for i, cell in enumerate(cells):
            if cell is ABSENT and not self._faults.full:
                self._absent(column, i)
        return [None if cell is ABSENT else cell for cell in cells]

    def _texts(self, column: Column, cells: Sequence[str | None]) -> NDArray[np.float64]:
        """Return cells of text as numbers, all at once."""
        return self._checked(column, column.encode(_arrow_texts(cells)), cells.__getitem__)

    def _array(self, column: Column, cells: pa.Array) -> NDArray[np.float64] | float:
        """Return an Arrow array of any type as numbers."""
        try:
            encoded = column.encode(cells)
        except (core.InvalidInput, pa.ArrowException):
            return self._unsuitable(column, cells.type)
        return self._checked(column, encoded, lambda i: cells[i].as_py())

    def _checked(self, column: Column, encoded: EncodedCells, cell: Callable[[int], Any]) -> NDArray[np.float64]:
        """Return the numbers of a column, after the cells that have none were reported."""
        for i in np.flatnonzero(encoded.invalid | encoded.unknown)[:MAX_REPORTED].tolist():
            self._refuse(column, i, cell(i), CellFault.INVALID if encoded.invalid[i] else CellFault.UNKNOWN)
        return encoded.values

    def _unsuitable(self, column: Column, stored: pa.DataType) -> float:
        """Report a column whose type does not suit its kind, as its cells would be one by one in JSON."""
        if column.kind is not ColumnKind.CATEGORICAL or self._leniency.on_unknown == "error":
            kind = _KINDS_OF_FAULTS[column.kind]
            detail = f"the column has the Arrow type {stored!s:.80}; {column.rule}"
            self._faults.add(kind, self._table.pointer_to(column.name, None), detail)
        return math.nan

    def _one_by_one(self, column: Column, cells: Sequence[Any]) -> NDArray[np.float64]:
        values = np.full(len(cells), np.nan)
        for i, cell in enumerate(cells):
            values[i] = self._number(column, i, cell)
            if self._faults.full:
                break
        return values

    def _number(self, column: Column, i: int, cell: Any) -> float:
        if cell is ABSENT:
            return self._absent(column, i)
        number = encode_cell(column, cell)
        if not isinstance(number, CellFault):
            return number
        self._refuse(column, i, cell, number)
        return math.nan

    def _refuse(self, column: Column, i: int, cell: Any, fault: CellFault) -> None:
        pointer = self._table.pointer_to(column.name, i)
        if fault is CellFault.INVALID:
            kind, noun = (NotADate, "date") if column.kind is ColumnKind.DATETIME else (NotANumber, "finite number")
            self._faults.add(kind, pointer, f"{shown(cell)} is not a {noun}; {column.rule}")
        elif self._leniency.on_unknown == "error":
            known = some_of(column.categories or ())
            detail = (
                f"the category {shown(cell)} did not occur in training; give one of {known}, or set on_unknown=missing "
                "to treat all unknown categories as missing"
            )
            self._faults.add(UnknownCategory, pointer, detail)

    def _absent(self, column: Column, i: int | None) -> float:
        if self._leniency.on_missing == "error":
            detail = (
                f"the feature {column.name!r:.100} is not named; give it a value, or null if it is missing, or set "
                f"on_missing=missing to treat all absent features as missing{self._table.spelling(column.name)}"
            )
            self._faults.add(MissingFeature, self._table.pointer_to(column.name, i), detail)
        return math.nan


def _arrow_texts(cells: Sequence[str | None]) -> pa.Array:
    try:
        return pa.array(cells, pa.string())
    except UnicodeEncodeError:  # Lone surrogates become text that is no value.
        replaced = [None if cell is None else cell.encode("utf-8", "backslashreplace").decode() for cell in cells]
        return pa.array(replaced, pa.string())


def _plain_numbers(cells: Sequence[int | float | None], nulls: Set[float]) -> NDArray[np.float64] | None:
    """Return the cells as an array, NaN for numbers in `nulls`, or None if one of the cells is not finite."""
    try:
        values = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    except OverflowError:
        return None
    if np.count_nonzero(~np.isfinite(values)) != cells.count(None):
        return None
    return np.where(np.isin(values, list(nulls)), np.nan, values) if nulls else values
