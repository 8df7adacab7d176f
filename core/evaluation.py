"""Metrics of fitted classifiers: the same functions serve jobs, tests and benchmarks."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidInput
from core.validation.training_data import class_codes

#: scikit-learn's metrics take two columns or more; a model of one class gets an empty second one.
_FEWEST_COLUMNS = 2
#: What `evaluate` reports beside scores.
_COUNTS = ("n_rows", "confusion")

Report = dict[str, Any]


class ScoreSpread(NamedTuple):
    """Several reports in one."""

    mean: Report  #: of each score; its counts are sums over the reports
    sd: Report  #: of each score, with n - 1 in the denominator; None for fewer than two values


def evaluate(estimator: Any, X: Any, y: Any, classes: NDArray[Any] | None = None) -> Report:
    """Metrics of a fitted classifier on rows X with labels y, in values that JSON can hold.

    `accuracy`, `balanced_accuracy`, `weighted_f1`, `macro_f1`, `log_loss` (natural logarithm), `brier` (mean over
    rows of sum_k (p_k - y_k)^2), `roc_auc` (of two classes the second, of more each against the rest and their plain
    mean; None unless the classes in y are those of the model and two or more: a class without rows ranks before
    nothing, and of one that the model never saw it says nothing), `n_rows`, and `confusion`: rows are true classes,
    columns predicted ones, in the order of `classes`, of which the model may have missed some.

    classes: by default the model's. Labels of y beside them come after them. The model gives labels that it never saw
    the probability 0, so that their rows count as wrong.
    Raises InvalidInput for no rows, and for classes that lack one of the model's.
    """
    if len(y) == 0:
        raise InvalidInput("there are no rows to evaluate on; give at least one.")
    order = estimator.classes_ if classes is None else classes
    columns = _columns_of_model(order, estimator.classes_)
    codes, n_beside = class_codes(order, y)
    n_classes = len(order) + n_beside
    votes = estimator.predict_proba(X)
    probabilities = np.zeros((len(codes), max(n_classes, _FEWEST_COLUMNS)))
    probabilities[:, columns] = votes
    predicted = columns[votes.argmax(axis=1)]
    return {
        **_scores_of_classes(codes, predicted),
        **_scores_of_probabilities(codes, probabilities),
        "roc_auc": _roc_auc(codes, probabilities, columns),
        "n_rows": len(codes),
        "confusion": _confusion(codes, predicted, n_classes),
    }


def spread_of_scores(reports: Sequence[Mapping[str, Any]]) -> ScoreSpread:
    """Mean and standard deviation over one or more reports of `evaluate` with the same `classes`, such as those of
    folds.

    A score that is None in some reports is averaged over the others, and None where it is None in all.
    """
    mean: Report = {"n_rows": sum(report["n_rows"] for report in reports)}
    mean["confusion"] = np.sum([report["confusion"] for report in reports], axis=0).tolist()
    sd: Report = {}
    for score in (name for name in reports[0] if name not in _COUNTS):
        values = [report[score] for report in reports if report[score] is not None]
        mean[score] = fmean(values) if values else None
        sd[score] = stdev(values) if len(values) > 1 else None
    return ScoreSpread(mean, sd)


def _columns_of_model(order: NDArray[Any], classes_of_model: NDArray[Any]) -> NDArray[np.int64]:
    """Where each class of the model is in `order`, (class,)."""
    columns, n_lacking = class_codes(order, classes_of_model)
    if n_lacking:
        raise InvalidInput(f"classes has {len(order)} labels and lacks {n_lacking} of the model's; name them all.")
    return columns


def _scores_of_classes(codes: NDArray[np.int64], predicted: NDArray[np.int64]) -> dict[str, float]:
    """Scores of true and predicted classes, both (row,)."""
    # Here, so that importing, fitting and predicting do not wait for scikit-learn.
    from sklearn import metrics  # noqa: PLC0415

    return {
        "accuracy": float(metrics.accuracy_score(codes, predicted)),
        # Balanced accuracy, whose own function warns of predicted classes that do not occur.
        "balanced_accuracy": float(metrics.recall_score(codes, predicted, labels=np.unique(codes), average="macro")),
        "weighted_f1": float(metrics.f1_score(codes, predicted, average="weighted", zero_division=0)),
        "macro_f1": float(metrics.f1_score(codes, predicted, average="macro", zero_division=0)),
    }


def _confusion(codes: NDArray[np.int64], predicted: NDArray[np.int64], n_classes: int) -> list[list[int]]:
    """Rows by true (first) and predicted class."""
    from sklearn import metrics  # noqa: PLC0415

    table = metrics.confusion_matrix(codes, predicted, labels=range(max(n_classes, _FEWEST_COLUMNS)))
    counts: list[list[int]] = table[:n_classes, :n_classes].tolist()
    return counts


def _scores_of_probabilities(codes: NDArray[np.int64], probabilities: NDArray[np.float64]) -> dict[str, float]:
    """Scores of probabilities (row, class); p = 0 of the true class counts as the machine epsilon in the logarithm."""
    from sklearn import metrics  # noqa: PLC0415

    labels = range(probabilities.shape[1])
    return {
        "log_loss": float(metrics.log_loss(codes, probabilities, labels=labels)),
        "brier": float(metrics.brier_score_loss(codes, probabilities, labels=labels, scale_by_half=False)),
    }


def _roc_auc(
    codes: NDArray[np.int64], probabilities: NDArray[np.float64], columns_of_model: NDArray[np.int64]
) -> float | None:
    from sklearn import metrics  # noqa: PLC0415

    present = np.unique(codes)
    if len(present) < _FEWEST_COLUMNS or not np.array_equal(present, np.sort(columns_of_model)):
        return None
    scores = probabilities[:, present[1]] if len(present) == _FEWEST_COLUMNS else probabilities[:, present]
    return float(metrics.roc_auc_score(codes, scores, multi_class="ovr", average="macro"))
