"""Squared distances of rows to landmarks.

Several rows are computed at once where there are several, so that numbers are read from memory less often. A row has
the same result beside any others.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel
from core.kernels.ridge.row_updates import subtract_multiples

#: Rows whose products stay in the cache of a processor while all features are added to them; an even number.
ROWS_PER_PASS = 16
#: Squared distance of two categories: that of two numbers whose difference is sqrt(2) standard deviations, as two
#: numbers drawn at random differ on average.
_SQUARED_DISTANCE_OF_CATEGORIES = np.float32(2.0)
_TWO = np.float32(2.0)


@kernel
def fill_squared_distances(
    rows: NDArray[np.float32],
    landmarks: NDArray[np.float32],
    squared_lengths: NDArray[np.float32],
    is_categorical: NDArray[np.uint8],
    out: NDArray[np.float32],
) -> None:
    """Fill out (row, landmark) from rows (row, coordinate), landmarks (coordinate, landmark) and the squared lengths of
    their numbers, (landmark,); categories are codes.
    """
    numeric = np.flatnonzero(is_categorical == 0)
    distances = np.empty((ROWS_PER_PASS, len(squared_lengths)), np.float32)
    for first in range(0, len(rows), ROWS_PER_PASS):
        part = rows[first : first + ROWS_PER_PASS]
        fill_distances_of_pass(part, landmarks, squared_lengths, is_categorical, numeric, distances)
        out[first : first + ROWS_PER_PASS] = distances[: len(part)]


@kernel
def fill_exact_distances(
    landmarks: NDArray[np.float32], is_categorical: NDArray[np.uint8], out: NDArray[np.float64]
) -> None:
    """Fill out (landmark, landmark) with the squared distances of landmarks (coordinate, landmark), without the
    rounding errors of `fill_squared_distances`: a matrix of their similarities has no negative eigenvalue.
    """
    out[:] = 0.0
    for coordinate in range(len(landmarks)):
        values = landmarks[coordinate]
        for row in range(len(values)):
            if is_categorical[coordinate] != 0:
                _add_unequal(values[row], values, out[row])
            else:
                _add_squared_differences(values[row], values, out[row])


@inner_kernel
def _add_unequal(value: np.float32, others: NDArray[np.float32], out: NDArray[Any]) -> None:
    for landmark in range(len(others)):
        out[landmark] += _SQUARED_DISTANCE_OF_CATEGORIES * np.float32(value != others[landmark])


@inner_kernel
def _add_squared_differences(value: np.float32, others: NDArray[np.float32], out: NDArray[np.float64]) -> None:
    for landmark in range(len(others)):
        difference = np.float64(value) - np.float64(others[landmark])
        out[landmark] += difference * difference


@inner_kernel
def fill_distances_of_pass(
    rows: NDArray[np.float32],
    landmarks: NDArray[np.float32],
    squared_lengths: NDArray[np.float32],
    is_categorical: NDArray[np.uint8],
    numeric: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    """Fill the first rows of out (ROWS_PER_PASS, landmark) for at most as many rows.

    numeric: coordinates that are numbers.

    The squared distance of numbers is |x|^2 + |z|^2 - 2 x z, which takes fewer steps than differences do, in single
    precision, which takes half the time. The error is about 3e-7 (|x|^2 + |z|^2).
    """
    _fill_negative_products(rows, landmarks, numeric, out)
    for row in range(len(rows)):
        _combine(rows[row], squared_lengths, numeric, out[row])
        _add_categories(rows[row], landmarks, is_categorical, out[row])


@inner_kernel
def _fill_negative_products(
    rows: NDArray[np.float32],
    landmarks: NDArray[np.float32],
    numeric: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    """Fill the first rows of out (row, landmark), of which there is one more if the number of rows is odd."""
    out[: len(rows) + len(rows) % 2] = 0.0  # a single row should not pay for a whole pass
    for number in range(len(numeric) // 4):
        i, j, k, m = numeric[4 * number], numeric[4 * number + 1], numeric[4 * number + 2], numeric[4 * number + 3]
        of_features = (landmarks[i], landmarks[j], landmarks[k], landmarks[m])
        for row in range(0, len(rows), 2):
            a, b = rows[row], rows[min(row + 1, len(rows) - 1)]
            factors_of_a, factors_of_b = (a[i], a[j], a[k], a[m]), (b[i], b[j], b[k], b[m])
            subtract_multiples(factors_of_a, factors_of_b, of_features, out[row], out[row + 1])
    for feature in numeric[len(numeric) // 4 * 4 :]:
        for row in range(len(rows)):
            _subtract_products(rows[row, feature], landmarks[feature], out[row])


@inner_kernel
def _subtract_products(value: float, others: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    for landmark in range(len(others)):
        out[landmark] -= value * others[landmark]


@inner_kernel
def _combine(
    row: NDArray[np.float32],
    squared_lengths: NDArray[np.float32],
    numeric: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    """Replace the negative products of one row by the squared distances of its numbers."""
    total = 0.0
    for feature in numeric:
        total += np.float64(row[feature]) * np.float64(row[feature])
    length = np.float32(total)
    for landmark in range(len(out)):
        out[landmark] = length + squared_lengths[landmark] + _TWO * out[landmark]


@inner_kernel
def _add_categories(
    row: NDArray[np.float32],
    landmarks: NDArray[np.float32],
    is_categorical: NDArray[np.uint8],
    out: NDArray[np.float32],
) -> None:
    for feature in range(len(row)):
        if is_categorical[feature] != 0:
            _add_unequal(row[feature], landmarks[feature], out)
