"""Checks and conversion of X to float arrays, and of feature names and counts between fit and prediction.

Messages follow scikit-learn's wording, which its estimator checks look for.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidInput

_MAX_NAMES_SHOWN = 5


def training_rows(estimator: Any, X: Any) -> NDArray[Any]:
    """Return X (row, feature) as float32 or float64, where NaN means missing.

    Sets `n_features_in_`, and `feature_names_in_` if X is a data frame with names.

    Raises InvalidInput for infinities and wrong shapes, TypeError for sparse matrices and values that are not numbers.
    """
    names = _column_names(X)
    rows = _float_rows(estimator, X)
    if names is not None:
        estimator.feature_names_in_ = names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    estimator.n_features_in_ = rows.shape[1]
    return rows


def rows_like_training(estimator: Any, X: Any) -> NDArray[Any]:
    """Return X as `training_rows` does. Raises InvalidInput unless it has the features of the fit."""
    _check_names(estimator, _column_names(X))
    rows = _float_rows(estimator, X)
    expected = estimator.n_features_in_
    if rows.shape[1] != expected:
        raise InvalidInput(
            f"X has {rows.shape[1]} features, but {type(estimator).__name__} is expecting {expected} features as "
            "input; pass the features that it was fitted on."
        )
    return rows


def _float_rows(estimator: Any, X: Any) -> NDArray[Any]:
    rows = _floats(X)
    name = type(estimator).__name__
    if rows.ndim != 2:
        raise InvalidInput(
            f"Expected 2D array, got {rows.ndim}D array instead. Reshape your data either using array.reshape(-1, 1) "
            "if it has a single feature or array.reshape(1, -1) if it contains a single sample."
        )
    for size, noun in zip(rows.shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise InvalidInput(f"Found array with 0 {noun} (shape={rows.shape}) while a minimum of 1 is required.")
    # fmax and fmin ignore NaN and need no temporary array
    if np.isinf(np.fmax.reduce(rows, axis=None)) or np.isinf(np.fmin.reduce(rows, axis=None)):
        raise InvalidInput(
            f"Input X of {name} contains infinity or a value too large for {rows.dtype}; only NaN means missing."
        )
    return rows


def _floats(X: Any) -> NDArray[Any]:
    if hasattr(X, "tocsr"):
        raise TypeError("Sparse data was passed for X, but dense data is required. Use '.toarray()' to convert it.")
    rows = np.asarray(X)
    if rows.dtype.kind == "c":
        raise InvalidInput("Complex data not supported; pass real and imaginary parts as two features.")
    if rows.dtype in (np.float32, np.float64):
        return rows
    if rows.dtype == object and hasattr(X, "columns") and hasattr(X, "iloc"):  # pandas' own missing values
        return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
    with np.errstate(over="ignore"):
        return rows.astype(np.float64)


def _column_names(X: Any) -> NDArray[Any] | None:
    """Return the column names of a data frame if all are text, None without names. Raises TypeError for a mixture."""
    if not (hasattr(X, "columns") and hasattr(X, "shape") and len(X.shape) == 2):
        return None
    names = list(X.columns)
    are_text = [isinstance(name, str) for name in names]
    if any(are_text) and not all(are_text):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has other "
            "names too; use text for all column names, or for none."
        )
    return np.array(names, dtype=object) if names and all(are_text) else None


def _check_names(estimator: Any, names: NDArray[Any] | None) -> None:
    fitted = getattr(estimator, "feature_names_in_", None)
    kind = type(estimator).__name__
    if fitted is None and names is not None:
        warnings.warn(f"X has feature names, but {kind} was fitted without feature names", UserWarning, stacklevel=5)
    elif fitted is not None and names is None:
        warnings.warn(
            f"X does not have valid feature names, but {kind} was fitted with feature names",
            UserWarning,
            stacklevel=5,
        )
    elif fitted is not None and names is not None and list(names) != list(fitted):
        raise InvalidInput(_difference(list(names), list(fitted)))


def _difference(names: list[str], fitted: list[str]) -> str:
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    if unseen:
        message += "Feature names unseen at fit time:\n" + _listed(unseen)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


def _listed(names: list[str]) -> str:
    shown = [f"- {name}\n" for name in names[:_MAX_NAMES_SHOWN]]
    return "".join(shown) + ("- ...\n" if len(names) > _MAX_NAMES_SHOWN else "")
