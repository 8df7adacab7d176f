"""Gaussian similarities of rows to landmarks, and the scores that follow from them.

Several rows are computed at once where there are several, so that numbers are read from memory less often. A row has
the same result beside any others.
"""

import math

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel
from core.kernels.ridge.row_updates import subtract_multiples

#: Squared distance of two categories: that of two numbers whose difference is sqrt(2) standard deviations, as two
#: numbers drawn at random differ on average.
_SQUARED_DISTANCE_OF_CATEGORIES = 2.0
#: Rows whose products stay in the cache of a processor while all features are added to them; an even number.
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
    rows: NDArray[np.float32],
    landmarks: NDArray[np.float32],
    is_categorical: NDArray[np.uint8],
    out: NDArray[np.float64],
) -> None:
    """Fill out (row, landmark) from rows (row, feature) and landmarks (feature, landmark); categories are codes.

    The squared distance of numbers is |x|^2 + |z|^2 - 2 x z, which takes fewer steps than differences do. Products are
    added in single precision, which takes half the time. The error is about 1e-6 |x| |z|.
    """
    numeric, n_landmarks = np.flatnonzero(is_categorical == 0), landmarks.shape[1]
    lengths = np.zeros(n_landmarks)
    for feature in numeric:
        _add_squares(landmarks[feature], lengths)
    products = np.empty((_ROWS_PER_PASS, n_landmarks), dtype=np.float32)  # negative ones
    for first in range(0, len(rows), _ROWS_PER_PASS):
        part = rows[first : first + _ROWS_PER_PASS]
        _fill_negative_products(part, landmarks, numeric, products)
        for row in range(len(part)):
            _combine(part[row], products[row], lengths, numeric, out[first + row])
            _add_categories(part[row], landmarks, is_categorical, out[first + row])


@inner_kernel
def _add_squares(numbers: NDArray[np.float32], out: NDArray[np.float64]) -> None:
    for landmark in range(len(numbers)):
        out[landmark] += np.float64(numbers[landmark]) * np.float64(numbers[landmark])


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
    negative_products: NDArray[np.float32],
    lengths: NDArray[np.float64],
    numeric: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Set the squared distances of the numbers of one row."""
    length = 0.0
    for feature in numeric:
        length += np.float64(row[feature]) * np.float64(row[feature])
    for landmark in range(len(out)):
        out[landmark] = length + lengths[landmark] + 2.0 * negative_products[landmark]


@inner_kernel
def _add_categories(
    row: NDArray[np.float32],
    landmarks: NDArray[np.float32],
    is_categorical: NDArray[np.uint8],
    out: NDArray[np.float64],
) -> None:
    for feature in range(len(row)):
        if is_categorical[feature] != 0:
            value, others = row[feature], landmarks[feature]
            for landmark in range(len(out)):
                out[landmark] += _SQUARED_DISTANCE_OF_CATEGORIES if value != others[landmark] else 0.0


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
