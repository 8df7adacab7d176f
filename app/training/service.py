"""Turns a request to train into a job, after everything that can be known to fail has been refused."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import core
from app.datasets.errors import DatasetNotFound
from app.datasets.service import DatasetService
from app.datasets.tables import DatasetRow
from app.errors import FieldError, pointer_token, some_of
from app.jobs.errors import IncompatibleTestDataset, InvalidTrainingRequest
from app.jobs.estimator_specs import constructor_arguments, kind_of
from app.jobs.service import JobService
from app.jobs.specs import CrossValidation, Holdout, TestDataset, TrainSpec
from app.jobs.states import JobKind
from app.jobs.tables import JobRow
from app.label_text import label_text
from app.settings import Limits
from app.training.noise_rules import classes_without_weight, refuse_unfit_noise
from app.training.schemas import TrainRequest

#: Every fold keeps a confusion matrix of both parts; more numbers than these make a model's row unwieldy.
MAX_CONFUSION_CELLS = 5_000_000
#: Then they are in two folds or more, and every training part has the class.
FEWEST_ROWS_OF_CLASS = 2


class TrainingService:
    def __init__(self, datasets: DatasetService, jobs: JobService, limits: Limits) -> None:
        self._datasets = datasets
        self._jobs = jobs
        self._limits = limits

    def submit(self, request: TrainRequest, idempotency_key: str | None) -> JobRow:
        """Queue a training job, or give back the one that this key has made already.

        Raises:
            DatasetNotFound, InvalidTrainingRequest, InvalidNoise, IncompatibleTestDataset, TooManyQueuedJobs,
            IdempotencyKeyReused.
        """
        asked = request.model_dump(mode="json")
        # First of all: the key holds although the data set of the job may be gone by now.
        repeated = self._jobs.repeated(idempotency_key, asked)
        if repeated is not None:
            return repeated
        with self._dataset(request) as dataset:
            spec = self._fitting(request, dataset)
            needed = [dataset.id]
            if isinstance(spec.evaluation, TestDataset):
                needed.append(spec.evaluation.dataset_id)
            return self._jobs.submit(JobKind.TRAIN, spec.stored(), needed, idempotency_key, asked)

    def _fitting(self, request: TrainRequest, dataset: DatasetRow) -> TrainSpec:
        """The request with all defaults, once it is known to fit the data set."""
        spec = TrainSpec(
            name=request.name or default_name(dataset.name, kind_of(request.model)),
            dataset_id=dataset.id,
            model=request.model,
            noise=request.noise,
            evaluation=request.evaluation,
            seed=request.seed,
        )
        self._refuse_what_does_not_fit(spec, dataset)
        return spec

    def _dataset(self, request: TrainRequest) -> AbstractContextManager[DatasetRow]:
        """The data set of the request; inline data stays stored only when the block raises nothing."""
        if request.data is not None:
            return self._datasets.storing_columns(request.data.columns, request.data.target, request.name or "inline")
        assert request.dataset_id is not None, "the request's own validation asks for one of both"
        try:
            return nullcontext(self._datasets.get(request.dataset_id))
        except DatasetNotFound as error:
            raise DatasetNotFound.at("/dataset_id", error.detail) from error

    def _refuse_what_does_not_fit(self, spec: TrainSpec, dataset: DatasetRow) -> None:
        refuse_unfit_noise(spec, dataset)
        if isinstance(spec.evaluation, TestDataset):
            self._refuse_other_columns(spec.evaluation, dataset)
        problems = [
            *self._too_many_trees(spec, dataset),
            *_unknown_classes(spec, dataset),
            *_too_few_weighted_classes(spec, dataset),
            *classes_without_weight(spec, dataset),
            *_too_few_rows(spec, dataset),
            *_unfit_folds(spec, dataset),
            *_unfit_loss(spec, dataset),
        ]
        if problems:
            raise InvalidTrainingRequest("; ".join(problem.detail for problem in problems), problems)

    def _refuse_other_columns(self, evaluation: TestDataset, dataset: DatasetRow) -> None:
        try:
            test = self._datasets.get(evaluation.dataset_id)
        except DatasetNotFound as error:
            raise DatasetNotFound.at("/evaluation/dataset_id", error.detail) from error
        reason = _difference(dataset, test)
        if reason:
            raise IncompatibleTestDataset.at("/evaluation/dataset_id", reason)

    def _too_many_trees(self, spec: TrainSpec, dataset: DatasetRow) -> Iterator[FieldError]:
        n_classes, limit = len(dataset.classes), self._limits.max_trees
        problems = n_classes if n_classes > 2 else 1
        for field, at_once in (("n_estimators", 1), ("n_rounds", problems)):
            n_trees = at_once * getattr(spec.model, field, 0)
            if n_trees > limit:
                why = f"; a round grows one for each of {n_classes} classes" if at_once > 1 else ""
                detail = f"{n_trees} trees are more than this service grows; at most {limit} (limit max_trees){why}"
                yield FieldError(f"/model/{field}", detail)


def default_name(dataset_name: str, kind: str) -> str:
    """A legal model name from a data set's, which may hold anything."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", dataset_name).strip("-._")[:80]
    return f"{stem or 'model'}-{kind}"


