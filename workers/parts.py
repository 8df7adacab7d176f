"""Training and test rows of a job, before any noise."""

import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import core
from app.context import ServiceContext
from app.datasets.records import DatasetRecord
from app.datasets.service import DatasetService
from app.requests.job_specs import CrossValidation, Holdout, TestDataset, TrainSpec
from app.storage.database import reading


@dataclass(frozen=True)
class Part:
    """X: float (row, feature), NaN = missing, categories as their index. y: labels (row,)."""

    X: NDArray[Any]
    y: NDArray[Any]

    def rows(self, rows: NDArray[np.int64]) -> "Part":
        return Part(self.X[rows], self.y[rows])


@dataclass(frozen=True)
class Parts:
    """train: rows of the model that is kept. folds: the fits on some of those rows that come before it."""

    dataset: DatasetRecord
    train: Part
    test: Part | None = None
    folds: tuple[core.SeededSplit, ...] = ()


def load_parts(context: ServiceContext, spec: TrainSpec) -> Parts:
    """What to train and what to test on, as the request's `evaluation` says."""
    with reading(context.sessions) as session:
        datasets = DatasetService(session, context.dataset_store, context.settings.limits)
        dataset = datasets.get(spec.dataset_id)
        test_dataset = datasets.get(spec.evaluation.dataset_id) if isinstance(spec.evaluation, TestDataset) else None
    whole = _load(context, dataset)
    if test_dataset is not None:
        test = _load(context, test_dataset)
        return Parts(dataset, whole, Part(_aligned(test.X, test_dataset, dataset), test.y))
    if isinstance(spec.evaluation, Holdout):
        fraction, stratify = spec.evaluation.test_fraction, spec.evaluation.stratify
        chosen = core.split_holdout(whole.y, fraction, stratify, random_state=spec.seed)
        return Parts(dataset, whole.rows(chosen.train_rows), whole.rows(chosen.test_rows))
    if isinstance(spec.evaluation, CrossValidation):
        return Parts(dataset, whole, folds=core.split_folds(whole.y, spec.evaluation.folds, random_state=spec.seed))
    return Parts(dataset, whole)


def load_whole(context: ServiceContext, dataset_id: uuid.UUID) -> tuple[DatasetRecord, Part]:
    """A data set and all of its rows."""
    with reading(context.sessions) as session:
        dataset = DatasetService(session, context.dataset_store, context.settings.limits).get(dataset_id)
    return dataset, _load(context, dataset)


def _load(context: ServiceContext, dataset: DatasetRecord) -> Part:
    table = context.dataset_store.load(dataset.fingerprint)
    return Part(table.X, dataset.labels[table.y])


def _aligned(X: NDArray[Any], source: DatasetRecord, target: DatasetRecord) -> NDArray[Any]:
    """The columns of `source` in the order and with the category indices of `target`; an unseen category is missing."""
    positions = {feature["name"]: index for index, feature in enumerate(source.features)}
    columns = [
        _recoded(X[:, positions[feature["name"]]], source.features[positions[feature["name"]]], feature)
        for feature in target.features
    ]
    return np.column_stack(columns)


def _recoded(codes: NDArray[Any], source: dict[str, Any], target: dict[str, Any]) -> NDArray[Any]:
    if target["kind"] != "categorical" or source["categories"] == target["categories"]:
        return codes
    index = {category: code for code, category in enumerate(target["categories"])}
    code_of = np.array([index.get(category, np.nan) for category in source["categories"]])
    present = ~np.isnan(codes)
    recoded = np.full(len(codes), np.nan, dtype=codes.dtype)
    recoded[present] = code_of[codes[present].astype(np.int64)]
    return recoded
