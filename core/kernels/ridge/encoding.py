"""Rows as points whose distances mean the same in every feature."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel

#: Largest distance from the mean, in standard deviations, to which farther numbers are moved.
_LARGEST = 8.0
#: Numbers that are more standard deviations than this from the mean are placeholders or mistakes, and count as missing.
FARTHEST = 25.0
#: Code of a missing category, which is a category of its own.
_MISSING_CATEGORY = np.float32(-1.0)


class RowEncoding(NamedTuple):
    """Standardization of the numeric features among some features; categories keep their codes."""

    features: NDArray[np.int64]  # (coordinate,), numbers of the features, ascending
    is_categorical: NDArray[np.uint8]  # (coordinate,)
    centers: NDArray[np.float64]  # (coordinate,), means without outliers; 0 for categories
    scales: NDArray[np.float64]  # (coordinate,), standard deviations likewise; 0 to ignore a feature, 1 for categories


@kernel
def encode_rows(X: NDArray[Any], encoding: RowEncoding, out: NDArray[np.float32]) -> None:
    """Fill out (row, coordinate) with the points of the rows X (row, feature).

    A missing number is at the mean, and so is one that is more than `FARTHEST` standard deviations from it.
    """
    factors = np.empty(len(encoding.scales))
    fill_factors(encoding.scales, factors)
    for row in range(len(X)):
        encode_row(X[row], encoding, factors, out[row])


@inner_kernel
def fill_factors(scales: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Fill out (coordinate,) with the numbers that deviations from the mean are multiplied by; 0 for scales of 0."""
    for coordinate in range(len(scales)):
        out[coordinate] = 1.0 / scales[coordinate] if scales[coordinate] > 0 else 0.0


@inner_kernel
def encode_row(
    row: NDArray[Any], encoding: RowEncoding, factors: NDArray[np.float64], out: NDArray[np.float32]
) -> None:
    """Fill out (coordinate,) with the point of a row (feature,)."""
    features, centers, is_categorical = encoding.features, encoding.centers, encoding.is_categorical
    for coordinate in range(len(features)):
        value = np.float64(row[features[coordinate]])
        if is_categorical[coordinate] != 0:
            out[coordinate] = _MISSING_CATEGORY if np.isnan(value) else value
        else:
            deviation = (value - centers[coordinate]) * factors[coordinate]
            is_known = abs(deviation) <= FARTHEST  # not if it is NaN
            out[coordinate] = min(max(deviation, -_LARGEST), _LARGEST) if is_known else 0.0
