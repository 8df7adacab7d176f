"""Noise between classes that look alike (Wilton and Ye 2024, appendix J, Algorithm 1).

d_ij is the Mahalanobis distance between the means of classes i and j under their pooled covariance, s_ij = 1 / d_ij:

    clean share of class i     sum over j of d_ij, scaled linearly over the classes to 0.5 .. 0.9
    i observed as j            (1 - clean share) s_ij / sum over k of s_ik

The paper prints s_ij / (1 - s_ii) in the second line, whose rows do not sum to 1. It does not state the divisor of the
covariance; here it is n_i + n_j - 2, or 1 where that is none.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.exceptions import InvalidInput, InvalidNoise
from core.noise.transition import TransitionMatrix
from core.validation import encode_labels

#: The scaled shares of labels that stay clean.
_LEAST_CLEAN, _MOST_CLEAN = 0.5, 0.9
#: Two classes give one distance and so one share for both, which nothing can be scaled by.
FEWEST_CLASSES = 3


class _ClassMoments(NamedTuple):
    n_rows: int
    mean: NDArray[np.float64]  # (feature,)
    scatter: NDArray[np.float64]  # (feature, feature): n_rows times the covariance


def class_conditional_transition(X: ArrayLike, y: Any) -> TransitionMatrix:
    """Noise rates by Mahalanobis distances between the classes of X (row, feature), labels y (row,), three or more.

    A missing value counts as the mean of its feature. Where a covariance has no inverse, as with constant features,
    its pseudo-inverse takes the place. Raises InvalidNoise for two classes, for classes with the same mean and where
    all shares agree, InvalidInput for X that is no table of as many rows.
    """
    labels = encode_labels(y)
    return transition_by_distances(X, labels.codes, labels.classes)


def transition_by_distances(X: ArrayLike, codes: NDArray[Any], classes: NDArray[Any]) -> TransitionMatrix:
    """`class_conditional_transition` for class numbers; a class without rows keeps its labels."""
    present = np.unique(codes)
    check_class_count(len(present))
    distances = mahalanobis_distances(_in_units_of_spread(_filled(X, len(codes))), codes, present)
    rows = np.eye(len(classes))
    rows[np.ix_(present, present)] = _rows_of(distances, classes[present])
    return TransitionMatrix.from_rows(rows, classes)


def check_class_count(n_classes: int) -> None:
    """Raise InvalidNoise for fewer classes than the rates can be scaled over."""
    if n_classes < FEWEST_CLASSES:
        raise InvalidNoise(
            f"noise 'class_conditional' met {n_classes} classes; its rates are scaled over {FEWEST_CLASSES} classes or "
            'more. With two classes say the rates yourself: {"kind": "pairwise", "rates": [0.1, 0.3]}.',
            "kind",
        )


def mahalanobis_distances(X: NDArray[np.float64], codes: NDArray[Any], present: NDArray[Any]) -> NDArray[np.float64]:
    """Distances between the means of the classes `present` (class,) under their pooled covariance, (class, class)."""
    moments = [_moments(X[codes == k]) for k in present]
    distances = np.zeros((len(present), len(present)))
    for i in range(len(present)):
        for j in range(i):
            distances[i, j] = distances[j, i] = _distance(moments[i], moments[j])
    return distances


def _filled(X: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """X as float64 without missing values. Raises InvalidInput."""
    rows = np.array(X, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != n_rows or rows.shape[1] == 0 or np.isinf(rows).any():
        raise InvalidInput(
            f"X has shape {rows.shape} for {n_rows} labels; it must be a table with one row per label and at least "
            "one feature, of finite numbers or NaN."
        )
    missing = np.isnan(rows)
    n_present = np.maximum((~missing).sum(axis=0), 1)
    means = np.where(missing, 0.0, rows).sum(axis=0) / n_present
    return np.where(missing, means, rows)


def _in_units_of_spread(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """No distance changes, but what counts as singular then depends on no unit of measure."""
    spread = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _moments(rows: NDArray[np.float64]) -> _ClassMoments:
    mean = rows.mean(axis=0)
    centred = rows - mean
    return _ClassMoments(len(rows), mean, centred.T @ centred)


def _distance(one: _ClassMoments, other: _ClassMoments) -> float:
    pooled = (one.scatter + other.scatter) / max(one.n_rows + other.n_rows - 2, 1)
    apart = one.mean - other.mean
    smallest = len(apart) * np.finfo(np.float64).eps
    squared = apart @ np.linalg.pinv(pooled, smallest, hermitian=True) @ apart
    return math.sqrt(max(float(squared), 0.0))


def _rows_of(distances: NDArray[np.float64], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Steps 2 to 4 of the algorithm, (class, class)."""
    off_diagonal = ~np.eye(len(distances), dtype=bool)
    if (distances[off_diagonal] == 0).any():
        i, j = np.argwhere((distances == 0) & off_diagonal)[0]
        names = classes.tolist()
        raise InvalidNoise(
            f"classes {names[i]!r} and {names[j]!r} have the same mean in X, and a distance of 0 gives no rate; "
            'give the rates yourself with {"kind": "matrix", "transition": [[...]]}.',
            "kind",
        )
    similarity = np.divide(1.0, distances, out=np.zeros_like(distances), where=off_diagonal)
    clean = _scaled(distances.sum(axis=1))
    rows = similarity * ((1.0 - clean) / similarity.sum(axis=1))[:, np.newaxis]
    np.fill_diagonal(rows, clean)
    return np.asarray(rows)


def _scaled(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    span = np.ptp(sums)
    if span <= 1e-12 * sums.max():
        raise InvalidNoise(
            "all classes are equally far from the others, so that their rates cannot be scaled; give them yourself "
            'with {"kind": "matrix", "transition": [[...]]}, or use {"kind": "uniform", "rate": 0.2}.',
            "kind",
        )
    return np.asarray(_LEAST_CLEAN + (_MOST_CLEAN - _LEAST_CLEAN) * (sums - sums.min()) / span)
