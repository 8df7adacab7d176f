"""Cholesky factorization and what is solved with it. A factor U (landmark, landmark) is upper triangular, and what is
below its diagonal is neither read nor written.
"""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel

#: Rows that are in registers at once, so that a factor is read a quarter as often. It does not fit in the L1 cache.
ROWS_AT_ONCE = 4


@kernel
def factorize(matrix: NDArray[np.float64]) -> None:
    """Replace the upper triangle of a positive definite matrix by that of U with matrix = U' U."""
    size = len(matrix)
    for pivot in range(size):
        root = np.sqrt(matrix[pivot, pivot])
        for column in range(pivot, size):
            matrix[pivot, column] /= root
        for row in range(pivot + 1, size):
            factor = matrix[pivot, row]
            for column in range(row, size):
                matrix[row, column] -= factor * matrix[pivot, column]


@kernel
def divide_rows(rows: NDArray[np.float64], factor: NDArray[np.float64]) -> None:
    """Replace each row x of rows (row, landmark) by x U^-1. The number of rows is a multiple of four."""
    for first in range(0, len(rows), ROWS_AT_ONCE):
        a, b, c, d = rows[first], rows[first + 1], rows[first + 2], rows[first + 3]
        for pivot in range(len(factor)):
            scale = 1.0 / factor[pivot, pivot]
            a[pivot] *= scale
            b[pivot] *= scale
            c[pivot] *= scale
            d[pivot] *= scale
            a_value, b_value, c_value, d_value = a[pivot], b[pivot], c[pivot], d[pivot]
            for column in range(pivot + 1, len(factor)):
                value = factor[pivot, column]
                a[column] -= a_value * value
                b[column] -= b_value * value
                c[column] -= c_value * value
                d[column] -= d_value * value


@kernel
def solve(factor: NDArray[np.float64], right: NDArray[np.float64]) -> None:
    """Replace right (landmark, class) by the solution of U' U x = right."""
    size = len(factor)
    for pivot in range(size):
        right[pivot] /= factor[pivot, pivot]
        for row in range(pivot + 1, size):
            right[row] -= factor[pivot, row] * right[pivot]
    solve_upper(factor, right)


@kernel
def solve_upper(factor: NDArray[np.float64], right: NDArray[np.float64]) -> None:
    """Replace right (landmark, class) by the solution of U x = right."""
    for pivot in range(len(factor) - 1, -1, -1):
        for column in range(pivot + 1, len(factor)):
            right[pivot] -= factor[pivot, column] * right[column]
        right[pivot] /= factor[pivot, pivot]


@kernel
def add_moments(
    rows: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
    squares: NDArray[np.float64],
    products: NDArray[np.float64],
) -> None:
    """Add the weighted sums of x x' to the upper triangle of squares (landmark, landmark), and those of x t' to
    products (landmark, class), over the rows x of rows (row, landmark) and t of targets (row, class), whose number is a
    multiple of four.
    """
    for first in range(0, len(rows), ROWS_AT_ONCE):
        a, b, c, d = rows[first], rows[first + 1], rows[first + 2], rows[first + 3]
        for i in range(len(squares)):
            a_value, b_value = weights[first] * a[i], weights[first + 1] * b[i]
            c_value, d_value = weights[first + 2] * c[i], weights[first + 3] * d[i]
            for j in range(i, len(squares)):
                squares[i, j] += (a_value * a[j] + b_value * b[j]) + (c_value * c[j] + d_value * d[j])
            for k in range(targets.shape[1]):
                products[i, k] += a_value * targets[first, k] + b_value * targets[first + 1, k]
                products[i, k] += c_value * targets[first + 2, k] + d_value * targets[first + 3, k]
