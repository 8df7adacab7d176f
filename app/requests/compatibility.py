"""What a data set can be asked for, before a job exists: models, and ways to score them. Noise is in `noise_rules`."""

from collections.abc import Iterator

from pydantic import BaseModel

import core
from app.datasets.records import DatasetRecord
from app.errors import FieldError, pointer_token, some_of
from app.requests.estimator_specs import constructor_arguments, kind_of
from app.requests.job_specs import CrossValidation, EvaluationSpec, Holdout
from app.requests.label_text import label_text
from app.settings import Limits
from core.service_api import holdout_size

#: Every fold keeps a confusion matrix of both parts; more numbers than these make a model's row unwieldy.
MAX_CONFUSION_CELLS = 5_000_000
#: Then they are in two folds or more, and every training part has the class.
FEWEST_ROWS_OF_CLASS = 2

#: Rows times classes of the votes that noise is estimated from, which takes about ten times their 8 bytes each.
MAX_VOTES = 50_000_000


def unfit_model(
    model: BaseModel, dataset: DatasetRecord, limits: Limits, place: str = "/model"
) -> Iterator[FieldError]:
    """Why the model, which the request has at `place`, cannot be trained on the data set, whatever its noise is."""
    yield from _too_many_trees(model, dataset, limits, place)
    yield from _unknown_classes(model, dataset, place)
    yield from _too_few_weighted_classes(model, dataset, place)
    yield from _unfit_loss(model, dataset, place)


def unfit_evaluation(evaluation: EvaluationSpec, dataset: DatasetRecord) -> Iterator[FieldError]:
    """Why models of the data set cannot be scored in this way; of a test data set nothing is said here."""
    if isinstance(evaluation, Holdout):
        for problem in unfit_holdout(evaluation.test_fraction, dataset, "/evaluation"):
            yield FieldError(problem.pointer, f'{problem.detail}, or use {{"kind": "none"}}')
    if isinstance(evaluation, CrossValidation):
        yield from _unfit_folds(evaluation.folds, dataset)


def unfit_holdout(test_fraction: float, dataset: DatasetRecord, place: str) -> Iterator[FieldError]:
    """Why this share of the rows, which the request has below `place`, cannot be held out."""
    n_rows, n_classes = dataset.n_rows, len(dataset.classes)
    n_left = n_rows - holdout_size(n_rows, test_fraction)
    if n_rows < 2 * n_classes:
        detail = f"{n_rows} rows of {n_classes} classes are too few to hold some out; upload more rows"
        yield FieldError(f"{place}/test_fraction", detail)
    elif n_left < n_classes:
        detail = (
            f"test_fraction {test_fraction} of {n_rows} rows leaves {n_left} to train on, and there are {n_classes} "
            "classes; hold out less"
        )
        yield FieldError(f"{place}/test_fraction", detail)


def empty_folds(n_folds: int, dataset: DatasetRecord, pointer: str) -> Iterator[FieldError]:
    """Why the rows cannot be split into so many folds."""
    if n_folds > dataset.n_rows:
        detail = f"{n_folds} folds of {dataset.n_rows} rows leave some empty; at most one fold for each row"
        yield FieldError(pointer, detail)


def too_many_votes(dataset: DatasetRecord) -> str | None:
    """Why the noise of the data set's labels cannot be estimated in a worker's memory, or None."""
    n_classes = len(dataset.classes)
    if dataset.n_rows * n_classes <= MAX_VOTES:
        return None
    return (
        f"{dataset.n_rows} rows times {n_classes} classes are more than the {MAX_VOTES} votes that noise is estimated "
        "from; upload a sample of the rows"
    )


def _too_many_trees(model: BaseModel, dataset: DatasetRecord, limits: Limits, place: str) -> Iterator[FieldError]:
    n_classes, limit = len(dataset.classes), limits.max_trees
    problems = n_classes if n_classes > 2 else 1
    for field, at_once in (("n_estimators", 1), ("n_rounds", problems)):
        n_trees = at_once * getattr(model, field, 0)
        if n_trees > limit:
            why = f"; a round grows one for each of {n_classes} classes" if at_once > 1 else ""
            detail = f"{n_trees} trees are more than this service grows; at most {limit} (limit max_trees){why}"
            yield FieldError(f"{place}/{field}", detail)


def _unknown_classes(model: BaseModel, dataset: DatasetRecord, place: str) -> Iterator[FieldError]:
    weights = getattr(model, "class_weight", None)
    known = [label_text(entry["label"]) for entry in dataset.classes]
    for label in weights if isinstance(weights, dict) else ():
        if label not in known:
            detail = f"the data set has no class {label!r}; its classes are {', '.join(known[:20])}"
            yield FieldError(f"{place}/class_weight/{pointer_token(label)}", detail)


def _too_few_weighted_classes(model: BaseModel, dataset: DatasetRecord, place: str) -> Iterator[FieldError]:
    weights = getattr(model, "class_weight", None)
    if not isinstance(weights, dict):
        return
    n_weighted = sum(weights.get(label_text(entry["label"]), 1.0) > 0 for entry in dataset.classes)
    fewest = core.ESTIMATORS[kind_of(model)].min_classes
    if n_weighted < fewest:
        detail = (
            f"classes with a weight above 0: {n_weighted}, and {kind_of(model)!r} needs at least {fewest}; "
            "a class that is not named weighs 1"
        )
        yield FieldError(f"{place}/class_weight", detail)


def _unfit_loss(model: BaseModel, dataset: DatasetRecord, place: str) -> Iterator[FieldError]:
    """Yield an error if the loss is not defined for the number of classes."""
    loss = core.parse_loss(constructor_arguments(model)["loss"])
    one_against_the_rest = hasattr(model, "n_rounds")
    if not one_against_the_rest:
        try:
            loss.check_class_count(len(dataset.classes))
        except core.InvalidLoss as error:
            yield FieldError(f"{place}/loss", str(error))


def _unfit_folds(n_folds: int, dataset: DatasetRecord) -> Iterator[FieldError]:
    """Folds without rows, training parts without some class, and more confusion matrices than can be kept."""
    n_classes = len(dataset.classes)
    yield from empty_folds(n_folds, dataset, "/evaluation/folds")
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
