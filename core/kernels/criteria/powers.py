"""Powers x^a for one exponent a and many x, from tables instead of a logarithm and an exponential.

    x = 2^e m with 1 <= m < 2; c = center of the cell of m, one of N_CELLS; u = m / c - 1
    x^a = (2^e)^a c^a (1 + u)^a

|u| <= 1 / (2 N_CELLS), so the error of four terms of the binomial series is below that of rounding. The tables are so
small that they leave most of the L1 cache to the scan.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel

_CELL_BITS = 9
N_CELLS = 1 << _CELL_BITS
_MANTISSA_BITS = 52
_EXPONENT_BIAS = 1023
_CELL_SHIFT = _MANTISSA_BITS - _CELL_BITS
_MANTISSA_MASK = (1 << _MANTISSA_BITS) - 1
_BITS_OF_ONE = _EXPONENT_BIAS << _MANTISSA_BITS


class PowerTables(NamedTuple):
    """Tables of `power_of` for one exponent a, 0 <= a < 1."""

    scales: NDArray[np.float64]  # (biased exponent of x,): (2^e)^a
    cells: NDArray[np.float64]  # (2 * cell,): 1 / c and c^a of each cell side by side, in one line of the cache
    series: tuple[float, float, float, float]  # binomial coefficients of a over 1 to 4


@kernel
def new_power_tables(a: float) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[float, float, float, float]]:
    """Return the fields of the `PowerTables` for x^a.

    x must be positive, finite and at least the smallest normal number.
    """
    scales = np.zeros(2 * _EXPONENT_BIAS + 1, dtype=np.float64)
    for biased in range(1, scales.shape[0]):
        scales[biased] = math.pow(math.ldexp(1.0, biased - _EXPONENT_BIAS), a)
    cells = np.empty(2 * N_CELLS, dtype=np.float64)
    for cell in range(N_CELLS):
        middle = 1.0 + (cell + 0.5) / N_CELLS
        cells[2 * cell], cells[2 * cell + 1] = 1.0 / middle, math.pow(middle, a)
    second = a * (a - 1.0) / 2.0
    third = second * (a - 2.0) / 3.0
    return scales, cells, (a, second, third, third * (a - 3.0) / 4.0)


@inner_kernel
def power_of(tables: PowerTables, x: float) -> float:
    """Return x^a with an error of a few units in the last place."""
    bits = np.float64(x).view(np.int64)
    inverse_index = np.uint64((bits >> (_CELL_SHIFT - 1)) & (2 * (N_CELLS - 1)))
    mantissa = np.int64((bits & _MANTISSA_MASK) | _BITS_OF_ONE).view(np.float64)
    u = mantissa * tables.cells[inverse_index] - 1.0
    c1, c2, c3, c4 = tables.series
    excess = u * (c1 + u * c2 + u * u * (c3 + u * c4))
    scale = tables.scales[np.uint64(bits >> _MANTISSA_BITS)] * tables.cells[inverse_index + np.uint64(1)]
    return float(scale + scale * excess)
