"""Products of similarities and coefficients. A row has the same result beside any others."""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel


@kernel
def add_products(rows: NDArray[np.float64], factors: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Add the matrix product of rows (row, landmark) and factors (class, landmark) to out (row, class).

    A sum waits for each addition before the next; eight sums at a time fill these waits.
    """
    in_fours, in_pairs = len(rows) - len(rows) % 4, len(factors) - len(factors) % 2
    for row in range(0, in_fours, 4):
        for k in range(0, in_pairs, 2):
            _multiply_four_by_two(rows[row : row + 4], factors[k : k + 2], out[row : row + 4, k : k + 2])
    for row in range(len(rows)):
        for k in range(in_pairs if row < in_fours else 0, len(factors)):
            total = 0.0
            for landmark in range(factors.shape[1]):
                total += rows[row, landmark] * factors[k, landmark]
            out[row, k] += total


@inner_kernel
def _multiply_four_by_two(rows: NDArray[np.float64], factors: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    a, b, c, d = rows[0], rows[1], rows[2], rows[3]
    x, y = factors[0], factors[1]
    ax, bx, cx, dx, ay, by, cy, dy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for landmark in range(factors.shape[1]):
        one, two = x[landmark], y[landmark]
        ax += a[landmark] * one
        bx += b[landmark] * one
        cx += c[landmark] * one
        dx += d[landmark] * one
        ay += a[landmark] * two
        by += b[landmark] * two
        cy += c[landmark] * two
        dy += d[landmark] * two
    out[0, 0] += ax
    out[1, 0] += bx
    out[2, 0] += cx
    out[3, 0] += dx
    out[0, 1] += ay
    out[1, 1] += by
    out[2, 1] += cy
    out[3, 1] += dy
