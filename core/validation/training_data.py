"""Where y, weights and probabilities are checked and cast; X is in `core.validation.feature_table`."""

import math
import warnings
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidInput, InvalidParameter
from core.kernels.row_scans import has_infinity, narrow_exactly
from core.validation.feature_table import rows_like_training, training_rows

ClassWeight = Mapping[Hashable, float] | str | None

#: Bounds of rows times the largest weight: sums over any sample stay far from where float64 ends.
_LIGHTEST, _HEAVIEST = 2.0**-1000, 2.0**1000
#: Class numbers are kept in 16 bits while trees grow.
MOST_CLASSES = 2**16 - 1


class EncodedLabels(NamedTuple):
    """classes (class,) sorted; codes int32 (row,) with labels == classes[codes]."""

    classes: NDArray[Any]
    codes: NDArray[np.int32]


class GivenRows(NamedTuple):
    """The rows as `fit` got them, those of weight zero too."""

    X: NDArray[Any]  # (row, feature)
    codes: NDArray[np.int32]  # (row,)
    sample_weights: NDArray[np.float64]  # (row,), without class weights
    kept: NDArray[np.bool_]  # (row,), which rows train


class TrainingData(NamedTuple):
    """What growth needs. Rows of weight zero are gone, also those that come to zero beside the heaviest row."""

    X: NDArray[Any]  # (row, feature) float32 or float64, NaN = missing
    labels: EncodedLabels
    weights: NDArray[np.float64]  # (row,), positive, in units of `weight_unit`; the largest is in [1, 2)
    weight_unit: float  # a power of two
    given: GivenRows


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
    """Check and cast what `fit` was given. Raises InvalidInput, or TypeError for what is no number."""
    X, y = _checked_rows(estimator, X, y)
    labels = encode_labels(y)
    if len(labels.classes) > MOST_CLASSES:
        raise InvalidInput(
            f"y has {len(labels.classes)} distinct labels; at most {MOST_CLASSES} are possible. If y is a quantity, "
            "cut it into classes first."
        )
    sample_weights = sample_weights_of(sample_weight, len(X))
    weights, unit = _scaled(sample_weights, class_weight_of_rows(labels, class_weight))
    kept = weights > 0
    given = GivenRows(X, labels.codes, sample_weights, kept)
    if kept.all():
        return TrainingData(X, labels, weights, unit, given)
    return TrainingData(X[kept], labels._replace(codes=labels.codes[kept]), weights[kept], unit, given)


def sample_weights_of(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """The weight of each row, float64 (row,): ones for None, one number for all. Raises InvalidInput."""
    if sample_weight is None:
        return np.ones(n_rows, dtype=np.float64)
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("sample_weight holds what is no number; give one number of at least 0 per row.") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise InvalidInput(f"sample_weight has shape {weights.shape}; it must have one weight per row, ({n_rows},).")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InvalidInput("sample_weight holds a negative or infinite weight, or NaN; weights must be at least 0.")
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
    X = training_rows(estimator, X)
    y = label_column(y)
    if y.shape[0] != X.shape[0]:
        raise InvalidInput(f"X has {X.shape[0]} rows and y has {y.shape[0]} labels; they must be as many.")
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise InvalidInput("y contains NaN or infinity; drop those rows, a label cannot be missing.")
        if (y != np.floor(y)).any():
            raise InvalidInput(
                "Unknown label type: continuous. Labels are classes; if fractions are names of classes, give them as "
                "objects or as text."
            )
    return X, y


def label_column(y: Any) -> NDArray[Any]:
    """Labels (row,); a column (row, 1) passes with scikit-learn's warning."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning  # noqa: PLC0415  (too slow an import for a rare case)

        text = "A column-vector y was passed when a 1d array was expected. Please change its shape to (n_samples,)."
        warnings.warn(text, DataConversionWarning, stacklevel=5)
        return labels[:, 0]
    if labels.ndim != 1:
        raise InvalidInput(f"y should be a 1d array, got an array of shape {labels.shape} instead.")
    return labels


def class_codes(classes: NDArray[Any], y: Any) -> tuple[NDArray[np.int64], int]:
    """Class numbers of the labels y, and how many labels are not among `classes`; those are numbered after them.

    A class may be rare enough to occur in a test part alone, or lose all its training labels to noise.
    """
    labels = encode_labels(y)
    position = {label: k for k, label in enumerate(classes.tolist())}
    n_known = len(position)
    numbers = [position.setdefault(label, len(position)) for label in labels.classes.tolist()]
    codes: NDArray[np.int64] = np.array(numbers, dtype=np.int64)[labels.codes]
    return codes, len(position) - n_known


def prediction_rows(estimator: Any, X: Any) -> NDArray[Any]:
    """Rows for the votes, in any order: float32 where it holds every number exactly, else float64; finite or NaN.
    Raises InvalidInput and TypeError.
    """
    if _needs_no_cast(estimator, X) and not has_infinity(X):
        return _narrowed(X)
    return _narrowed(rows_like_training(estimator, X))


def _narrowed(X: NDArray[Any]) -> NDArray[Any]:
    """Integers and what was float32 before need half the memory; the same comparisons hold."""
    if X.dtype == np.float64 and X.flags.carray:
        narrow = np.empty(X.shape, dtype=np.float32)
        if narrow_exactly(X, narrow):
            return narrow
    return X


def _needs_no_cast(estimator: Any, X: Any) -> bool:
    """Whether X is what the checks, which take longer than one row's prediction, would return as it is."""
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
    weights: NDArray[np.float64] = class_weights_of(labels, class_weight)[labels.codes]
    return weights


def class_weights_of(labels: EncodedLabels, class_weight: ClassWeight) -> NDArray[np.float64]:
    """The weight of each class, (class,)."""
    n_classes = len(labels.classes)
    if class_weight is None:
        return np.ones(n_classes)
    if isinstance(class_weight, str):
        counts = np.bincount(labels.codes, minlength=n_classes)
        return np.asarray(len(labels.codes) / (n_classes * counts))
    return _from_mapping(labels.classes.tolist(), class_weight)


def _from_mapping(classes: list[Any], class_weight: Mapping[Hashable, float]) -> NDArray[np.float64]:
    by_text = {str(key): weight for key, weight in class_weight.items()}
    missing = [label for label in classes if label not in class_weight and str(label) not in by_text]
    unknown = set(by_text) - {str(label) for label in classes}
    if missing and unknown:
        raise InvalidParameter(
            f"class_weight names {sorted(unknown)}, which are no labels of y; the labels are {classes}."
        )
    return np.array([class_weight.get(k, by_text.get(str(k), 1.0)) for k in classes], dtype=np.float64)
