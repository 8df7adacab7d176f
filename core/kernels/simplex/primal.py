"""The primal simplex method on a dictionary of minimax boosting: from a feasible one to the optimum."""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel
from core.kernels.simplex.dictionary import (
    LEAST_PIVOT,
    LIMIT_REACHED,
    OPTIMAL,
    UNBOUNDED,
    Dictionary,
    Outcome,
    Size,
    exchange,
    move,
    relax,
    turn_side,
)

_PIECE = 4096


@kernel
def primal_simplex(held: Dictionary, size: Size, tolerance: float, slack_tolerance: float, n_most: int) -> Outcome:
    """Go on until no gradient promises more than `tolerance`, in at most `n_most` steps.

    If there is anything to do, the dictionary is made feasible first, so limits may be wider afterwards.
    """
    if _most_promising(held, size, tolerance) < 0:
        return Outcome(OPTIMAL, 0, -1)
    relax(held, size)
    for n_steps in range(n_most + 1):
        q = _most_promising(held, size, tolerance)
        if q < 0:
            return Outcome(OPTIMAL, n_steps, -1)
        if n_steps == n_most:
            break
        if not _ascend(held, size, q, slack_tolerance):
            return Outcome(UNBOUNDED, n_steps, q)
    return Outcome(LIMIT_REACHED, n_most, -1)


@inner_kernel
def _promise(held: Dictionary, k: int) -> float:
    """By how much the objective grows as the variable of column k leaves its place in the direction of its gradient."""
    gradient = float(held.gradient[k])
    if held.at[k] == 0.0:
        return abs(gradient) - float(held.column_limit[k])
    return -gradient if held.at[k] > 0.0 else gradient


@inner_kernel
def _most_promising(held: Dictionary, size: Size, tolerance: float) -> int:
    """By the steepest edge: the promise for the length of the column."""
    best, most = -1, 0.0
    for k in range(size.n_columns):
        promise = _promise(held, k)
        if promise > tolerance:
            line = held.entries[k, : size.n_rows]
            steepness = promise * promise / (1.0 + _squares(line))
            if steepness > most:
                best, most = k, steepness
    return best


@inner_kernel
def _squares(line: NDArray[np.float64]) -> float:
    """The sum of its squares, by pieces: a long line would be shared among threads, and its sum depend on how many."""
    total = 0.0
    for first in range(0, line.shape[0], _PIECE):
        piece = line[first : first + _PIECE]
        total += np.dot(piece, piece)
    return total


@inner_kernel
def _ascend(held: Dictionary, size: Size, q: int, slack_tolerance: float) -> bool:
    """One step along column q, past the kinks that are worth passing. False if nothing ends it."""
    direction = 1.0 if held.gradient[q] > 0.0 else -1.0
    is_margin = held.at[q] != 0.0
    while True:
        r = _first_in_the_way(held, size, q, direction, slack_tolerance)
        if r < 0 and not is_margin:
            return False
        change = direction * held.entries[q, r] if r >= 0 else 0.0
        step = _slack(held, r, change) / abs(change) if r >= 0 else np.inf
        if is_margin and step >= 2.0 * held.column_limit[q]:
            move(held, size, q, -2.0 * held.at[q])
            return True
        if held.side[r] == 0.0 or _promise(held, q) <= 2.0 * held.row_limit[r] * abs(change):
            break
        turn_side(held, size, r)
    move(held, size, q, direction * step)
    leaving_at = 0.0 if held.side[r] != 0.0 else (held.row_limit[r] if change > 0.0 else -held.row_limit[r])
    exchange(held, size, r, q, 0.0 if is_margin else direction, leaving_at, keeps_norms=False)
    return True


@inner_kernel
def _slack(held: Dictionary, r: int, change: float) -> float:
    """How far the variable of row r may go in the direction of `change` until its limit or its kink."""
    if held.side[r] == 0.0:
        return max(float(held.row_limit[r] - (held.value[r] if change > 0.0 else -held.value[r])), 0.0)
    return max(float(held.side[r] * held.value[r]), 0.0) if held.side[r] * change < 0.0 else np.inf


@inner_kernel
def _first_in_the_way(held: Dictionary, size: Size, q: int, direction: float, slack_tolerance: float) -> int:
    """The row that ends a step along column q; of those that end it almost at once, that of the largest pivot."""
    line, furthest = held.entries[q], np.inf
    for r in range(size.n_rows):
        change = direction * line[r]
        if abs(change) > LEAST_PIVOT:
            furthest = min(furthest, (_slack(held, r, change) + slack_tolerance) / abs(change))
    first, largest = -1, 0.0
    if furthest == np.inf:
        return first
    for r in range(size.n_rows):
        change = direction * line[r]
        if abs(change) > max(largest, LEAST_PIVOT) and _slack(held, r, change) <= furthest * abs(change):
            first, largest = r, abs(change)
    return first
