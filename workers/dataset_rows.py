"""Rows of a stored data set as models take them."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import core
from app.context import ServiceContext
from app.datasets.canonical import feature_column
from app.datasets.records import DatasetRecord
from app.datasets.service import DatasetService
from app.datasets.stored_table import TrainingTable
from app.requests.dataset_reference import DatasetReference
from app.storage.database import reading


@dataclass(frozen=True)
class LabeledRows:
    """Rows of a data set with their labels.

    X: encoded features. y: labels (row,) as codes, so that long labels take no more memory than short ones. rows:
    number of each row in the file, from 0. weights: sample weights (row,), and groups: number of the group of each row
    (row,), or None if the data set has no such column. n_unknown_cells: cells of a test data set with a category that
    the training data does not have, which count as missing; None for rows of the training data.
    """

    X: core.EncodedTable
    y: core.EncodedLabels
    rows: NDArray[np.int64]
    weights: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None
    n_unknown_cells: int | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: NDArray[np.int64]) -> "LabeledRows":
        """Return the rows at these positions, in this order."""
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.groups is None else self.groups[rows]
        return LabeledRows(self.X.take(rows), self.y[rows], self.rows[rows], weights, groups)


@dataclass(frozen=True)
class UnlabeledRows:
    """Rows without a label. rows: number of each row in the file, from 0."""

    X: core.EncodedTable
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class LoadedDataset:
    """Data set with its rows; models are fitted and scored on the labeled ones."""

    record: DatasetRecord
    labeled: LabeledRows
    unlabeled: UnlabeledRows


def dataset_record(context: ServiceContext, dataset_id: DatasetReference) -> DatasetRecord:
    """Return what is known of a data set before its rows are loaded."""
    with reading(context.sessions) as session:
        return DatasetService(session, context.dataset_store).get(dataset_id)


def load_rows(context: ServiceContext, record: DatasetRecord) -> LoadedDataset:
    """Load the rows of a data set."""
    table = context.dataset_store.load(record.fingerprint)
    return _loaded(record, table, _encoded(table.X, record))


def load_test_rows(context: ServiceContext, test: DatasetRecord, training: DatasetRecord) -> LabeledRows:
    """Load the labeled rows of `test` with the columns of `training`, which are matched by name.

    A category that the training data does not have becomes a missing value, and so does a value that means "missing" in
    the training data.
    """
    positions = {feature["name"]: index for index, feature in enumerate(test.features)}
    chosen = [positions[feature["name"]] for feature in training.used_features]
    codes = [index for index in chosen if not _is_text(test.features[index])]
    table = context.dataset_store.load(test.fingerprint, codes)
    coded = {index: table.X[:, position] for position, index in enumerate(codes)}
    X = np.empty((len(table.y), len(chosen)), table.X.dtype, order="F")
    n_unknown = 0
    for position, (index, column) in enumerate(zip(chosen, training.columns, strict=True)):
        if index in coded:
            X[:, position], is_unknown = _recoded(coded[index], test.features[index], column)
        else:
            texts = context.dataset_store.column(test.fingerprint, feature_column(index))
            encoded = column.encode(texts)
            X[:, position], is_unknown = encoded.values, encoded.unknown
        n_unknown += int(is_unknown[table.y >= 0].sum())
    return replace(_loaded(test, table, _encoded(X, training)).labeled, n_unknown_cells=n_unknown)


def _encoded(X: NDArray[Any], record: DatasetRecord) -> core.EncodedTable:
    return core.EncodedTable(X, record.columns, left_out=(record.target, *record.left_out))


def _is_text(feature: dict[str, Any]) -> bool:
    """Return whether the values of a feature are stored as text, as those of ignored text are."""
    return feature["categories"] is None and feature.get("detected", feature["kind"]) == core.ColumnKind.CATEGORICAL


def _recoded(
    cells: NDArray[Any], feature: dict[str, Any], column: core.Column
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return stored cells (row,) as values of `column`, and which are categories that it does not have."""
    categories, is_unknown = feature["categories"], np.zeros(len(cells), dtype=bool)
    if column.kind is core.ColumnKind.NUMERIC and column.reading.null_numbers:
        return column.encode(pa.array(cells, from_pandas=True)).values, is_unknown
    if column.categories is None or categories is None or tuple(categories) == column.categories:
        return cells, is_unknown
    codes, unknown = _codes_of(categories, column, feature.get("is_boolean", False))
    present = ~np.isnan(cells)
    own = cells[present].astype(np.int64)
    recoded = np.full(len(cells), np.nan, dtype=cells.dtype)
    recoded[present], is_unknown[present] = codes[own], unknown[own]
    return recoded, is_unknown


def _codes_of(
    categories: list[str], column: core.Column, is_boolean: bool
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the code that `column` has for each category of a stored feature, NaN if it has none, and which categories
    it does not know; those that mean "missing" are known.

    Its text decides. A whole number may be a code whose zeros a reader of files dropped (7 for 007), and booleans have
    lost the case of their texts. is_boolean: whether the feature is a column of booleans.
    """
    encoded = column.encode(pa.array(categories, pa.string()))
    codes = encoded.values.copy()
    for position in np.flatnonzero(encoded.unknown):
        text = categories[position]
        code = _code_of_boolean(text, column) if is_boolean else _code_of_number(text, column)
        codes[position] = np.nan if code is None else code
    return codes, encoded.unknown & np.isnan(codes)


def _code_of_boolean(text: str, column: core.Column) -> int | None:
    spelled = [code for code, category in enumerate(column.categories or ()) if category.strip().lower() == text]
    return spelled[0] if len(spelled) == 1 else None


def _code_of_number(text: str, column: core.Column) -> int | None:
    return column.codes.of_value(int(text)) if re.fullmatch(r"-?[0-9]{1,15}", text) else None


def _loaded(record: DatasetRecord, table: TrainingTable, X: core.EncodedTable) -> LoadedDataset:
    labels, numbers = record.labels, np.arange(len(table.y))
    is_labeled = table.y >= 0
    if is_labeled.all():
        rows = LabeledRows(X, core.EncodedLabels(labels, table.y), numbers, table.weights, table.groups)
        return LoadedDataset(record, rows, UnlabeledRows(X.take(numbers[:0]), numbers[:0]))
    labeled, unlabeled = numbers[is_labeled], numbers[~is_labeled]
    y = core.EncodedLabels(labels, np.maximum(table.y, 0))
    rows = LabeledRows(X, y, numbers, table.weights, table.groups).take(labeled)
    return LoadedDataset(record, rows, UnlabeledRows(X.take(unlabeled), unlabeled))
