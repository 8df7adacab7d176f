"""Checks and conversion of y, weights and rows to predict; those of X are in `core.validation.feature_table`, and
labels by themselves in `core.validation.labels`.
"""

import math
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.columns.encoded_table import EncodedTable
from core.exceptions import InvalidInput, InvalidParameter
from core.groups import Groups, encode_groups
from core.kernels.row_scans import has_infinity, narrow_exactly
from core.validation.categories import categorical_columns, encode_categories, fit_categories, values_are_codes
from core.validation.feature_table import rows_like_training, training_rows
from core.validation.labels import Codes, EncodedLabels, Labels, encode_labels, label_column, label_values
from core.validation.misplaced_arguments import check_equal_lengths, check_no_label_is_missing, check_order

ClassWeight = Mapping[Hashable, float] | str | None

#: Bounds of the number of rows times the largest weight, which keep all sums far from the limits of float64.
MIN_TOTAL_WEIGHT, MAX_TOTAL_WEIGHT = 2.0**-1000, 2.0**1000
#: Lightest row that trees are grown on, relative to the heaviest; the product of three such weights is above 0.
LEAST_RELATIVE_WEIGHT = 1e-100
#: Class numbers are stored in 16 bits during growth.
MAX_CLASSES = 2**16 - 1


class InputRows(NamedTuple):
    """Rows as passed to `fit`, including those of weight zero."""

    X: NDArray[Any]  # (row, feature), with the codes of categorical features
    codes: Codes  # (row,)
    sample_weights: NDArray[np.float64]  # (row,), without class weights
    is_training: NDArray[np.bool_]  # (row,), whether the row has a positive weight
    groups: Groups | None = None  # (row,)


class TrainingData(NamedTuple):
    """Rows to grow trees on, without rows of weight zero or of a weight that underflows next to the largest."""

    X: NDArray[Any]  # (row, feature) float32 or float64, NaN = missing; codes 0, 1, ... of categorical features
    is_categorical: NDArray[np.bool_]  # (feature,)
    labels: EncodedLabels
    weights: NDArray[np.float64]  # (row,), positive, in units of `weight_unit`; the largest is in [1, 2)
    weight_unit: float  # a power of two
    input_rows: InputRows
    groups: Groups | None = None  # (row,), of the rows that belong together


def training_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: ClassWeight, groups: Any = None
) -> TrainingData:
    """Check and convert the arguments of `fit`. Raises InvalidInput, or TypeError for values that are not numbers."""
    X, y = _checked_rows(estimator, X, y)
    labels = encode_labels(y)
    if len(labels.classes) > MAX_CLASSES:
        raise InvalidInput(
            f"y has {len(labels.classes)} distinct labels; at most {MAX_CLASSES} are supported. If y is a quantity, "
            "bin it into classes first."
        )
    sample_weights = row_weights(sample_weight, len(X))
    weights, unit = _scaled(sample_weights, class_weight_per_row(labels, class_weight))
    is_training, group_numbers = weights > 0, encode_groups(groups, len(X))
    by_type = None if estimator.columns_ is None else categorical_columns(estimator.columns_)
    X = fit_categories(estimator, X, by_type)
    is_categorical = estimator.is_categorical_ if estimator.is_categorical_ is not None else np.zeros(X.shape[1], bool)
    input_rows = InputRows(X, labels.codes, sample_weights, is_training, group_numbers)
    if is_training.all():
        return TrainingData(X, is_categorical, labels, weights, unit, input_rows, group_numbers)
    training_labels = labels[is_training]
    training_groups = None if group_numbers is None else group_numbers[is_training]
    return TrainingData(
        X[is_training], is_categorical, training_labels, weights[is_training], unit, input_rows, training_groups
    )


def row_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """Return the weight of each row, float64 (row,): 1 for None, a single number for all rows. Raises InvalidInput."""
    if sample_weight is None:
        return np.ones(n_rows, dtype=np.float64)
    if isinstance(sample_weight, np.ma.MaskedArray) and np.ma.is_masked(sample_weight):
        raise InvalidInput("sample_weight has masked weights; pass 0 for rows that should not count.")
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            "sample_weight contains values that are not numbers; pass a number of at least 0 per row. Labels are the "
            "second argument, y."
        ) from None
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise InvalidInput(f"sample_weight has shape {weights.shape}; it must have one weight per row, ({n_rows},).")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InvalidInput("sample_weight contains a negative or infinite weight or NaN; weights must be at least 0.")
    return weights


