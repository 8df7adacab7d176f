"""Class-conditional noise between similar classes (Wilton and Ye 2024, appendix J, Algorithm 1).

d_ij is the Mahalanobis distance between the means of classes i and j under their pooled covariance, s_ij = 1 / d_ij:

    clean share of class i     sum over j of d_ij, scaled linearly over the classes to 0.5 .. 0.9
    i observed as j            (1 - clean share) s_ij / sum over k of s_ik

The paper prints s_ij / (1 - s_ii) in the second line, which gives rows that do not sum to 1. It does not state the
divisor of the covariance. Here it is n_i + n_j - 2, but at least 1.
"""

import math
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.columns.frames import rows_of_frame
from core.exceptions import InvalidInput, InvalidNoise
from core.monitoring import FitMonitor, NullMonitor, raise_if_stopped
from core.noise.transition import TransitionMatrix
from core.validation.feature_table import float_array
from core.validation.labels import encode_labels

#: Range of the scaled shares of clean labels.
_MIN_CLEAN, _MAX_CLEAN = 0.5, 0.9
#: With two classes there is a single distance, so the shares cannot be scaled.
MIN_CLASSES = 3
#: Limits on the time (pairs of classes times features cubed) and on the memory of the covariances (1 GiB).
MAX_STEPS, MAX_CELLS = 10**13, 2**27
#: The eigenvalues that the pseudo-inverse treats as zero are orders of magnitude smaller.
_MIN_RECIPROCAL_CONDITION = 1e-8
#: Rounding error of a zero eigenvalue, as a share of the largest eigenvalue.
_ROUNDING = 32 * np.finfo(np.float64).eps


class _ClassMoments(NamedTuple):
    n_rows: int
    mean: NDArray[np.float64]  # (feature,)
    scatter: NDArray[np.float64]  # (feature, feature): n_rows times the covariance


def class_conditional_transition(X: ArrayLike, y: Any) -> TransitionMatrix:
    """Return the transition matrix that follows from the Mahalanobis distances between the classes of X (row, feature)
    with labels y (row,) of three or more classes.

    A missing value is replaced by the mean of its feature. If a covariance is singular, as with constant features, its
    pseudo-inverse is used.

    Raises InvalidNoise for two classes, for classes with the same mean, for classes at equal distances, and for more
    classes and features than `check_size` allows. Raises InvalidInput if X is not a table with one row per label.
    """
    labels = encode_labels(y)
    return transition_by_distances(X, labels.codes, labels.classes)


def transition_by_distances(
    X: ArrayLike, codes: NDArray[Any], classes: NDArray[Any], monitor: FitMonitor | None = None
) -> TransitionMatrix:
    """Return `class_conditional_transition` for class numbers. A class without rows keeps its labels.

    Raises FitStopped when `monitor` asks for it.
    """
    present = np.unique(codes)
    check_class_count(len(present))
    filled = _filled(X, len(codes))
    check_size(len(present), filled.shape[1])
    distances = mahalanobis_distances(_standardized(filled), codes, present, monitor)
    rows = np.eye(len(classes))
    rows[np.ix_(present, present)] = _transition_rows(distances, classes[present])
    return TransitionMatrix.from_rows(rows, classes)


def check_class_count(n_classes: int) -> None:
    """Raise InvalidNoise for fewer than MIN_CLASSES classes."""
    if n_classes < MIN_CLASSES:
        raise InvalidNoise(
            f"noise 'class_conditional' requires at least {MIN_CLASSES} classes, and the labels have {n_classes}. For "
            'two classes, specify the rates: {"kind": "pairwise", "rates": [0.1, 0.3]}.',
            "kind",
        )


def check_size(n_classes: int, n_features: int) -> None:
    """Raise InvalidNoise if the distances would take too much time or memory."""
    way_out = 'Merge classes, use fewer features, or specify the rates: {"kind": "matrix", "transition": [[...]]}.'
    size = f"noise 'class_conditional' of {n_classes} classes and {n_features} features"
    steps = n_classes * (n_classes - 1) // 2 * n_features**3
    if steps > MAX_STEPS:
        raise InvalidNoise(
            f"{size} requires {steps:.2g} steps (pairs of classes times features cubed); the limit is "
            f"{MAX_STEPS:.2g}. {way_out}",
            "kind",
        )
    cells = n_classes * n_features**2
    if cells > MAX_CELLS:
        raise InvalidNoise(
            f"{size} requires covariances of {cells:,} cells (classes times features squared); the limit is "
            f"{MAX_CELLS:,}. {way_out}",
            "kind",
        )


