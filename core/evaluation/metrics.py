"""Metrics of fitted classifiers, shared by jobs, tests and benchmarks."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.class_votes import winning_classes
from core.exceptions import InvalidInput, InvalidParameter
from core.monitoring import stop_point
from core.validation.labels import class_codes, label_column, label_values
from core.validation.misplaced_arguments import check_equal_lengths, check_label_types, check_no_label_is_missing

#: scikit-learn's metrics need at least two columns; a model of one class gets an empty second one.
_MIN_COLUMNS = 2
#: Entries of a report that are one number.
SCORES = (
    "accuracy", "balanced_accuracy", "weighted_f1", "macro_f1", "log_loss", "brier", "roc_auc", "n_rows",
)  # fmt: skip
#: Entries of a report that are counts, not scores.
_COUNTS = ("n_rows", "confusion")

Report = dict[str, Any]


class ScoreSpread(NamedTuple):
    """Summary of several reports."""

    mean: Report  #: mean of each score, and the sums of the counts
    sd: Report  #: standard deviation of each score, with n - 1 in the denominator; None for fewer than two values


def evaluate(estimator: Any, X: Any, y: Any, classes: NDArray[Any] | None = None) -> Report:
    """Return metrics of a fitted classifier on rows X with labels y, as JSON values.

    The report has `accuracy`, `balanced_accuracy`, `weighted_f1`, `macro_f1`, `log_loss` (natural logarithm), `brier`
    (mean over rows of sum_k (p_k - y_k)^2, 0 to 2), `roc_auc`, `n_rows` and `confusion` (rows are labels, columns
    predicted classes, in the order of `classes`). The labels are compared as they are given, whether right or wrong.

    `roc_auc` is that of the second class for two classes, and the unweighted mean of one-vs-rest values for more. It
    is None unless y has exactly the classes of the model, and at least two, because it is undefined otherwise.

    classes: the order of classes, by default that of the model. Labels of y that are not listed come after them. The
        model gives probability 0 to labels that it was not trained on, so their rows count as wrong.

    Raises InvalidParameter unless the estimator is fitted and has `predict_proba`, and InvalidInput if there are no
    rows, if a label is missing, if all labels are text and no class is, or if `classes` lacks a class of the model.
    """
    _check_classifier(estimator)
    if len(y) == 0:
        raise InvalidInput("there are no rows to evaluate; give at least one row.")
    y = label_column(y)
    check_no_label_is_missing(y)
    check_label_types(estimator.classes_, label_values(y))
    order = estimator.classes_ if classes is None else np.asarray(classes)
    columns = _model_columns(order, estimator.classes_)
    codes, n_unlisted = class_codes(order, y)
    n_classes = len(order) + n_unlisted
    votes = estimator.predict_proba(X)
    check_equal_lengths(len(votes), len(codes))
    probabilities = np.zeros((len(codes), max(n_classes, _MIN_COLUMNS)))
    probabilities[:, columns] = votes
    predicted = columns[winning_classes(votes)]
    return {
        **_scores_of_classes(codes, predicted),
        **_scores_of_probabilities(codes, probabilities),
        "roc_auc": _roc_auc(codes, probabilities, columns),
        "n_rows": len(codes),
        "confusion": _confusion(codes, predicted, n_classes),
    }


def _check_classifier(estimator: Any) -> None:
    name = type(estimator).__name__
    if not hasattr(estimator, "predict_proba"):
        rule = "evaluate needs probabilities, so pass a classifier that has it, such as CalibratedClassifierCV"
        raise InvalidParameter(f"estimator is {name}, which has no predict_proba; {rule}.")
    if not hasattr(estimator, "classes_"):
        raise InvalidParameter(f"estimator is {name}, which is not fitted; call fit before you evaluate it.")


def spread_of_scores(reports: Sequence[Mapping[str, Any]]) -> ScoreSpread:
    """Return the mean and standard deviation of reports of `evaluate` with the same `classes`, such as those of folds.

    reports: at least one. A score that is None in some reports is averaged over the others; if it is None in all
        reports, it is None in the result.
    """
    mean: Report = {"n_rows": sum(report["n_rows"] for report in reports)}
    mean["confusion"] = np.sum([report["confusion"] for report in reports], axis=0).tolist()
    sd: Report = {}
    for score in (name for name in reports[0] if name not in _COUNTS):
        values = [report[score] for report in reports if report[score] is not None]
        mean[score] = fmean(values) if values else None
        sd[score] = stdev(values) if len(values) > 1 else None
    return ScoreSpread(mean, sd)


def _model_columns(order: NDArray[Any], model_classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position in `order` of each class of the model, (class,)."""
    columns, n_missing = class_codes(order, model_classes)
    if n_missing:
        raise InvalidInput(
            f"classes has {len(order)} labels and lacks {n_missing} of the model's; it must include all of them."
        )
    return columns


def _scores_of_classes(codes: NDArray[np.int64], predicted: NDArray[np.int64]) -> dict[str, float]:
    """Return scores of predicted class numbers against those of the labels, both (row,)."""
    # Imported here because fitting and predicting must not wait for scikit-learn.
    from sklearn import metrics  # noqa: PLC0415

    present = np.unique(codes)
    scores: dict[str, Callable[[], float]] = {
        "accuracy": lambda: metrics.accuracy_score(codes, predicted),
        # The function for balanced accuracy would warn of predicted classes that do not occur.
        "balanced_accuracy": lambda: metrics.recall_score(codes, predicted, labels=present, average="macro"),
        "weighted_f1": lambda: metrics.f1_score(codes, predicted, average="weighted", zero_division=0),
        "macro_f1": lambda: metrics.f1_score(codes, predicted, average="macro", zero_division=0),
    }
    return _computed(scores)


def _computed(scores: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    values = {}
    for name, compute in scores.items():
        stop_point()
        values[name] = float(compute())
    return values


def _confusion(codes: NDArray[np.int64], predicted: NDArray[np.int64], n_classes: int) -> list[list[int]]:
    """Return the number of rows by label (first index) and predicted class."""
    from sklearn import metrics  # noqa: PLC0415

    table = metrics.confusion_matrix(codes, predicted, labels=range(max(n_classes, _MIN_COLUMNS)))
    counts: list[list[int]] = table[:n_classes, :n_classes].tolist()
    return counts


def _scores_of_probabilities(codes: NDArray[np.int64], probabilities: NDArray[np.float64]) -> dict[str, float]:
    """Return scores of probabilities (row, class); the logarithm of 0 is replaced by that of the machine epsilon."""
    from sklearn import metrics  # noqa: PLC0415

    labels = range(probabilities.shape[1])
    scores: dict[str, Callable[[], float]] = {
        "log_loss": lambda: metrics.log_loss(codes, probabilities, labels=labels),
        "brier": lambda: metrics.brier_score_loss(codes, probabilities, labels=labels, scale_by_half=False),
    }
    return _computed(scores)


def _roc_auc(
    codes: NDArray[np.int64], probabilities: NDArray[np.float64], model_columns: NDArray[np.int64]
) -> float | None:
    from sklearn import metrics  # noqa: PLC0415

    present = np.unique(codes)
    if len(present) < _MIN_COLUMNS or not np.array_equal(present, np.sort(model_columns)):
        return None
    positives = present[1:] if len(present) == _MIN_COLUMNS else present
    values = []
    for k in positives:  # A call for all classes at once could not be stopped.
        stop_point()
        values.append(metrics.roc_auc_score(codes == k, probabilities[:, k]))
    return float(np.mean(values))
