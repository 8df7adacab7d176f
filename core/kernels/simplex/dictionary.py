"""A dictionary of the simplex method for problem (16) of minimax boosting, and the steps that change it.

    basic = entries * nonbasic       one row a basic variable, one column a nonbasic one

A variable is the weight of a rule, whose price puts a kink at zero into the objective, or the margin of a row of data,
which costs nothing and stays within its limit of either sign. So a nonbasic weight is zero, and a nonbasic margin is at
its limit; `at` tells them apart. A basic weight has a side of the kink, +1 or -1, and a basic margin the side 0.

The gradient is the objective's by the nonbasic variables. In it a basic weight is priced by its side, and a nonbasic
weight not at all: at an optimum its gradient is at most the price of either sign.

Entries are kept by columns, as most loops are over rows, of which there are more.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel

#: Entries below are taken for zero.
LEAST_PIVOT = 1e-9

OPTIMAL, UNBOUNDED, STUCK, LIMIT_REACHED = range(4)


class Dictionary(NamedTuple):
    """The arrays of a dictionary, with room for more rows and columns than it has."""

    entries: NDArray[np.float64]  # (column, row)
    basic: NDArray[np.int64]  # (row,), the place of a rule, or ~place of a row of data
    value: NDArray[np.float64]  # (row,)
    side: NDArray[np.float64]  # (row,)
    row_limit: NDArray[np.float64]  # (row,), the price of a weight, the limit of a margin
    norm: NDArray[np.float64]  # (row,), 1 + the sum of the squares of its entries
    nonbasic: NDArray[np.int64]  # (column,), as in basic
    at: NDArray[np.float64]  # (column,)
    gradient: NDArray[np.float64]  # (column,)
    column_limit: NDArray[np.float64]  # (column,), as in row_limit


class Size(NamedTuple):
    """How much of a dictionary's arrays is in use."""

    n_rows: int
    n_columns: int


class Outcome(NamedTuple):
    """How a run of the simplex method ended, after how many steps, and the column without an end, or -1."""

    status: int
    n_steps: int
    column: int


@inner_kernel
def measure_rows(held: Dictionary, size: Size) -> None:
    """Fill in the norms."""
    norm = held.norm[: size.n_rows]
    norm[:] = 1.0
    for k in range(size.n_columns):
        _add_squares(norm, held.entries[k, : size.n_rows])


@inner_kernel
def _add_squares(norm: NDArray[np.float64], line: NDArray[np.float64]) -> None:
    for r in range(norm.shape[0]):
        norm[r] += line[r] * line[r]


@inner_kernel
def _add_multiple(line: NDArray[np.float64], factor: float, pivot_line: NDArray[np.float64]) -> None:
    for r in range(line.shape[0]):
        line[r] += factor * pivot_line[r]


@inner_kernel
def move(held: Dictionary, size: Size, q: int, step: float) -> None:
    """Change the nonbasic variable of column q by `step`."""
    line, value = held.entries[q], held.value[: size.n_rows]
    for r in range(value.shape[0]):
        value[r] += line[r] * step
    held.at[q] += step


@inner_kernel
def turn_side(held: Dictionary, size: Size, r: int) -> None:
    """Price the basic weight of row r as one of the other side."""
    change = 2.0 * held.row_limit[r] * held.side[r]
    for k in range(size.n_columns):
        held.gradient[k] += change * held.entries[k, r]
    held.side[r] = -held.side[r]


@inner_kernel
def exchange(held: Dictionary, size: Size, p: int, q: int, side: float, leaving_at: float, keeps_norms: bool) -> None:
    """Make the variable of column q basic, on `side` of its kink, and that of row p nonbasic at `leaving_at`. Their
    values have moved to where they belong.
    """
    held.gradient[q] -= held.column_limit[q] * side
    _eliminate(held, size, p, q, keeps_norms)
    held.gradient[q] += held.row_limit[p] * held.side[p]
    held.value[p], held.at[q] = held.at[q], leaving_at
    held.side[p] = side
    held.basic[p], held.nonbasic[q] = held.nonbasic[q], held.basic[p]
    held.row_limit[p], held.column_limit[q] = held.column_limit[q], held.row_limit[p]


@inner_kernel
def _eliminate(held: Dictionary, size: Size, p: int, q: int, keeps_norms: bool) -> None:
    """Solve row p for the variable of column q, and put it into all other rows."""
    pivot_line, norm = held.entries[q, : size.n_rows], held.norm[: size.n_rows]
    pivot, own_norm = pivot_line[p], 1.0
    norm[:] = 1.0
    for k in range(size.n_columns):
        if k != q:
            line = held.entries[k, : size.n_rows]
            factor = -line[p] / pivot
            held.gradient[k] += held.gradient[q] * factor
            _add_multiple(line, factor, pivot_line)
            if keeps_norms:
                _add_squares(norm, line)
            line[p] = factor
            own_norm += factor * factor
    held.gradient[q] /= pivot
    for r in range(norm.shape[0]):
        pivot_line[r] /= pivot
    _add_squares(norm, pivot_line)
    pivot_line[p] = 1.0 / pivot
    norm[p] = own_norm + pivot_line[p] * pivot_line[p]


@inner_kernel
def relax(held: Dictionary, size: Size) -> None:
    """Make the dictionary feasible: weights choose the side that they are on, margins get the limit that they need."""
    for r in range(size.n_rows):
        if held.side[r] == 0.0:
            held.row_limit[r] = max(held.row_limit[r], abs(held.value[r]))
        elif held.side[r] * held.value[r] < 0.0:
            turn_side(held, size, r)
