"""Conversion of a `Table` of cells to the matrix of an estimator, by the same rules for every form of input."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from app.errors import some_of
from app.predictions.errors import Faults, MissingFeature, NotANumber, UnknownCategory, UnknownFeature
from app.predictions.forms import ABSENT, Table
from app.requests.label_text import label_text


@dataclass(frozen=True)
class Leniency:
    """Treatment of inputs that are refused by default."""

    on_unknown: Literal["error", "missing"] = "error"
    on_missing: Literal["error", "missing"] = "error"
    extra: Literal["error", "ignore"] = "error"


@dataclass(frozen=True)
class Feature:
    """Feature of a model.

    codes: number of each category in X, by its text; None for a numeric feature.
    """

    name: str
    codes: Mapping[str, int] | None


class FeatureEncoder:
    """Encoder for the features of a trained model, in the order of the columns of X."""

    def __init__(self, feature_schema: Mapping[str, Any]) -> None:
        self.features = tuple(_feature(entry) for entry in feature_schema["features"])
        self.names = tuple(feature.name for feature in self.features)
        self.known = frozenset(self.names)

    def matrix(self, table: Table, leniency: Leniency, faults: Faults) -> NDArray[np.float64]:
        """Return X (row, feature), with NaN for missing values.

        Raises:
            Invalid: the first of `faults`, including those that were added before this call; it lists the others.
        """
        if leniency.extra == "error":
            self._refuse_unknown(table, faults)
        X = np.empty((table.n_rows, len(self.features)), dtype=np.float64)
        reader = _CellReader(table, leniency, faults)
        for j, feature in enumerate(self.features):
            if faults.full:
                break
            X[:, j] = reader.column(feature)
        faults.raise_if_any()
        return X

    def _refuse_unknown(self, table: Table, faults: Faults) -> None:
        for pointer, name in table.unknown:
            detail = f"the model has no feature {name!r:.100}; its features are {some_of(self.names)}"
            faults.add(UnknownFeature, pointer, detail)
            if faults.full:
                break


class _CellReader:
    """Reader of the cells of a table that reports those that cannot be read."""

    def __init__(self, table: Table, leniency: Leniency, faults: Faults) -> None:
        self._table = table
        self._leniency = leniency
        self._faults = faults

    def column(self, feature: Feature) -> NDArray[np.float64] | float:
        """Return the column of a feature, or one number for all of its rows."""
        cells = self._table.columns.get(feature.name)
        if cells is None:
            return self._absent(feature, None)
        if len(cells) == 1:
            return self._cell(feature, 0, cells[0])
        plain = _plain_numbers(cells) if feature.codes is None else None
        if plain is not None:
            return plain
        values = np.full(len(cells), np.nan)
        for i, cell in enumerate(cells):
            values[i] = self._cell(feature, i, cell)
            if self._faults.full:
                break
        return values

    def _cell(self, feature: Feature, i: int, cell: Any) -> float:
        if cell is None or cell == "":
            return math.nan
        if cell is ABSENT:
            return self._absent(feature, i)
        if feature.codes is not None:
            return self._code(feature, feature.codes, i, cell)
        try:
            return self._table.as_number(cell)
        except ValueError as error:
            self._faults.add(NotANumber, self._table.pointer_to(feature.name, i), str(error))
            return math.nan

    def _absent(self, feature: Feature, i: int | None) -> float:
        if self._leniency.on_missing == "error":
            detail = (
                "the feature is not named; give it a value, or null if it is missing, or set on_missing=missing to "
                f"treat all absent features as missing{self._table.spelling(feature.name)}"
            )
            self._faults.add(MissingFeature, self._table.pointer_to(feature.name, i), detail)
        return math.nan

    def _code(self, feature: Feature, codes: Mapping[str, int], i: int, cell: Any) -> float:
        for text in _category_texts(cell):
            if text in codes:
                return codes[text]
        if isinstance(cell, float) and not math.isfinite(cell):
            detail = f"{cell} is not a JSON value; write null if the value is missing"
            self._faults.add(NotANumber, self._table.pointer_to(feature.name, i), detail)
        elif self._leniency.on_unknown == "error":
            detail = f"the category {cell!r:.100} did not occur in training; the categories are {some_of(tuple(codes))}"
            self._faults.add(UnknownCategory, self._table.pointer_to(feature.name, i), detail)
        return math.nan


def _feature(entry: Mapping[str, Any]) -> Feature:
    if entry["kind"] == "numeric":
        return Feature(entry["name"], None)
    return Feature(entry["name"], {label_text(category): code for code, category in enumerate(entry["categories"])})


def _plain_numbers(cells: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return the cells as an array if all are finite numbers or null; None if they must be read one by one."""
    if not set(map(type, cells)) <= {int, float, NoneType}:
        return None
    try:
        values = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    except OverflowError:
        return None
    return values if np.count_nonzero(~np.isfinite(values)) == cells.count(None) else None


def _category_texts(cell: Any) -> tuple[str, ...]:
    """Return the texts that a JSON value may have had in the training file."""
    if isinstance(cell, str):
        return (cell,)
    if isinstance(cell, float) and cell.is_integer():
        return label_text(cell), label_text(int(cell))
    return (label_text(cell),) if isinstance(cell, int | float) else ()
