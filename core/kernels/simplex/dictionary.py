"""Dictionary of the simplex method for problem (16) of minimax boosting, and the operations that change it.

    basic = entries * nonbasic       one row per basic variable, one column per nonbasic variable

A variable is either the weight of a rule, whose price adds a kink at zero to the objective, or the margin of a row of
data, which has no price and is limited in both directions. So a nonbasic weight is zero, and a nonbasic margin is at
its limit; `at` tells them apart. A basic weight is on one side of the kink, +1 or -1; a basic margin has side 0.

The gradient is the derivative of the objective with respect to the nonbasic variables. It includes the price of a basic
weight, by its side, but not that of a nonbasic weight: at an optimum, the absolute gradient of a nonbasic weight is at
most its price.

Entries are stored by columns, as most loops are over rows, of which there are more.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel

#: Smaller entries are treated as zero.
MIN_PIVOT = 1e-9

OPTIMAL, UNBOUNDED, STUCK, LIMIT_REACHED = range(4)


class Dictionary(NamedTuple):
    """Arrays of a dictionary, which may be larger than its numbers of rows and columns."""

    entries: NDArray[np.float64]  # (column, row)
    basic: NDArray[np.int64]  # (row,), position of a rule, or ~position of a row of data
    value: NDArray[np.float64]  # (row,)
    side: NDArray[np.float64]  # (row,), side of the kink; 0 for a margin
    row_limit: NDArray[np.float64]  # (row,), price of a weight, limit of a margin
    norm: NDArray[np.float64]  # (row,), 1 + the sum of the squares of its entries
    nonbasic: NDArray[np.int64]  # (column,), as in basic
    at: NDArray[np.float64]  # (column,), value; 0 for a weight
    gradient: NDArray[np.float64]  # (column,)
    column_limit: NDArray[np.float64]  # (column,), as in row_limit


class Size(NamedTuple):
    """Number of rows and columns of a dictionary that are in use."""

    n_rows: int
    n_columns: int


class Outcome(NamedTuple):
    """Result of a run of the simplex method: its status, and the number of steps.

    `column` is the column along which the objective is unbounded, or -1. Kernels return the fields of this tuple.
    """

    status: int
    n_steps: int
    column: int


#: Fields of an `Outcome`.
OutcomeFields = tuple[int, int, int]


@inner_kernel
def compute_row_norms(dictionary: Dictionary, size: Size) -> None:
    """Fill in the norms of the rows."""
    norm = dictionary.norm[: size.n_rows]
    norm[:] = 1.0
    for k in range(size.n_columns):
        _add_squares(norm, dictionary.entries[k, : size.n_rows])


@inner_kernel
def _add_squares(norm: NDArray[np.float64], line: NDArray[np.float64]) -> None:
    """Add the squared entries of `line` (row,) to norm (row,)."""
    for r in range(norm.shape[0]):
        norm[r] += line[r] * line[r]


@inner_kernel
def _add_multiple(line: NDArray[np.float64], factor: float, pivot_line: NDArray[np.float64]) -> None:
    """Add a multiple of `pivot_line` (row,) to `line` (row,)."""
    for r in range(line.shape[0]):
        line[r] += factor * pivot_line[r]


@inner_kernel
def shift(dictionary: Dictionary, size: Size, q: int, step: float) -> None:
    """Change the nonbasic variable of column q by `step`."""
    line, value = dictionary.entries[q], dictionary.value[: size.n_rows]
    for r in range(value.shape[0]):
        value[r] += line[r] * step
    dictionary.at[q] += step


@inner_kernel
def switch_side(dictionary: Dictionary, size: Size, r: int) -> None:
    """Move the basic weight of row r to the other side of its kink, which changes its price."""
    change = 2.0 * dictionary.row_limit[r] * dictionary.side[r]
    for k in range(size.n_columns):
        dictionary.gradient[k] += change * dictionary.entries[k, r]
    dictionary.side[r] = -dictionary.side[r]


@inner_kernel
def exchange(
    dictionary: Dictionary, size: Size, p: int, q: int, side: float, leaving_at: float, keeps_norms: bool
) -> None:
    """Make the variable of column q basic, on `side` of its kink, and that of row p nonbasic at `leaving_at`.

    The values of both variables have been set before.
    """
    dictionary.gradient[q] -= dictionary.column_limit[q] * side
    _eliminate(dictionary, size, p, q, keeps_norms)
    dictionary.gradient[q] += dictionary.row_limit[p] * dictionary.side[p]
    dictionary.value[p], dictionary.at[q] = dictionary.at[q], leaving_at
    dictionary.side[p] = side
    dictionary.basic[p], dictionary.nonbasic[q] = dictionary.nonbasic[q], dictionary.basic[p]
    dictionary.row_limit[p], dictionary.column_limit[q] = dictionary.column_limit[q], dictionary.row_limit[p]


@inner_kernel
def _eliminate(dictionary: Dictionary, size: Size, p: int, q: int, keeps_norms: bool) -> None:
    """Solve row p for the variable of column q, and substitute it in all other rows."""
    pivot_line, norm = dictionary.entries[q, : size.n_rows], dictionary.norm[: size.n_rows]
    pivot, own_norm = pivot_line[p], 1.0
    norm[:] = 1.0
    for k in range(size.n_columns):
        if k != q:
            line = dictionary.entries[k, : size.n_rows]
            factor = -line[p] / pivot
            dictionary.gradient[k] += dictionary.gradient[q] * factor
            _add_multiple(line, factor, pivot_line)
            if keeps_norms:
                _add_squares(norm, line)
            line[p] = factor
            own_norm += factor * factor
    dictionary.gradient[q] /= pivot
    for r in range(norm.shape[0]):
        pivot_line[r] /= pivot
    _add_squares(norm, pivot_line)
    pivot_line[p] = 1.0 / pivot
    norm[p] = own_norm + pivot_line[p] * pivot_line[p]


@inner_kernel
def make_feasible(dictionary: Dictionary, size: Size) -> None:
    """Make the dictionary feasible: weights get the side that they are on, margins the limit that they need."""
    for r in range(size.n_rows):
        if dictionary.side[r] == 0.0:
            dictionary.row_limit[r] = max(dictionary.row_limit[r], abs(dictionary.value[r]))
        elif dictionary.side[r] * dictionary.value[r] < 0.0:
            switch_side(dictionary, size, r)
