"""Metrics of fitted classifiers: the same function serves jobs, tests and benchmarks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidInput
from core.validation import class_codes

#: scikit-learn's metrics take two columns or more; a model of one class gets an empty second one.
_FEWEST_COLUMNS = 2


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
    n_classes = len(estimator.classes_) + n_unseen
    n_empty = max(n_classes, _FEWEST_COLUMNS) - len(estimator.classes_)
    probabilities = np.pad(estimator.predict_proba(X), ((0, 0), (0, n_empty)))
    predicted = probabilities.argmax(axis=1)
    report: dict[str, Any] = {
        **_scores_of_classes(codes, predicted),
        **_scores_of_probabilities(codes, probabilities),
        "n_rows": len(codes),
        "confusion": _confusion(codes, predicted, probabilities.shape[1])[:n_classes, :n_classes].tolist(),
    }
    if n_unseen == 0 and len(np.unique(codes)) == probabilities.shape[1]:
        report["roc_auc"] = _roc_auc(codes, probabilities)
    return report


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


def _confusion(codes: NDArray[np.int64], predicted: NDArray[np.int64], n_columns: int) -> NDArray[np.int64]:
    """Rows by true (first) and predicted class."""
    from sklearn import metrics  # noqa: PLC0415

    table: NDArray[np.int64] = metrics.confusion_matrix(codes, predicted, labels=range(n_columns))
    return table


def _scores_of_probabilities(codes: NDArray[np.int64], probabilities: NDArray[np.float64]) -> dict[str, float]:
    """Scores of probabilities (row, class); p = 0 of the true class counts as the machine epsilon in the logarithm."""
    from sklearn import metrics  # noqa: PLC0415

    labels = range(probabilities.shape[1])
    return {
        "log_loss": float(metrics.log_loss(codes, probabilities, labels=labels)),
        "brier": float(metrics.brier_score_loss(codes, probabilities, labels=labels, scale_by_half=False)),
    }


def _roc_auc(codes: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    from sklearn import metrics  # noqa: PLC0415

    scores = probabilities[:, 1] if probabilities.shape[1] == _FEWEST_COLUMNS else probabilities
    return float(metrics.roc_auc_score(codes, scores, multi_class="ovr", average="macro"))
