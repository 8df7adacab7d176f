"""Compatibility of models and evaluations with a data set, checked before a job is queued.

The checks of noise are in `app.requests.noise_compatibility`.
"""

from collections.abc import Iterator

import core
from app.errors import FieldError, pointer_token, some_of
from app.requests.dataset_summary import DatasetSummary
from app.requests.estimator_specs import EstimatorSpec
from app.requests.evaluation_specs import CrossValidation, EvaluationSpec, Holdout
from app.requests.label_text import label_text
from app.settings import Limits
from core.service_api import holdout_size

#: Each fold stores two confusion matrices in the row of the model; this bounds the number of their cells.
MAX_CONFUSION_CELLS = 5_000_000
#: Parameters of models that are numbers of trees: of the whole model, and per class.
TREE_COUNTS = ("n_estimators", "n_rounds")
#: A class with this many rows occurs in two folds or more, and so in every training part.
MIN_ROWS_PER_CLASS = 2
#: Rows times classes of the votes that noise is estimated from, which take about ten times their 8 bytes each.
MAX_VOTES = 50_000_000


def model_problems(
    model: EstimatorSpec, dataset: DatasetSummary, limits: Limits, pointer: str = "/model"
) -> Iterator[FieldError]:
    """Yield the reasons why the model at `pointer` of the request cannot be trained on the data set."""
    yield from _tree_count_problems(model, dataset, limits, pointer)
    yield from _unknown_class_problems(model, dataset, pointer)
    yield from _weighted_class_problems(model, dataset, pointer)
    yield from _loss_problems(model, dataset, pointer)


def evaluation_problems(evaluation: EvaluationSpec, dataset: DatasetSummary) -> Iterator[FieldError]:
    """Yield the reasons why models of the data set cannot be scored in this way; test data sets are not checked."""
    if isinstance(evaluation, Holdout):
        for problem in holdout_problems(evaluation.test_fraction, dataset, "/evaluation"):
            yield FieldError(problem.pointer, f'{problem.detail}, or set evaluation to {{"kind": "none"}}')
    if isinstance(evaluation, CrossValidation):
        yield from _cross_validation_problems(evaluation.folds, dataset)


def holdout_problems(test_fraction: float, dataset: DatasetSummary, pointer: str) -> Iterator[FieldError]:
    """Yield the reasons why the `test_fraction` below `pointer` of the request cannot be held out."""
    n_rows, n_classes = dataset.n_labeled, len(dataset.classes)
    n_left = n_rows - holdout_size(n_rows, test_fraction)
    if n_rows < 2 * n_classes:
        detail = (
            f"the data set has {n_rows} rows of {n_classes} classes; to hold rows out, it must have at least "
            f"{2 * n_classes}: upload more rows"
        )
        yield FieldError(f"{pointer}/test_fraction", detail)
    elif n_left < n_classes:
        detail = (
            f"test_fraction {test_fraction} of {n_rows} rows leaves {n_left} training rows; there must be at least one "
            f"for each of the {n_classes} classes: hold out fewer rows"
        )
        yield FieldError(f"{pointer}/test_fraction", detail)


def fold_count_problems(n_folds: int, dataset: DatasetSummary, pointer: str) -> Iterator[FieldError]:
    """Yield the reason why the rows cannot be split into so many folds."""
    if n_folds > dataset.n_labeled:
        n_rows = dataset.n_labeled
        detail = f"{n_folds} folds of {n_rows} rows would leave folds empty; ask for at most {n_rows}"
        yield FieldError(pointer, detail)


def vote_count_problem(dataset: DatasetSummary) -> str | None:
    """Return the reason why the noise of the labels cannot be estimated in the memory of a worker, or None."""
    n_classes = len(dataset.classes)
    if dataset.n_labeled * n_classes <= MAX_VOTES:
        return None
    return (
        f"{dataset.n_labeled} rows times {n_classes} classes exceed the {MAX_VOTES} votes that noise is estimated "
        "from; upload a sample of the rows"
    )


