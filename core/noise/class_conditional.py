"""Noise between classes that look alike (Wilton and Ye 2024, appendix J, Algorithm 1).

d_ij is the Mahalanobis distance between the means of classes i and j under their pooled covariance, s_ij = 1 / d_ij:

    clean share of class i     sum over j of d_ij, scaled linearly over the classes to 0.5 .. 0.9
    i observed as j            (1 - clean share) s_ij / sum over k of s_ik

The paper prints s_ij / (1 - s_ii) in the second line, whose rows do not sum to 1. It does not state the divisor of the
covariance; here it is n_i + n_j - 2, or 1 where that is none.
"""

import math
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.exceptions import InvalidInput, InvalidNoise
from core.monitoring import FitMonitor, NullMonitor, raise_if_stopped
from core.noise.transition import TransitionMatrix
from core.validation.training_data import encode_labels

#: The scaled shares of labels that stay clean.
_LEAST_CLEAN, _MOST_CLEAN = 0.5, 0.9
#: Two classes give one distance and so one share for both, which nothing can be scaled by.
FEWEST_CLASSES = 3
#: Of pairs of classes times features cubed, which the time grows with, and of numbers in covariances: 1 GiB.
MOST_STEPS, MOST_CELLS = 10**13, 2**27
#: Eigenvalues that the pseudo-inverse takes for zero are smaller by orders.
_LEAST_RECIPROCAL_CONDITION = 1e-8
#: The share of the largest eigenvalue that one of zero may be computed as.
_ROUNDING = 32 * np.finfo(np.float64).eps


class _ClassMoments(NamedTuple):
    n_rows: int
    mean: NDArray[np.float64]  # (feature,)
    scatter: NDArray[np.float64]  # (feature, feature): n_rows times the covariance


def class_conditional_transition(X: ArrayLike, y: Any) -> TransitionMatrix:
    """Noise rates by Mahalanobis distances between the classes of X (row, feature), labels y (row,), three or more.

    A missing value counts as the mean of its feature. Where a covariance has no inverse, as with constant features,
    its pseudo-inverse takes the place. Raises InvalidNoise for two classes, for classes with the same mean, where all
    shares agree and for more classes and features than `check_size` takes, InvalidInput for X that is no table of as
    many rows.
    """
    labels = encode_labels(y)
    return transition_by_distances(X, labels.codes, labels.classes)


def transition_by_distances(
    X: ArrayLike, codes: NDArray[Any], classes: NDArray[Any], monitor: FitMonitor | None = None
) -> TransitionMatrix:
    """`class_conditional_transition` for class numbers; a class without rows keeps its labels. Raises FitStopped when
    `monitor` asks for it.
    """
    present = np.unique(codes)
    check_class_count(len(present))
    filled = _filled(X, len(codes))
    check_size(len(present), filled.shape[1])
    distances = mahalanobis_distances(_in_units_of_spread(filled), codes, present, monitor)
    rows = np.eye(len(classes))
    rows[np.ix_(present, present)] = _rows_of(distances, classes[present])
    return TransitionMatrix.from_rows(rows, classes)


def check_class_count(n_classes: int) -> None:
    """Raise InvalidNoise for fewer classes than the rates can be scaled over."""
    if n_classes < FEWEST_CLASSES:
        raise InvalidNoise(
            f"noise 'class_conditional' scales its rates over {FEWEST_CLASSES} classes or more, and the labels have "
            f'{n_classes}. Of two classes say the rates yourself: {{"kind": "pairwise", "rates": [0.1, 0.3]}}.',
            "kind",
        )


def check_size(n_classes: int, n_features: int) -> None:
    """Raise InvalidNoise for more pairs of classes than one wants to wait for, or than fit into memory."""
    instead = 'Merge classes, use fewer features, or give the rates with {"kind": "matrix", "transition": [[...]]}.'
    met = f"noise 'class_conditional' met {n_classes} classes and {n_features} features, whose"
    steps = n_classes * (n_classes - 1) // 2 * n_features**3
    if steps > MOST_STEPS:
        raise InvalidNoise(
            f"{met} distances take {steps:.2g} steps (pairs of classes times features cubed); it takes "
            f"{MOST_STEPS:.2g} at most. {instead}",
            "kind",
        )
    cells = n_classes * n_features**2
    if cells > MOST_CELLS:
        raise InvalidNoise(
            f"{met} covariances have {cells:,} cells (classes times features squared); it holds {MOST_CELLS:,} at "
            f"most. {instead}",
            "kind",
        )


def mahalanobis_distances(
    X: NDArray[np.float64], codes: NDArray[Any], present: NDArray[Any], monitor: FitMonitor | None = None
) -> NDArray[np.float64]:
    """Distances between the means of the classes `present` (class,) under their pooled covariance, (class, class)."""
    watching, n_classes = monitor or NullMonitor(), len(present)
    watching.begin("measuring", n_classes * (n_classes - 1) // 2, "pairs of classes")
    moments = []
    for k in present:
        raise_if_stopped(watching.stop_flag)
        moments.append(_moments(X[codes == k]))
    moments = _where_something_varies(moments)
    distances = np.zeros((n_classes, n_classes))
    for n_done, (i, j) in enumerate(combinations(range(n_classes), 2), start=1):
        raise_if_stopped(watching.stop_flag)
        distances[i, j] = distances[j, i] = _distance(moments[i], moments[j])
        watching.advance(n_done)
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


def _where_something_varies(moments: list[_ClassMoments]) -> list[_ClassMoments]:
    """In a basis that leaves out what no class varies along, such as constant features and sums of other ones: no
    distance changes, as there every pseudo-inverse is 0, but of what is left more covariances have an inverse.
    """
    variances, directions = np.linalg.eigh(sum(one.scatter for one in moments))
    basis = directions[:, variances > _ROUNDING * variances[-1]]
    if basis.shape[1] in (0, len(basis)):
        return moments
    return [_ClassMoments(one.n_rows, one.mean @ basis, basis.T @ one.scatter @ basis) for one in moments]


def _distance(one: _ClassMoments, other: _ClassMoments) -> float:
    pooled = (one.scatter + other.scatter) / max(one.n_rows + other.n_rows - 2, 1)
    apart = one.mean - other.mean
    squared = _squared_by_cholesky(pooled, apart)
    return math.sqrt(_squared_by_pseudo_inverse(pooled, apart) if squared is None else squared)


def _squared_by_cholesky(pooled: NDArray[np.float64], apart: NDArray[np.float64]) -> float | None:
    """apart' pooled^-1 apart, at a tenth of the time of the pseudo-inverse; None where it might differ from that."""
    from scipy.linalg import lapack  # noqa: PLC0415  (a slow import that only this noise needs)

    upper, failed = lapack.dpotrf(pooled.T)
    if failed:
        return None
    reciprocal_condition, _ = lapack.dpocon(upper, np.abs(pooled).sum(axis=0).max())
    if not reciprocal_condition > _LEAST_RECIPROCAL_CONDITION:
        return None
    whitened, _ = lapack.dtrtrs(upper, apart, trans=1)
    return float(whitened @ whitened)


def _squared_by_pseudo_inverse(pooled: NDArray[np.float64], apart: NDArray[np.float64]) -> float:
    smallest = len(apart) * np.finfo(np.float64).eps
    return max(float(apart @ np.linalg.pinv(pooled, smallest, hermitian=True) @ apart), 0.0)


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
