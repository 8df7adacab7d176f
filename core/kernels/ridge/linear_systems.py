"""Cholesky factorization and what is solved with it. A factor U (landmark, landmark) is upper triangular, and nothing
reads what is below its diagonal.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel
from core.kernels.ridge.row_updates import subtract_multiples

#: Rows whose moments are added at once. Numbers of rows are multiples of it.
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
    """Replace each row x of rows (row, landmark), whose number is even, by x U^-1."""
    for first in range(0, len(rows), 2):
        a, b = rows[first], rows[first + 1]
        for pivot in range(0, len(factor), 4):
            stop = min(pivot + 4, len(factor))
            _divide_by_block(a, factor, pivot, stop)
            _divide_by_block(b, factor, pivot, stop)
            if stop < len(factor):  # then the block is complete
                one, two, three, four = pivot, pivot + 1, pivot + 2, pivot + 3
                block = factor[one, stop:], factor[two, stop:], factor[three, stop:], factor[four, stop:]
                of_a, of_b = (a[one], a[two], a[three], a[four]), (b[one], b[two], b[three], b[four])
                subtract_multiples(of_a, of_b, block, a[stop:], b[stop:])


@inner_kernel
def _divide_by_block(row: NDArray[np.float64], factor: NDArray[np.float64], start: int, stop: int) -> None:
    """Divide the entries from start to stop of a row by the block of the factor on its diagonal."""
    for pivot in range(start, stop):
        row[pivot] /= factor[pivot, pivot]
        for column in range(pivot + 1, stop):
            row[column] -= row[pivot] * factor[pivot, column]


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
def subtract_moments(
    rows: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
    squares: NDArray[np.float64],
    products: NDArray[np.float64],
) -> None:
    """Subtract the weighted sums of x x' from the upper triangle of squares (landmark, landmark), and those of x t'
    from products (landmark, class), over the rows x of rows (row, landmark) and t of targets (row, class), whose number
    is a multiple of `ROWS_AT_ONCE`.

    Some cells below the diagonal are written as well.
    """
    unused = np.empty(max(1, targets.shape[1]))
    for first in range(0, len(rows), ROWS_AT_ONCE):
        second, third, fourth = first + 1, first + 2, first + 3
        four_targets = targets[first], targets[second], targets[third], targets[fourth]
        for i in range(0, len(squares), 2):
            a = _weighted_column(rows, weights, first, i)
            rest = rows[first, i:], rows[second, i:], rows[third, i:], rows[fourth, i:]
            if i + 1 < len(squares):
                b = _weighted_column(rows, weights, first, i + 1)
                subtract_multiples(a, b, rest, squares[i, i:], squares[i + 1, i:])
                subtract_multiples(a, b, four_targets, products[i], products[i + 1])
            else:
                subtract_multiples(a, a, rest, squares[i, i:], unused[:1])
                subtract_multiples(a, a, four_targets, products[i], unused)


@inner_kernel
def _weighted_column(rows: NDArray[np.float64], weights: NDArray[np.float64], first: int, column: int) -> Any:
    """Return a column of four rows as a tuple, times their weights."""
    return (
        weights[first] * rows[first, column],
        weights[first + 1] * rows[first + 1, column],
        weights[first + 2] * rows[first + 2, column],
        weights[first + 3] * rows[first + 3, column],
    )
