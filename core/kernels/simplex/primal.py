"""Primal simplex method on a dictionary of minimax boosting: from a feasible dictionary to the optimum."""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel
from core.kernels.simplex.dictionary import (
    LIMIT_REACHED,
    MIN_PIVOT,
    OPTIMAL,
    UNBOUNDED,
    Dictionary,
    OutcomeFields,
    Size,
    exchange,
    make_feasible,
    shift,
    switch_side,
)

_PIECE = 4096


@kernel
def primal_simplex(
    dictionary: Dictionary, size: Size, tolerance: float, slack_tolerance: float, max_steps: int
) -> OutcomeFields:
    """Iterate until no gradient improves the objective at more than `tolerance`, for at most `max_steps` steps.

    If a step is needed, the dictionary is made feasible first, which may widen limits.
    """
    if _choose_entering_column(dictionary, size, tolerance) < 0:
        return OPTIMAL, 0, -1
    make_feasible(dictionary, size)
    for n_steps in range(max_steps + 1):
        q = _choose_entering_column(dictionary, size, tolerance)
        if q < 0:
            return OPTIMAL, n_steps, -1
        if n_steps == max_steps:
            break
        if not _take_step(dictionary, size, q, slack_tolerance):
            return UNBOUNDED, n_steps, q
    return LIMIT_REACHED, max_steps, -1


@inner_kernel
def _improvement_rate(dictionary: Dictionary, k: int) -> float:
    """Return the rate at which the objective grows as the variable of column k follows its gradient."""
    gradient = float(dictionary.gradient[k])
    if dictionary.at[k] == 0.0:
        return abs(gradient) - float(dictionary.column_limit[k])
    return -gradient if dictionary.at[k] > 0.0 else gradient


@inner_kernel
def _choose_entering_column(dictionary: Dictionary, size: Size, tolerance: float) -> int:
    """Return the column with the steepest edge, i.e. rate relative to the length of the column, or -1."""
    best, most = -1, 0.0
    for k in range(size.n_columns):
        rate = _improvement_rate(dictionary, k)
        if rate > tolerance:
            line = dictionary.entries[k, : size.n_rows]
            steepness = rate * rate / (1.0 + _squares(line))
            if steepness > most:
                best, most = k, steepness
    return best


@inner_kernel
def _squares(line: NDArray[np.float64]) -> float:
    """Return the sum of the squares of `line` (row,).

    It is computed in pieces: numpy would distribute a long line among threads, and the sum would depend on their
    number.
    """
    total = 0.0
    for first in range(0, line.shape[0], _PIECE):
        piece = line[first : first + _PIECE]
        total += np.dot(piece, piece)
    return total


@inner_kernel
def _take_step(dictionary: Dictionary, size: Size, q: int, slack_tolerance: float) -> bool:
    """Take a step along column q, past the kinks that are worth passing. Return False if it is unbounded."""
    direction = 1.0 if dictionary.gradient[q] > 0.0 else -1.0
    is_margin = dictionary.at[q] != 0.0
    while True:
        r = _choose_leaving_row(dictionary, size, q, direction, slack_tolerance)
        if r < 0 and not is_margin:
            return False
        change = direction * dictionary.entries[q, r] if r >= 0 else 0.0
        step = _slack(dictionary, r, change) / abs(change) if r >= 0 else np.inf
        if is_margin and step >= 2.0 * dictionary.column_limit[q]:
            shift(dictionary, size, q, -2.0 * dictionary.at[q])
            return True
        if dictionary.side[r] == 0.0 or _improvement_rate(dictionary, q) <= 2.0 * dictionary.row_limit[r] * abs(change):
            break
        switch_side(dictionary, size, r)
    shift(dictionary, size, q, direction * step)
    leaving_at = 0.0
    if dictionary.side[r] == 0.0:
        leaving_at = dictionary.row_limit[r] if change > 0.0 else -dictionary.row_limit[r]
    exchange(dictionary, size, r, q, 0.0 if is_margin else direction, leaving_at, keeps_norms=False)
    return True


@inner_kernel
def _slack(dictionary: Dictionary, r: int, change: float) -> float:
    """Return how far the variable of row r can move in the direction of `change` until its limit or kink."""
    side, value = dictionary.side[r], dictionary.value[r]
    if side == 0.0:
        return max(float(dictionary.row_limit[r] - (value if change > 0.0 else -value)), 0.0)
    return max(float(side * value), 0.0) if side * change < 0.0 else np.inf


@inner_kernel
def _choose_leaving_row(dictionary: Dictionary, size: Size, q: int, direction: float, slack_tolerance: float) -> int:
    """Return the row that limits a step along column q, or -1.

    Among rows that limit it within `slack_tolerance`, the largest pivot is chosen.
    """
    line, furthest = dictionary.entries[q], np.inf
    for r in range(size.n_rows):
        change = direction * line[r]
        if abs(change) > MIN_PIVOT:
            furthest = min(furthest, (_slack(dictionary, r, change) + slack_tolerance) / abs(change))
    first, largest = -1, 0.0
    if furthest == np.inf:
        return first
    for r in range(size.n_rows):
        change = direction * line[r]
        if abs(change) > max(largest, MIN_PIVOT) and _slack(dictionary, r, change) <= furthest * abs(change):
            first, largest = r, abs(change)
    return first
