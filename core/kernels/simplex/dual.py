"""The dual simplex method on a dictionary of minimax boosting: from gradients of an optimum to a feasible one."""

import numpy as np

from core.kernels.jit import inner_kernel, kernel
from core.kernels.simplex.dictionary import (
    LEAST_PIVOT,
    LIMIT_REACHED,
    OPTIMAL,
    STUCK,
    Dictionary,
    Outcome,
    Size,
    exchange,
    measure_rows,
    move,
    turn_side,
)


@kernel
def dual_simplex(held: Dictionary, size: Size, tolerance: float, slack_tolerance: float, n_most: int) -> Outcome:
    """Go on until no value is further than `tolerance` from where it may be, in at most `n_most` steps."""
    measure_rows(held, size)
    for n_steps in range(n_most + 1):
        p = _most_infeasible(held, size, tolerance)
        if p < 0:
            return Outcome(OPTIMAL, n_steps, -1)
        if n_steps == n_most:
            break
        if not _repair(held, size, p, slack_tolerance):
            return Outcome(STUCK, n_steps, -1)
    return Outcome(LIMIT_REACHED, n_most, -1)


@inner_kernel
def _excess(held: Dictionary, r: int) -> float:
    """How far the value of row r is from where it may be."""
    value = float(held.value[r])
    return abs(value) - float(held.row_limit[r]) if held.side[r] == 0.0 else -float(held.side[r]) * value


@inner_kernel
def _most_infeasible(held: Dictionary, size: Size, tolerance: float) -> int:
    """By the steepest edge: the excess for the length of the row."""
    worst, most = -1, 0.0
    for r in range(size.n_rows):
        excess = _excess(held, r)
        if excess > tolerance and excess * excess > most * held.norm[r]:
            worst, most = r, excess * excess / held.norm[r]
    return worst


@inner_kernel
def _repair(held: Dictionary, size: Size, p: int, slack_tolerance: float) -> bool:
    """Bring the value of row p to its limit, or let it pass its kink. False if nothing can."""
    sign = 1.0 if held.value[p] > 0.0 else -1.0
    is_margin = held.side[p] == 0.0
    while True:
        q = _first_to_turn(held, size, p, sign, slack_tolerance)
        if q < 0 and is_margin:
            return False
        rate = sign * held.entries[q, p] if q >= 0 else 1.0
        if not is_margin and (q < 0 or _slack(held, q, rate) > 2.0 * held.row_limit[p] * abs(rate)):
            turn_side(held, size, p)
            return True
        if held.at[q] == 0.0 or _excess(held, p) <= 2.0 * held.column_limit[q] * abs(rate):
            break
        move(held, size, q, -2.0 * held.at[q])
    entering_side = 0.0 if held.at[q] != 0.0 else (1.0 if rate < 0.0 else -1.0)
    target = sign * held.row_limit[p] if is_margin else 0.0
    move(held, size, q, (target - held.value[p]) / held.entries[q, p])
    exchange(held, size, p, q, entering_side, target, keeps_norms=True)
    return True


@inner_kernel
def _slack(held: Dictionary, k: int, rate: float) -> float:
    """How far the gradient of column k may go against the sign of `rate`."""
    gradient = float(held.gradient[k])
    if held.at[k] == 0.0:
        return max(float(held.column_limit[k]) + (gradient if rate > 0.0 else -gradient), 0.0)
    return max(gradient if rate > 0.0 else -gradient, 0.0) if held.at[k] * rate > 0.0 else np.inf


@inner_kernel
def _first_to_turn(held: Dictionary, size: Size, p: int, sign: float, slack_tolerance: float) -> int:
    """The column whose gradient ends the step; of those that end it almost at once, that of the largest pivot."""
    furthest = np.inf
    for k in range(size.n_columns):
        rate = sign * held.entries[k, p]
        if abs(rate) > LEAST_PIVOT:
            furthest = min(furthest, (_slack(held, k, rate) + slack_tolerance) / abs(rate))
    first, largest = -1, 0.0
    if furthest == np.inf:
        return first
    for k in range(size.n_columns):
        rate = sign * held.entries[k, p]
        if abs(rate) > max(largest, LEAST_PIVOT) and _slack(held, k, rate) <= furthest * abs(rate):
            first, largest = k, abs(rate)
    return first