def _tree_count_problems(
    model: EstimatorSpec, dataset: DatasetSummary, limits: Limits, pointer: str
) -> Iterator[FieldError]:
    n_classes, limit = len(dataset.classes), limits.max_trees
    n_problems = n_classes if n_classes > 2 else 1
    fixed = model.estimator_class.most_trees or 0
    if fixed > limit:
        detail = (
            f"{model.kind!r} has up to {fixed} trees, which exceed the limit of {limit} (BRISTLECONE_MAX_TREES); "
            "choose another kind with fewer, or raise the limit"
        )
        yield FieldError(f"{pointer}/kind", detail)
    for field, trees_per_unit in zip(TREE_COUNTS, (1, n_problems), strict=True):
        n_trees = trees_per_unit * getattr(model, field, 0)
        if n_trees > limit:
            reason = f", one per round for each of the {n_classes} classes," if trees_per_unit > 1 else ""
            detail = (
                f"{n_trees} trees{reason} exceed the limit of {limit} (BRISTLECONE_MAX_TREES); ask for fewer, or raise "
                "the limit"
            )
            yield FieldError(f"{pointer}/{field}", detail)


def _unknown_class_problems(model: EstimatorSpec, dataset: DatasetSummary, pointer: str) -> Iterator[FieldError]:
    labels = [label_text(entry["label"]) for entry in dataset.classes]
    known = frozenset(labels)
    for label in class_weights(model):
        if label not in known:
            detail = f"the data set has no class {label!r:.100}; its classes are {some_of(labels)}"
            yield FieldError(f"{pointer}/class_weight/{pointer_token(label)}", detail)


def _weighted_class_problems(model: EstimatorSpec, dataset: DatasetSummary, pointer: str) -> Iterator[FieldError]:
    weights = class_weights(model)
    if not weights:
        return
    n_weighted = sum(weights.get(label_text(entry["label"]), 1.0) > 0 for entry in dataset.classes)
    min_classes = model.estimator_class.min_classes
    if n_weighted < min_classes:
        detail = (
            f"{n_weighted} classes have a weight above 0, and {model.kind!r} needs at least {min_classes}; give more "
            "classes a weight, or leave them out of class_weight, which gives them the weight 1"
        )
        yield FieldError(f"{pointer}/class_weight", detail)


def class_weights(model: EstimatorSpec) -> dict[str, float]:
    """Return the weights that the request gives by class; empty if it gives none, or only a rule such as "balanced"."""
    weights = getattr(model, "class_weight", None)
    return weights if isinstance(weights, dict) else {}


def _loss_problems(model: EstimatorSpec, dataset: DatasetSummary, pointer: str) -> Iterator[FieldError]:
    if hasattr(model, "n_rounds") or not hasattr(model, "loss"):
        return  # Boosters split more than two classes into problems of two; the automatic model has no loss to choose.
    try:
        core.parse_loss(model.constructor_arguments()["loss"]).check_class_count(len(dataset.classes))
    except core.InvalidLoss as error:
        yield FieldError(f"{pointer}/loss", str(error))


def _cross_validation_problems(n_folds: int, dataset: DatasetSummary) -> Iterator[FieldError]:
    n_classes = len(dataset.classes)
    yield from fold_count_problems(n_folds, dataset, "/evaluation/folds")
    if n_folds * n_classes**2 > MAX_CONFUSION_CELLS:
        limit = MAX_CONFUSION_CELLS // n_classes**2
        detail = (
            f"{n_folds} folds of {n_classes} classes are too many, since a confusion matrix of each is stored; ask for "
            f"at most {limit} folds"
        )
        yield FieldError("/evaluation/folds", detail)
    singletons = [entry["label"] for entry in dataset.classes if entry["count"] < MIN_ROWS_PER_CLASS]
    if singletons:
        detail = (
            f"these classes have a single row: {some_of(singletons)}. Cross-validation needs at least "
            f"{MIN_ROWS_PER_CLASS} rows of each class, so that no fold is trained without it: add or drop rows, or use "
            '{"kind": "holdout"}'
        )
        yield FieldError("/evaluation", detail)
