"""Dual simplex method on a dictionary of minimax boosting: from an optimal gradient to feasible values."""

import numpy as np

from core.kernels.jit import inner_kernel, kernel
from core.kernels.simplex.dictionary import (
    LIMIT_REACHED,
    MIN_PIVOT,
    OPTIMAL,
    STUCK,
    Dictionary,
    OutcomeFields,
    Size,
    compute_row_norms,
    exchange,
    shift,
    switch_side,
)


@kernel
def dual_simplex(
    dictionary: Dictionary, size: Size, tolerance: float, slack_tolerance: float, max_steps: int
) -> OutcomeFields:
    """Iterate until no value violates its limit by more than `tolerance`, for at most `max_steps` steps.

    Gradients may be violated by `slack_tolerance`.
    """
    compute_row_norms(dictionary, size)
    for n_steps in range(max_steps + 1):
        p = _choose_leaving_row(dictionary, size, tolerance)
        if p < 0:
            return OPTIMAL, n_steps, -1
        if n_steps == max_steps:
            break
        if not _take_step(dictionary, size, p, slack_tolerance):
            return STUCK, n_steps, -1
    return LIMIT_REACHED, max_steps, -1


@inner_kernel
def _infeasibility(dictionary: Dictionary, r: int) -> float:
    """Return by how much the value of row r violates its limit; negative if it does not."""
    side, value = float(dictionary.side[r]), float(dictionary.value[r])
    return abs(value) - float(dictionary.row_limit[r]) if side == 0.0 else -side * value


@inner_kernel
def _choose_leaving_row(dictionary: Dictionary, size: Size, tolerance: float) -> int:
    """Return the row with the steepest edge, i.e. infeasibility relative to the row norm, or -1."""
    worst, most = -1, 0.0
    for r in range(size.n_rows):
        violation = _infeasibility(dictionary, r)
        if violation > tolerance and violation * violation > most * dictionary.norm[r]:
            worst, most = r, violation * violation / dictionary.norm[r]
    return worst


@inner_kernel
def _take_step(dictionary: Dictionary, size: Size, p: int, slack_tolerance: float) -> bool:
    """Move the value of row p to its limit, or past its kink. Return False if this is impossible."""
    sign = 1.0 if dictionary.value[p] > 0.0 else -1.0
    is_margin = dictionary.side[p] == 0.0
    while True:
        q = _choose_entering_column(dictionary, size, p, sign, slack_tolerance)
        if q < 0 and is_margin:
            return False
        rate = sign * dictionary.entries[q, p] if q >= 0 else 1.0
        if not is_margin and (q < 0 or _slack(dictionary, q, rate) > 2.0 * dictionary.row_limit[p] * abs(rate)):
            switch_side(dictionary, size, p)
            return True
        if dictionary.at[q] == 0.0 or _infeasibility(dictionary, p) <= 2.0 * dictionary.column_limit[q] * abs(rate):
            break
        shift(dictionary, size, q, -2.0 * dictionary.at[q])
    entering_side = 0.0 if dictionary.at[q] != 0.0 else (1.0 if rate < 0.0 else -1.0)
    target = sign * dictionary.row_limit[p] if is_margin else 0.0
    shift(dictionary, size, q, (target - dictionary.value[p]) / dictionary.entries[q, p])
    exchange(dictionary, size, p, q, entering_side, target, keeps_norms=True)
    return True


@inner_kernel
def _slack(dictionary: Dictionary, k: int, rate: float) -> float:
    """Return how far the gradient of column k can move against the sign of `rate`."""
    gradient = float(dictionary.gradient[k])
    if dictionary.at[k] == 0.0:
        return max(float(dictionary.column_limit[k]) + (gradient if rate > 0.0 else -gradient), 0.0)
    return max(gradient if rate > 0.0 else -gradient, 0.0) if dictionary.at[k] * rate > 0.0 else np.inf


@inner_kernel
def _choose_entering_column(dictionary: Dictionary, size: Size, p: int, sign: float, slack_tolerance: float) -> int:
    """Return the column whose gradient limits the step, or -1.

    Among columns that limit it within `slack_tolerance`, the largest pivot is chosen.
    """
    furthest = np.inf
    for k in range(size.n_columns):
        rate = sign * dictionary.entries[k, p]
        if abs(rate) > MIN_PIVOT:
            furthest = min(furthest, (_slack(dictionary, k, rate) + slack_tolerance) / abs(rate))
    first, largest = -1, 0.0
    if furthest == np.inf:
        return first
    for k in range(size.n_columns):
        rate = sign * dictionary.entries[k, p]
        if abs(rate) > max(largest, MIN_PIVOT) and _slack(dictionary, k, rate) <= furthest * abs(rate):
            first, largest = k, abs(rate)
    return first
