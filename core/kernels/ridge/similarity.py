"""Gaussian similarities of rows to landmarks."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel

#: exp(x) is 2**n exp(x - n log 2) for the integer n nearest to x / log 2. Unlike a call of the math library, this is
#: compiled to vector instructions, and has the same bytes on all machines.
_PER_LOG_2 = np.float32(1.0 / math.log(2.0))
#: log 2 as the sum of a short number, whose product with n is exact, and a rest.
_LOG_2_START = np.float32(0.693359375)
_LOG_2_REST = np.float32(math.log(2.0) - 0.693359375)
#: Numbers of this size are 1 apart in single precision: adding it rounds to an integer, which subtracting it leaves.
_ROUNDING = np.float32(1.5 * 2**23)
#: Coefficients of the Taylor polynomial, the highest degree first.
_7, _6, _5, _4, _3, _2, _1, _0 = (np.float32(1.0 / math.factorial(degree)) for degree in range(7, -1, -1))
#: Position of the exponent in the bits of a number in single precision, and what is added to it there.
_EXPONENT_SHIFT, _EXPONENT_OFFSET = np.int32(23), np.int32(127)
#: Below it, similarities are 0 for all that sums can tell.
_LEAST_EXPONENT, _GREATEST_EXPONENT = np.float32(-87.0), np.float32(0.0)


@kernel
def fill_similarities(squared_distances: NDArray[Any], width: float, out: NDArray[np.float64]) -> None:
    """Fill out (row, landmark) with similarities in [0, 1]; `width` is the squared distance with similarity 1 / e.

    Similarities have single precision, whatever the type of the distances.
    """
    for row in range(len(squared_distances)):
        fill_row_of_similarities(squared_distances[row], width, out[row])


@inner_kernel
def fill_row_of_similarities(squared_distances: NDArray[Any], width: float, out: NDArray[np.float64]) -> None:
    """Fill out (landmark,) with the similarities of one row."""
    scale = np.float32(-1.0 / width)
    for landmark in range(len(squared_distances)):
        exponent = np.float32(scale * squared_distances[landmark])
        out[landmark] = _exp(min(_GREATEST_EXPONENT, max(exponent, _LEAST_EXPONENT)))


@inner_kernel
def _exp(x: np.float32) -> np.float32:
    """Return exp(x) for x in [-87, 0], with a relative error of about 1e-7."""
    n = (x * _PER_LOG_2 + _ROUNDING) - _ROUNDING
    rest = x - n * _LOG_2_START - n * _LOG_2_REST
    of_rest = ((((((_7 * rest + _6) * rest + _5) * rest + _4) * rest + _3) * rest + _2) * rest + _1) * rest + _0
    bits = np.int32((np.int32(n) + _EXPONENT_OFFSET) << _EXPONENT_SHIFT)
    return of_rest * bits.view(np.float32)
