"""Training and test rows of a job, before any noise is injected."""

import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import core
from app.context import ServiceContext
from app.datasets.records import DatasetRecord
from app.datasets.service import DatasetService
from app.requests.evaluation_specs import CrossValidation, Holdout, TestDataset
from app.storage.database import reading
from app.training.specs import TrainSpec


@dataclass(frozen=True)
class LabeledRows:
    """Rows of a data set with their labels.

    X: (row, feature) with the columns that the numbers stand for. y: labels (row,).
    """

    X: core.EncodedTable
    y: NDArray[Any]

    def take(self, rows: NDArray[np.int64]) -> "LabeledRows":
        """Return the rows with these numbers, in this order."""
        return LabeledRows(self.X.take(rows), self.y[rows])


@dataclass(frozen=True)
class RowSplit:
    """Rows that a training job fits and scores on.

    train: rows of the model that is stored. test: held-out rows, or None. folds: splits of `train` to validate on.
    """

    dataset: DatasetRecord
    train: LabeledRows
    test: LabeledRows | None = None
    folds: tuple[core.SeededSplit, ...] = ()


def load_row_split(context: ServiceContext, spec: TrainSpec) -> RowSplit:
    """Load the data sets of a training job and split their rows as `spec.evaluation` asks."""
    with reading(context.sessions) as session:
        datasets = DatasetService(session, context.dataset_store, context.settings.limits)
        dataset = datasets.get(spec.dataset_id)
        test_dataset = datasets.get(spec.evaluation.dataset_id) if isinstance(spec.evaluation, TestDataset) else None
    rows = _load(context, dataset)
    if test_dataset is not None:
        test = _load(context, test_dataset)
        return RowSplit(dataset, rows, LabeledRows(_aligned(test.X, rows.X), test.y))
    if isinstance(spec.evaluation, Holdout):
        fraction, stratify = spec.evaluation.test_fraction, spec.evaluation.stratify
        holdout = core.split_holdout(rows.y, fraction, stratify, random_state=spec.seed)
        return RowSplit(dataset, rows.take(holdout.train_rows), rows.take(holdout.test_rows))
    if isinstance(spec.evaluation, CrossValidation):
        folds = core.split_folds(rows.y, spec.evaluation.folds, random_state=spec.seed)
        return RowSplit(dataset, rows, folds=folds)
    return RowSplit(dataset, rows)


def load_dataset(context: ServiceContext, dataset_id: uuid.UUID) -> tuple[DatasetRecord, LabeledRows]:
    """Load a data set and all of its rows."""
    with reading(context.sessions) as session:
        dataset = DatasetService(session, context.dataset_store, context.settings.limits).get(dataset_id)
    return dataset, _load(context, dataset)


def _load(context: ServiceContext, dataset: DatasetRecord) -> LabeledRows:
    table = context.dataset_store.load(dataset.fingerprint)
    columns = tuple(core.Column.from_json(feature) for feature in dataset.features)
    encoded = core.EncodedTable(table.X, columns, left_out=(dataset.target,))
    return LabeledRows(encoded, dataset.labels[table.y])


def _aligned(source: core.EncodedTable, target: core.EncodedTable) -> core.EncodedTable:
    """Return the columns of `source` in the order and with the category indices of `target`.

    A category that `target` does not have becomes a missing value.
    """
    positions = {column.name: index for index, column in enumerate(source.columns)}
    aligned = [
        _recoded(source.X[:, positions[column.name]], source.columns[positions[column.name]], column)
        for column in target.columns
    ]
    return core.EncodedTable(np.column_stack(aligned), target.columns, target.left_out)


def _recoded(codes: NDArray[Any], source: core.Column, target: core.Column) -> NDArray[Any]:
    if target.categories is None or source.categories is None or source.categories == target.categories:
        return codes
    target_codes = {category: code for code, category in enumerate(target.categories)}
    new_codes = np.array([target_codes.get(category, np.nan) for category in source.categories])
    present = ~np.isnan(codes)
    recoded = np.full(len(codes), np.nan, dtype=codes.dtype)
    recoded[present] = new_codes[codes[present].astype(np.int64)]
    return recoded
