"""The only place where X, y, weights and probabilities are checked and cast."""

import math
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from core.exceptions import InvalidInput, InvalidParameter
from core.kernels.row_scans import has_infinity, narrow_exactly

ClassWeight = Mapping[Hashable, float] | str | None

#: Bounds of rows times the largest weight: sums over any sample stay far from where float64 ends.
_LIGHTEST, _HEAVIEST = 2.0**-1000, 2.0**1000


class EncodedLabels(NamedTuple):
    """classes (class,) sorted; codes int32 (row,) with labels == classes[codes]."""

    classes: NDArray[Any]
    codes: NDArray[np.int32]


class TrainingData(NamedTuple):
    """What growth needs. Rows of weight zero are gone, also those that come to zero beside the heaviest row."""

    X: NDArray[Any]  # (row, feature) float32 or float64, NaN = missing
    labels: EncodedLabels
    weights: NDArray[np.float64]  # (row,), positive, in units of `weight_unit`; the largest is in [1, 2)
    weight_unit: float  # a power of two


def encode_labels(y: Any) -> EncodedLabels:
    """Sort the distinct labels, numbers by value; labels that cannot be compared are ordered by type, then by text."""
    y = np.asarray(y)
    if y.dtype != object:
        classes, codes = np.unique(y, return_inverse=True)
        return EncodedLabels(classes, codes.astype(np.int32))
    distinct = list(dict.fromkeys(y.tolist()))
    try:
        distinct.sort()
    except TypeError:
        distinct.sort(key=lambda label: (type(label).__name__, str(label)))
    position = {label: k for k, label in enumerate(distinct)}
    classes = np.empty(len(distinct), dtype=object)
    classes[:] = distinct
    return EncodedLabels(classes, np.array([position[label] for label in y.tolist()], dtype=np.int32))


def training_data(estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: ClassWeight) -> TrainingData:
    """Check and cast what `fit` was given. Raises InvalidInput, or scikit-learn's ValueErrors for shapes and for
    infinite features.
    """
    X, y = _checked_rows(estimator, X, y)
    labels = encode_labels(y)
    weights, unit = _scaled(_sample_weights(sample_weight, X), class_weight_of_rows(labels, class_weight))
    kept = weights > 0
    if kept.all():
        return TrainingData(X, labels, weights, unit)
    return TrainingData(X[kept], labels._replace(codes=labels.codes[kept]), weights[kept], unit)


def _sample_weights(sample_weight: Any, X: NDArray[Any]) -> NDArray[np.float64]:
    try:
        weights: NDArray[np.float64] = _check_sample_weight(
            sample_weight,
            X,
            dtype=np.float64,
            ensure_non_negative=True,
            allow_all_zero_weights=True,  # refused later, together with weights that class_weight makes zero
        )
    except ValueError as error:
        raise InvalidInput(str(error)) from None
    return weights


def _scaled(
    sample_weights: NDArray[np.float64], class_weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """The rows' weights in units of the largest power of two that none exceeds, and that unit.

    Growth multiplies weights, which must not overflow or vanish; a power of two changes no digit of them.
    """
    with np.errstate(over="ignore", under="ignore"):
        weights = sample_weights * class_weights
    largest = float(weights.max())
    if largest == 0:
        raise InvalidInput("all rows have weight zero; give at least one row a positive weight.")
    if not _LIGHTEST <= largest * len(weights) <= _HEAVIEST:
        raise InvalidInput(
            f"the largest weight of the {len(weights)} rows is {largest:g}; times the number of rows it must be "
            f"between {_LIGHTEST:.0e} and {_HEAVIEST:.0e}. Scale all weights by the same number: only their ratios "
            "shape a tree."
        )
    exponent = math.frexp(largest)[1] - 1
    with np.errstate(under="ignore"):
        return np.ldexp(weights, -exponent), math.ldexp(1.0, exponent)


def _checked_rows(estimator: Any, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    if y is None:
        raise InvalidInput("requires y to be passed, but the target y is None")
    X = validate_data(estimator, X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", ensure_min_samples=1)
    y = column_or_1d(y, warn=True)
    if y.shape[0] != X.shape[0]:
        raise InvalidInput(f"X has {X.shape[0]} rows and y has {y.shape[0]} labels; they must be as many.")
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise InvalidInput("y contains NaN or infinity; drop those rows, a label cannot be missing.")
        check_classification_targets(y)
    return X, y


def prediction_rows(estimator: Any, X: Any) -> NDArray[Any]:
    """Rows for the votes, in any order: float32 where it holds every number exactly, else float64; finite or NaN.
    Raises scikit-learn's ValueErrors.
    """
    if _needs_no_cast(estimator, X) and not has_infinity(X):
        return _narrowed(X)
    X = validate_data(estimator, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
    return _narrowed(X)


def _narrowed(X: NDArray[Any]) -> NDArray[Any]:
    """Integers and what was float32 before need half the memory; the same comparisons hold."""
    if X.dtype == np.float64 and X.flags.carray:
        narrow = np.empty(X.shape, dtype=np.float32)
        if narrow_exactly(X, narrow):
            return narrow
    return X


def _needs_no_cast(estimator: Any, X: Any) -> bool:
    """Whether X is what scikit-learn's checks, which take longer than one row's prediction, would return as it is."""
    return (
        type(X) is np.ndarray
        and (X.dtype == np.float32 or X.dtype == np.float64)
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and bool(X.flags.carray)
        and not hasattr(estimator, "feature_names_in_")
    )


def class_weight_of_rows(labels: EncodedLabels, class_weight: ClassWeight) -> NDArray[np.float64]:
    """The class weight of each row. "balanced" = rows / (classes * rows of the class). Mapping keys are labels or
    their text.
    """
    n_classes = len(labels.classes)
    if class_weight is None:
        per_class = np.ones(n_classes)
    elif isinstance(class_weight, str):
        counts = np.bincount(labels.codes, minlength=n_classes)
        per_class = len(labels.codes) / (n_classes * counts)
    else:
        per_class = _from_mapping(labels.classes.tolist(), class_weight)
    weights: NDArray[np.float64] = per_class[labels.codes]
    return weights


def _from_mapping(classes: list[Any], class_weight: Mapping[Hashable, float]) -> NDArray[np.float64]:
    by_text = {str(key): weight for key, weight in class_weight.items()}
    missing = [label for label in classes if label not in class_weight and str(label) not in by_text]
    unknown = set(by_text) - {str(label) for label in classes}
    if missing and unknown:
        raise InvalidParameter(
            f"class_weight names {sorted(unknown)}, which are no labels of y; the labels are {classes}."
        )
    return np.array([class_weight.get(k, by_text.get(str(k), 1.0)) for k in classes], dtype=np.float64)
