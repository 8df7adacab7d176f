"""Kernel ridge regression of an automatic classifier in its artifact: five arrays, and its width in the header."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.artifact.numbers import finite
from core.automatic.auto_classifier import AutoClassifier
from core.exceptions import ArtifactError
from core.kernel_ridge.fitting import MAX_FEATURES, MAX_LANDMARKS
from core.kernel_ridge.model import KernelRidge, new_kernel_ridge
from core.kernels.ridge.encoding import RowEncoding

#: Names of the arrays: features, means and deviations of the coordinates, (2, coordinate), and those of `KernelRidge`.
_FEATURES, _SCALING, _LANDMARKS, _COEFFICIENTS, _PRIORS = RIDGE_ARRAYS = (
    "ridge_features",
    "ridge_scaling",
    "ridge_landmarks",
    "ridge_coefficients",
    "ridge_priors",
)
#: Least sum of the scores of a row over the classes. Those of a fit sum to 1 up to rounding.
_LEAST_SUM = 0.5
#: Limit on priors and coefficients, which those of fits are far below: rounding errors of scores are then below
#: `_LEAST_SUM`.
_LARGEST = 2.0**40
#: Limits on landmarks, beyond all standardized numbers and codes of categories, and on the width.
_LARGEST_COORDINATE = 2.0**31
_WIDTHS = (2.0**-64, 2.0**64)


def ridge_arrays(model: KernelRidge | None) -> dict[str, NDArray[Any]]:
    """Return the arrays of a regression; none if there is none."""
    if model is None:
        return {}
    scaling = np.stack([model.encoding.centers, model.encoding.scales])
    arrays = (model.encoding.features, scaling, model.landmarks.astype(np.float64), model.coefficients, model.priors)
    return dict(zip(RIDGE_ARRAYS, arrays, strict=True))


def restore_ridge(estimator: AutoClassifier, width: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Give an automatic classifier whose choice, features and classes are set its regression, or none.

    Raises ArtifactError, TypeError and ValueError.
    """
    estimator.kernel_ridge_ = None
    has_share = estimator.choice_.kernel_ridge is not None
    if set(arrays) != (set(RIDGE_ARRAYS) if has_share else set()) or (width is not None) != has_share:
        raise ArtifactError("the kernel ridge regression does not match its share of the vote.")
    if not has_share:
        return
    if not _WIDTHS[0] <= finite(width) <= _WIDTHS[1]:
        raise ArtifactError("the width of the kernel ridge regression is not one that a fit can have.")
    _check_arrays(estimator, arrays)
    centers, scales = arrays[_SCALING]
    categorical = np.zeros(estimator.n_features_in_, dtype=np.bool_)
    if estimator.is_categorical_ is not None:
        categorical = estimator.is_categorical_
    features = arrays[_FEATURES]
    encoding = RowEncoding(features, categorical[features].astype(np.uint8), centers, scales)
    estimator.kernel_ridge_ = new_kernel_ridge(
        encoding, arrays[_LANDMARKS].astype(np.float32), arrays[_COEFFICIENTS], arrays[_PRIORS], finite(width)
    )


def _check_arrays(estimator: AutoClassifier, arrays: Mapping[str, NDArray[Any]]) -> None:
    features, n_classes = arrays[_FEATURES], len(estimator.classes_)
    n_coordinates, n_landmarks = len(features), arrays[_LANDMARKS].shape[-1]
    if features.shape != (n_coordinates,) or features.dtype != np.int64 or not (np.diff(features) > 0).all():
        raise ArtifactError(f"array {_FEATURES!r} has the wrong shape or type, or is not ascending.")
    if not (1 <= n_coordinates <= MAX_FEATURES and 1 <= n_landmarks <= MAX_LANDMARKS):
        raise ArtifactError(f"there are {n_coordinates} features and {n_landmarks} landmarks of the regression.")
    if features[0] < 0 or features[-1] >= estimator.n_features_in_:
        raise ArtifactError("the kernel ridge regression compares rows by a feature that does not exist.")
    shapes = ((2, n_coordinates), (n_coordinates, n_landmarks), (n_classes, n_landmarks), (n_classes,))
    for name, shape in zip(RIDGE_ARRAYS[1:], shapes, strict=True):
        _check_numbers(name, arrays[name], shape)
    if not (arrays[_SCALING][1] >= 0).all():
        raise ArtifactError(f"array {_SCALING!r} has a negative deviation.")
    if _least_sum(arrays[_COEFFICIENTS], arrays[_PRIORS]) < _LEAST_SUM:
        raise ArtifactError("scores of the kernel ridge regression may not be positive for any class.")


def _least_sum(coefficients: NDArray[np.float64], priors: NDArray[np.float64]) -> float:
    """Return a lower bound of the sum of scores of any row; its similarities to landmarks are in [0, 1]."""
    return float(priors.sum() + np.minimum(coefficients.sum(axis=0), 0.0).sum())


def _check_numbers(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ArtifactError(f"array {name!r} has the wrong shape or type, or is not finite.")
    largest = _LARGEST_COORDINATE if name == _LANDMARKS else _LARGEST
    if name != _SCALING and not (np.abs(array) <= largest).all():
        raise ArtifactError(f"array {name!r} has a number that is too large for any fit.")