def _unknown_classes(spec: TrainSpec, dataset: DatasetRow) -> Iterator[FieldError]:
    weights = getattr(spec.model, "class_weight", None)
    known = [label_text(entry["label"]) for entry in dataset.classes]
    for label in weights if isinstance(weights, dict) else ():
        if label not in known:
            detail = f"the data set has no class {label!r}; its classes are {', '.join(known[:20])}"
            yield FieldError(f"/model/class_weight/{pointer_token(label)}", detail)


def _too_few_weighted_classes(spec: TrainSpec, dataset: DatasetRow) -> Iterator[FieldError]:
    weights = getattr(spec.model, "class_weight", None)
    if not isinstance(weights, dict):
        return
    n_weighted = sum(weights.get(label_text(entry["label"]), 1.0) > 0 for entry in dataset.classes)
    fewest = core.ESTIMATORS[kind_of(spec.model)].fewest_classes
    if n_weighted < fewest:
        detail = (
            f"classes with a weight above 0: {n_weighted}, and {kind_of(spec.model)!r} needs at least {fewest}; "
            "a class that is not named weighs 1"
        )
        yield FieldError("/model/class_weight", detail)


def _too_few_rows(spec: TrainSpec, dataset: DatasetRow) -> Iterator[FieldError]:
    if isinstance(spec.evaluation, Holdout) and dataset.n_rows < 2 * len(dataset.classes):
        detail = (
            f"{dataset.n_rows} rows of {len(dataset.classes)} classes are too few to hold some out; "
            'use {"kind": "none"} or upload more rows'
        )
        yield FieldError("/evaluation", detail)


def _unfit_folds(spec: TrainSpec, dataset: DatasetRow) -> Iterator[FieldError]:
    """Folds without rows, training parts without some class, and more confusion matrices than can be kept."""
    if not isinstance(spec.evaluation, CrossValidation):
        return
    n_folds, n_classes = spec.evaluation.folds, len(dataset.classes)
    if n_folds > dataset.n_rows:
        detail = f"{n_folds} folds of {dataset.n_rows} rows leave some empty; at most one fold for each row"
        yield FieldError("/evaluation/folds", detail)
    if n_folds * n_classes**2 > MAX_CONFUSION_CELLS:
        most = MAX_CONFUSION_CELLS // n_classes**2
        detail = (
            f"{n_folds} folds are too many with {n_classes} classes, each with its confusion matrix; at most {most}"
        )
        yield FieldError("/evaluation/folds", detail)
    alone = [entry["label"] for entry in dataset.classes if entry["count"] < FEWEST_ROWS_OF_CLASS]
    if alone:
        detail = (
            f"classes of one row: {some_of(alone)}; one fold would train without it, so that cross-validation needs "
            f'at least {FEWEST_ROWS_OF_CLASS} rows of each class: add or drop rows, or use {{"kind": "holdout"}}'
        )
        yield FieldError("/evaluation", detail)


def _unfit_loss(spec: TrainSpec, dataset: DatasetRow) -> Iterator[FieldError]:
    """The one loss that cannot take every number of classes."""
    loss = core.parse_loss(constructor_arguments(spec.model)["loss"])
    one_against_the_rest = hasattr(spec.model, "n_rounds")
    if isinstance(loss, core.RankingGain) and not one_against_the_rest:
        try:
            loss.criterion(len(dataset.classes))
        except core.InvalidLoss as error:
            yield FieldError("/model/loss", str(error))


def _difference(dataset: DatasetRow, test: DatasetRow) -> str | None:
    """Why `test` cannot be used to test a model of `dataset`, or None."""
    kinds = {feature["name"]: feature["kind"] for feature in dataset.features}
    test_kinds = {feature["name"]: feature["kind"] for feature in test.features}
    missing = [name for name in kinds if name not in test_kinds]
    if missing:
        return f"the test data set lacks {some_of(missing)}; it needs every feature of the training data"
    other = [name for name in kinds if kinds[name] != test_kinds[name]]
    if other:
        name = other[0]
        return (
            f"the feature {name!r:.100} is {test_kinds[name]} in the test data set, but {kinds[name]} in training; "
            "upload the test data with `types` that say so"
        )
    labels = {entry["label"] for entry in dataset.classes}
    unknown = [entry["label"] for entry in test.classes if entry["label"] not in labels]
    if unknown:
        return f"the test data set has classes that training does not know: {some_of(unknown)}; take their rows out"
    return None