def mahalanobis_distances(
    X: NDArray[np.float64], codes: NDArray[Any], present: NDArray[Any], monitor: FitMonitor | None = None
) -> NDArray[np.float64]:
    """Return the distances between the means of the classes `present` (class,) under their pooled covariance,
    (class, class).
    """
    progress, n_classes = monitor or NullMonitor(), len(present)
    progress.begin("measuring", n_classes * (n_classes - 1) // 2, "pairs of classes")
    moments = []
    for k in present:
        raise_if_stopped(progress.stop_flag)
        moments.append(_moments(X[codes == k]))
    moments = _without_constant_directions(moments)
    distances = np.zeros((n_classes, n_classes))
    for n_done, (i, j) in enumerate(combinations(range(n_classes), 2), start=1):
        raise_if_stopped(progress.stop_flag)
        distances[i, j] = distances[j, i] = _distance(moments[i], moments[j])
        progress.advance(n_done)
    return distances


def _filled(X: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Return X as float64 with missing values replaced by means, each column divided by a power of two.

    That loses no digit, but squares of the largest and the smallest numbers become representable. Raises InvalidInput.
    """
    rows = np.array(float_array(rows_of_frame(X)), dtype=np.float64)
    if rows.ndim != 2 or len(rows) != n_rows or rows.shape[1] == 0 or np.isinf(rows).any():
        raise InvalidInput(
            f"X has shape {rows.shape} for {n_rows} labels; it must be a table of finite numbers or NaN with one row "
            "per label and at least one feature."
        )
    missing = np.isnan(rows)
    present = np.where(missing, 0.0, rows)
    scaled = np.ldexp(present, -np.frexp(np.abs(present).max(axis=0))[1])
    means = scaled.sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
    return np.asarray(np.where(missing, means, scaled))


def _standardized(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return X with zero mean and unit variance. Distances do not change, but the tolerance for singular covariances
    no longer depends on the units of measurement.
    """
    spread = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _moments(rows: NDArray[np.float64]) -> _ClassMoments:
    mean = rows.mean(axis=0)
    centered = rows - mean
    return _ClassMoments(len(rows), mean, centered.T @ centered)


def _without_constant_directions(moments: list[_ClassMoments]) -> list[_ClassMoments]:
    """Return the moments in a basis without directions in which no class varies, such as constant features and sums of
    other features. Every pseudo-inverse is 0 in these directions, so distances do not change, but more of the remaining
    covariances are invertible.
    """
    variances, directions = np.linalg.eigh(sum(one.scatter for one in moments))
    basis = directions[:, variances > _ROUNDING * variances[-1]]
    if basis.shape[1] in (0, len(basis)):
        return moments
    return [_ClassMoments(one.n_rows, one.mean @ basis, basis.T @ one.scatter @ basis) for one in moments]


def _distance(one: _ClassMoments, other: _ClassMoments) -> float:
    pooled = (one.scatter + other.scatter) / max(one.n_rows + other.n_rows - 2, 1)
    difference = one.mean - other.mean
    squared = _cholesky_squared_distance(pooled, difference)
    return math.sqrt(_pseudo_inverse_squared_distance(pooled, difference) if squared is None else squared)


def _cholesky_squared_distance(pooled: NDArray[np.float64], difference: NDArray[np.float64]) -> float | None:
    """Return difference' pooled^-1 difference, in a tenth of the time of the pseudo-inverse.

    Return None if the result might differ from that of the pseudo-inverse.
    """
    from scipy.linalg import lapack  # noqa: PLC0415  (a slow import that only this noise needs)

    upper, failed = lapack.dpotrf(pooled.T)
    if failed:
        return None
    reciprocal_condition, _ = lapack.dpocon(upper, np.abs(pooled).sum(axis=0).max())
    if not reciprocal_condition > _MIN_RECIPROCAL_CONDITION:
        return None
    whitened, _ = lapack.dtrtrs(upper, difference, trans=1)
    return float(whitened @ whitened)


def _pseudo_inverse_squared_distance(pooled: NDArray[np.float64], difference: NDArray[np.float64]) -> float:
    smallest = len(difference) * np.finfo(np.float64).eps
    return max(float(difference @ np.linalg.pinv(pooled, smallest, hermitian=True) @ difference), 0.0)


def _transition_rows(distances: NDArray[np.float64], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the transition matrix of steps 2 to 4 of the algorithm, (class, class)."""
    off_diagonal = ~np.eye(len(distances), dtype=bool)
    if (distances[off_diagonal] == 0).any():
        i, j = np.argwhere((distances == 0) & off_diagonal)[0]
        names = classes.tolist()
        raise InvalidNoise(
            f"classes {names[i]!r} and {names[j]!r} have the same mean in X; their distance must be above 0. Specify "
            'the rates: {"kind": "matrix", "transition": [[...]]}.',
            "kind",
        )
    similarity = np.divide(1.0, distances, out=np.zeros_like(distances), where=off_diagonal)
    clean = _scaled_clean_shares(distances.sum(axis=1))
    rows = similarity * ((1.0 - clean) / similarity.sum(axis=1))[:, np.newaxis]
    np.fill_diagonal(rows, clean)
    return np.asarray(rows)


def _scaled_clean_shares(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    span = np.ptp(sums)
    if span <= 1e-12 * sums.max():
        raise InvalidNoise(
            "all classes are equally far from the others, so their rates cannot be scaled. Specify the rates: "
            '{"kind": "matrix", "transition": [[...]]}, or use {"kind": "uniform", "rate": 0.2}.',
            "kind",
        )
    return np.asarray(_MIN_CLEAN + (_MAX_CLEAN - _MIN_CLEAN) * (sums - sums.min()) / span)
