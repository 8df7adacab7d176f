"""Gaussian similarities of rows to landmarks, and the scores that follow from them.

Several rows are computed at once where there are several, so that numbers are read from memory less often. A row has
the same result beside any others.
"""

import math

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel

#: Squared distance of two categories: that of two numbers whose difference is sqrt(2) standard deviations, as two
#: numbers drawn at random differ on average.
_SQUARED_DISTANCE_OF_CATEGORIES = 2.0
#: Rows whose distances stay in the cache of a processor while all features are added to them.
_ROWS_PER_PASS = 16
#: exp(x) is the power 2**_SQUARINGS of exp(x / 2**_SQUARINGS), which a Taylor polynomial gives. Unlike a call of the
#: math library, this is compiled to vector instructions, and has the same bytes on all machines.
_SQUARINGS = 10
_REDUCTION = 2.0**-_SQUARINGS
_INVERSE_FACTORIALS = tuple(1.0 / math.factorial(degree) for degree in range(12, -1, -1))
#: Below it, similarities are 0 for all that sums can tell.
_LEAST_EXPONENT = -700.0


@kernel
def fill_squared_distances(
    rows: NDArray[np.float64],
    landmarks: NDArray[np.float64],
    is_categorical: NDArray[np.uint8],
    out: NDArray[np.float64],
) -> None:
    """Fill out (row, landmark) from rows (row, feature) and landmarks (feature, landmark); categories are codes.

    The squared distance of numbers is |x|^2 + |z|^2 - 2 x z, which takes fewer steps than differences do.
    """
    numeric, lengths = np.flatnonzero(is_categorical == 0), np.zeros(landmarks.shape[1])
    for feature in numeric:
        _add_squares(landmarks[feature], lengths)
    for row in range(len(rows)):
        _begin_row(rows[row], landmarks, is_categorical, lengths, out[row])
    beyond_last = np.empty(landmarks.shape[1])
    for first in range(0, len(rows), _ROWS_PER_PASS):
        stop = min(first + _ROWS_PER_PASS, len(rows))
        for number in range(len(numeric) // 4):
            features = numeric[4 * number : 4 * number + 4]
            for row in range(first, stop, 2):
                twin = row + 1 if row + 1 < stop else row
                out_of_twin = out[twin] if twin > row else beyond_last
                _subtract_products_of_four(rows[row], rows[twin], features, landmarks, out[row], out_of_twin)
    for row in range(len(rows)):
        for feature in numeric[len(numeric) // 4 * 4 :]:
            _subtract_products(rows[row, feature], landmarks[feature], out[row])


@inner_kernel
def _add_squares(numbers: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    for landmark in range(len(numbers)):
        out[landmark] += numbers[landmark] * numbers[landmark]


@inner_kernel
def _begin_row(
    row: NDArray[np.float64],
    landmarks: NDArray[np.float64],
    is_categorical: NDArray[np.uint8],
    lengths: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Set the distances of one row to all but the products of its numbers with those of landmarks."""
    length = 0.0
    for feature in range(len(row)):
        length += row[feature] * row[feature] if is_categorical[feature] == 0 else 0.0
    for landmark in range(len(out)):
        out[landmark] = lengths[landmark] + length
    for feature in range(len(row)):
        if is_categorical[feature] != 0:
            value, others = row[feature], landmarks[feature]
            for landmark in range(len(out)):
                out[landmark] += _SQUARED_DISTANCE_OF_CATEGORIES if value != others[landmark] else 0.0


@inner_kernel
def _subtract_products(value: float, others: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    twice = 2.0 * value
    for landmark in range(len(others)):
        out[landmark] -= twice * others[landmark]


@inner_kernel
def _subtract_products_of_four(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    features: NDArray[np.int64],
    landmarks: NDArray[np.float64],
    out_of_a: NDArray[np.float64],
    out_of_b: NDArray[np.float64],
) -> None:
    """Subtract twice the products of four features of two rows, a and b, with those of the landmarks from the distances
    of both rows, which are then stored a quarter as often as feature by feature.
    """
    i, j, k, m = features[0], features[1], features[2], features[3]
    a_i, a_j, a_k, a_m = 2.0 * a[i], 2.0 * a[j], 2.0 * a[k], 2.0 * a[m]
    b_i, b_j, b_k, b_m = 2.0 * b[i], 2.0 * b[j], 2.0 * b[k], 2.0 * b[m]
    z_i, z_j, z_k, z_m = landmarks[i], landmarks[j], landmarks[k], landmarks[m]
    for z in range(len(out_of_a)):
        out_of_a[z] -= a_i * z_i[z] + a_j * z_j[z] + a_k * z_k[z] + a_m * z_m[z]
        out_of_b[z] -= b_i * z_i[z] + b_j * z_j[z] + b_k * z_k[z] + b_m * z_m[z]


@kernel
def fill_similarities(squared_distances: NDArray[np.float64], width: float, out: NDArray[np.float64]) -> None:
    """Fill out (row, landmark) with similarities in [0, 1]; `width` is the squared distance with similarity 1 / e."""
    scale = -_REDUCTION / width
    for row in range(out.shape[0]):
        distances, similarities = squared_distances[row], out[row]
        for landmark in range(len(similarities)):
            similarities[landmark] = _exp(min(0.0, max(scale * distances[landmark], _LEAST_EXPONENT * _REDUCTION)))


@inner_kernel
def _exp(reduced: float) -> float:
    """Return exp(reduced * 2**_SQUARINGS) for numbers in [-0.7, 0], with a relative error below 1e-12."""
    value = _INVERSE_FACTORIALS[0]
    for number in range(1, len(_INVERSE_FACTORIALS)):
        value = value * reduced + _INVERSE_FACTORIALS[number]
    for _ in range(_SQUARINGS):
        value *= value
    return value


@kernel
def add_products(rows: NDArray[np.float64], factors: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Add the matrix product of rows (row, landmark) and factors (class, landmark) to out (row, class)."""
    in_fours = len(rows) - len(rows) % 4
    for row in range(0, in_fours, 4):
        _multiply_four(rows[row : row + 4], factors, out[row : row + 4])
    for row in range(in_fours, len(rows)):
        for k in range(len(factors)):
            total = 0.0
            for landmark in range(factors.shape[1]):
                total += rows[row, landmark] * factors[k, landmark]
            out[row, k] += total


@inner_kernel
def _multiply_four(rows: NDArray[np.float64], factors: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    a, b, c, d = rows[0], rows[1], rows[2], rows[3]
    for k in range(len(factors)):
        a_total, b_total, c_total, d_total = 0.0, 0.0, 0.0, 0.0
        for landmark in range(factors.shape[1]):
            factor = factors[k, landmark]
            a_total += a[landmark] * factor
            b_total += b[landmark] * factor
            c_total += c[landmark] * factor
            d_total += d[landmark] * factor
        out[0, k] += a_total
        out[1, k] += b_total
        out[2, k] += c_total
        out[3, k] += d_total