def check_some_weight(weights: NDArray[np.float64]) -> None:
    """Raise InvalidInput if all weights (row,) are 0."""
    if not weights.any():
        raise InvalidInput("all rows have weight zero; at least one row needs a positive weight.")


def _scaled(
    sample_weights: NDArray[np.float64], class_weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Return the weights of rows in units of the largest power of two that is at most the largest weight, and the unit.

    Growth multiplies weights, which must neither overflow nor underflow. Scaling by a power of two is exact. A row that
    weighs less than `LEAST_RELATIVE_WEIGHT` is left out like one of weight 0.
    """
    with np.errstate(over="ignore", under="ignore"):
        weights = sample_weights * class_weights
    check_some_weight(weights)
    largest = float(weights.max())
    if not MIN_TOTAL_WEIGHT <= largest * len(weights) <= MAX_TOTAL_WEIGHT:
        raise InvalidInput(
            f"the largest of the {len(weights)} weights is {largest:g}; multiplied by the number of rows it must be "
            f"between {MIN_TOTAL_WEIGHT:.0e} and {MAX_TOTAL_WEIGHT:.0e}. Scale all weights by the same factor; "
            "trees depend only on their ratios."
        )
    exponent = math.frexp(largest)[1] - 1
    with np.errstate(under="ignore"):
        relative = np.ldexp(weights, -exponent)
    relative[relative < LEAST_RELATIVE_WEIGHT] = 0.0
    return relative, math.ldexp(1.0, exponent)


def _checked_rows(estimator: Any, X: Any, y: Any) -> tuple[NDArray[Any], Labels]:
    if y is None:
        raise InvalidInput("requires y to be passed, but the target y is None")
    check_order(X, y)
    X = training_rows(estimator, X)
    y = label_column(y)
    check_equal_lengths(len(X), len(y))
    values = label_values(y)
    check_no_label_is_missing(y)
    if values.dtype.kind == "f":
        if np.isinf(values).any():
            raise InvalidInput("y contains infinity; remove those rows, since every row needs a label.")
        if (values != np.floor(values)).any():
            raise InvalidInput(
                "Unknown label type: continuous. Labels are classes; if the fractions are class names, pass them as "
                "objects or as text."
            )
    return X, y


def prediction_rows(estimator: Any, X: Any) -> NDArray[Any]:
    """Return rows to predict, finite or NaN: float32 if it represents every number exactly, otherwise float64.

    Categorical features have their codes; a value without a code is NaN.

    Raises InvalidInput and TypeError.
    """
    rows = _encoded_rows(estimator, X)
    if _needs_no_cast(estimator, rows) and not has_infinity(rows):
        return _narrowed(rows)
    return _narrowed(encode_categories(estimator, rows_like_training(estimator, X)))


def _narrowed(X: NDArray[Any]) -> NDArray[Any]:
    """Return float32 rows if they equal X, such as for integers; comparisons are the same in half the memory."""
    if X.dtype == np.float64 and X.flags.carray:
        narrow = np.empty(X.shape, dtype=np.float32)
        if narrow_exactly(X, narrow):
            return narrow
    return X


def _encoded_rows(estimator: Any, X: Any) -> Any:
    """Return the array of X if no name or column has to be checked, otherwise None."""
    if type(X) is EncodedTable:
        return X.X if X.columns is estimator.columns_ else None
    return None if hasattr(estimator, "feature_names_in_") else X


def _needs_no_cast(estimator: Any, X: Any) -> bool:
    """Return whether the checks, which take longer than predicting one row, would return X unchanged."""
    return (
        type(X) is np.ndarray
        and (X.dtype == np.float32 or X.dtype == np.float64)
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and bool(X.flags.carray)
        and values_are_codes(estimator)
    )


def class_weight_per_row(labels: EncodedLabels, class_weight: ClassWeight) -> NDArray[np.float64]:
    """Return the class weight of each row, (row,).

    "balanced" is n_rows / (n_classes * n_rows_in_class). The keys of a mapping are labels or their text.
    """
    weights: NDArray[np.float64] = class_weight_per_class(labels, class_weight)[labels.codes]
    return weights


def class_weight_per_class(labels: EncodedLabels, class_weight: ClassWeight) -> NDArray[np.float64]:
    """Return the weight of each class, (class,)."""
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
            f"class_weight has the keys {sorted(unknown)}, which are not labels of y; the labels are {classes}."
        )
    return np.array([class_weight.get(k, by_text.get(str(k), 1.0)) for k in classes], dtype=np.float64)
