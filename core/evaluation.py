"""Metrics and splits: the same functions serve jobs, tests and benchmarks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidInput
from core.validation import class_codes


def evaluate(estimator: Any, X: Any, y: Any) -> dict[str, Any]:
    """Metrics of a fitted classifier on rows X with clean labels y, in values that JSON can hold.

    `accuracy`, `balanced_accuracy`, `weighted_f1`, `macro_f1`, `log_loss` (natural logarithm), `brier` (mean over
    rows of sum_k (p_k - y_k)^2), `roc_auc` (one against the rest, macro; only where every class of the model occurs
    in y), `n_rows`, and `confusion`: rows are true classes, columns predicted ones, in the order of the model's
    classes and after them any labels that it never saw, whose rows count as wrong. Raises InvalidInput for no rows.
    """
    if len(y) == 0:
        raise InvalidInput("there are no rows to evaluate on; give at least one.")
    codes, n_unseen = class_codes(estimator.classes_, y)
    probabilities = np.pad(estimator.predict_proba(X), ((0, 0), (0, n_unseen)))
    predicted = probabilities.argmax(axis=1)
    n_classes = probabilities.shape[1]
    weighted_f1, macro_f1 = _f1(codes, predicted, n_classes)
    report: dict[str, Any] = {
        "accuracy": float(np.mean(predicted == codes)),
        "balanced_accuracy": _mean_recall(codes, predicted, n_classes),
        "weighted_f1": weighted_f1,
        "macro_f1": macro_f1,
        "log_loss": _log_loss(codes, probabilities),
        "brier": _brier(codes, probabilities),
        "n_rows": len(codes),
        "confusion": _confusion(codes, predicted, n_classes),
    }
    if n_unseen == 0 and n_classes > 1 and len(np.unique(codes)) == n_classes:
        report["roc_auc"] = _roc_auc(codes, probabilities)
    return report


def _confusion(codes: NDArray[np.int64], predicted: NDArray[np.int64], n_classes: int) -> list[list[int]]:
    """Rows by true (first) and predicted class."""
    cells = np.bincount(codes * n_classes + predicted, minlength=n_classes * n_classes)
    table: list[list[int]] = cells.reshape(n_classes, n_classes).tolist()
    return table


def _mean_recall(codes: NDArray[np.int64], predicted: NDArray[np.int64], n_classes: int) -> float:
    """Mean over the classes that occur of the share of their rows predicted right."""
    rows = np.bincount(codes, minlength=n_classes)
    hits = np.bincount(codes[codes == predicted], minlength=n_classes)
    return float(np.mean(hits[rows > 0] / rows[rows > 0]))


def _log_loss(codes: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Mean of -log p of the true class; p = 0 counts as the smallest step above it, so the mean stays finite."""
    of_true_class = probabilities[np.arange(len(codes)), codes]
    return float(-np.mean(np.log(np.maximum(of_true_class, np.finfo(np.float64).eps))))


def _brier(codes: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    of_true_class = probabilities[np.arange(len(codes)), codes]
    return float(np.mean((probabilities**2).sum(axis=1) - 2 * of_true_class + 1))


def _f1(codes: NDArray[np.int64], predicted: NDArray[np.int64], n_classes: int) -> tuple[float, float]:
    """F1 of each class, 2 hits / (true + predicted rows), averaged by true rows and plainly over classes that occur in
    either.
    """
    rows = np.bincount(codes, minlength=n_classes)
    answers = np.bincount(predicted, minlength=n_classes)
    occurs = rows + answers > 0
    hits = np.bincount(codes[codes == predicted], minlength=n_classes)[occurs]
    of_class = 2 * hits / (rows + answers)[occurs]
    return float(np.average(of_class, weights=rows[occurs])), float(of_class.mean())


def _roc_auc(codes: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    if probabilities.shape[1] == 2:
        return _area_under_roc(codes == 1, probabilities[:, 1])
    return float(np.mean([_area_under_roc(codes == k, column) for k, column in enumerate(probabilities.T)]))


def _area_under_roc(is_positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """Chance that a positive row outscores a negative one, ties counting half (Hanley and McNeil 1982)."""
    _, level, n_at_level = np.unique(scores, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(n_at_level) - (n_at_level - 1) / 2
    n_positive = np.count_nonzero(is_positive)
    n_pairs = n_positive * (len(scores) - n_positive)
    return float((mean_rank[level][is_positive].sum() - n_positive * (n_positive + 1) / 2) / n_pairs)
