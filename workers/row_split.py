"""Training and test rows of a job, before any noise is injected."""

from dataclasses import dataclass

import core
from app.context import ServiceContext
from app.datasets.records import DatasetRecord
from app.datasets.service import DatasetService
from app.requests.evaluation_specs import CrossValidation, Holdout, TestDataset
from app.requests.job_memory import training_memory
from app.storage.database import reading
from app.training.specs import TrainSpec
from workers.dataset_rows import LabeledRows, load_rows, load_test_rows


@dataclass(frozen=True)
class RowSplit:
    """Rows that a training job fits and scores on; rows of one group are never on both sides.

    train: rows of the model that is stored. test: rows held out or of `test_dataset`, or None. folds: splits of `train`
    to validate on.
    """

    dataset: DatasetRecord
    train: LabeledRows
    test: LabeledRows | None = None
    folds: tuple[core.SeededSplit, ...] = ()
    test_dataset: DatasetRecord | None = None


def load_row_split(context: ServiceContext, spec: TrainSpec) -> RowSplit:
    """Load the data sets of a training job and split their rows as `spec.evaluation` asks.

    Raises JobTooLarge before any row is read.
    """
    limits = context.settings.limits
    with reading(context.sessions) as session:
        datasets = DatasetService(session, context.dataset_store)
        dataset = datasets.get(spec.dataset_id)
        test_dataset = datasets.get(spec.evaluation.dataset_id) if isinstance(spec.evaluation, TestDataset) else None
    memory = training_memory(spec.model, spec.noise, spec.evaluation, dataset, test_dataset, limits)
    memory.check(limits.max_job_bytes)
    rows = load_rows(context, dataset).labeled
    if test_dataset is not None:
        test = load_test_rows(context, test_dataset, dataset)
        return RowSplit(dataset, rows, test, test_dataset=test_dataset)
    if isinstance(spec.evaluation, Holdout):
        fraction, stratify = spec.evaluation.test_fraction, spec.evaluation.stratify
        holdout = core.split_holdout(rows.y, fraction, stratify, random_state=spec.seed, groups=rows.groups)
        return RowSplit(dataset, rows.take(holdout.train_rows), rows.take(holdout.test_rows))
    if isinstance(spec.evaluation, CrossValidation):
        folds = core.split_folds(rows.y, spec.evaluation.folds, random_state=spec.seed, groups=rows.groups)
        return RowSplit(dataset, rows, folds=folds)
    return RowSplit(dataset, rows)
