"""Coordinate descent on the penalised form of robust minimax boosting.

    minimise  -tau mu + lambda ||mu||_1 + sharpness / 2 * sum_i share_i max(|m_i| - 1/2, 0)^2,   m_i = u_i mu

A step along the weight of a rule takes two looks at its rows: one for the slope, one to move the margins. How the slope
changed tells the curvature, which is remembered for the next step along the same rule.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel

#: What the program allows a margin, in either direction.
MARGIN_LIMIT = 0.5
#: Least curvature of a weight, as a share of the rows: where few are beyond the limit a full step goes too far.
_LEAST_CURVATURE = 0.005
#: A step is made shorter or longer at most so often: while the whole rises again by more than the first share of the
#: slope before, or still falls by more than the second. None grows by more than the factor.
_MOST_TRIES = 5
_SMALL_SHARE, _LARGE_SHARE = 0.1, 0.5
_MOST_GROWTH = 4.0


class RuleSide(NamedTuple):
    """The problem by rules, in the order of joining."""

    numbers: NDArray[np.int64]  # (rule,), places in the table of leaves
    outputs: NDArray[np.float64]  # (rule, leaf)
    tau: NDArray[np.float64]  # (rule,)
    weights: NDArray[np.float64]  # (rule,), mu
    curvatures: NDArray[np.float64]  # (rule,), of the objective along a weight; 0 = not known
    steepness: NDArray[np.float64]  # (rule,), |derivative| along a weight after it was last visited


class RowSide(NamedTuple):
    """The problem by rows."""

    leaves: NDArray[np.uint8]  # (table's rule, row), as in core.kernels.prediction.rule_outputs
    shares: NDArray[np.float64]  # (row,)
    margins: NDArray[np.float64]  # (row,), m
    beyond: NDArray[np.float64]  # (row,), share times what the margin is beyond the limit, with the margin's sign


class Penalty(NamedTuple):
    """What the weights cost."""

    sharpness: float
    regularization: float  # lambda
    settled: float  # derivatives up to this are left alone


@kernel
def descend(rules: RuleSide, rows: RowSide, order: NDArray[np.int64], penalty: Penalty) -> float:
    """Take the weights of the rules at the places in `order`, one after the other, nearly to their minima. Returns the
    steepest derivative that was met.
    """
    steepest = 0.0
    for k in order:
        steepest = max(steepest, _descend_along(rules, rows, k, penalty))
    return steepest


@inner_kernel
def _descend_along(rules: RuleSide, rows: RowSide, k: int, penalty: Penalty) -> float:
    """Returns |derivative| before."""
    leaf_of_row, outputs = rows.leaves[rules.numbers[k]], rules.outputs[k]
    weight, least = rules.weights[k], penalty.sharpness * _LEAST_CURVATURE
    slope = penalty.sharpness * _weighted_sum(leaf_of_row, outputs, rows.beyond) - rules.tau[k]
    before = abs(_steepest(slope, weight, penalty.regularization))
    rules.steepness[k] = before
    if before <= penalty.settled:
        return before
    if rules.curvatures[k] == 0.0:
        rules.curvatures[k] = max(penalty.sharpness * _curvature(leaf_of_row, outputs, rows), least)
    curvature = rules.curvatures[k]
    step = _shrunken(weight - slope / curvature, penalty.regularization / curvature) - weight
    moved, after = 0.0, slope
    for _ in range(_MOST_TRIES):
        _move(leaf_of_row, outputs, step - moved, rows)
        moved = step
        after = penalty.sharpness * _weighted_sum(leaf_of_row, outputs, rows.beyond) - rules.tau[k]
        rise = _rise(after, weight + step, step, penalty.regularization)
        if -_LARGE_SHARE * before <= rise <= _SMALL_SHARE * before:
            break
        step *= min(before / max(before + rise, before / _MOST_GROWTH), _MOST_GROWTH)
    rules.weights[k] = weight + moved
    rules.steepness[k] = abs(_steepest(after, weight + moved, penalty.regularization))
    if moved != 0.0:
        rules.curvatures[k] = max((after - slope) / moved, least)
    return before


@inner_kernel
def _weighted_sum(leaf_of_row: NDArray[np.uint8], outputs: NDArray[np.float64], beyond: NDArray[np.float64]) -> float:
    """Sum over rows of outputs times `beyond`, in four sums that need not wait for each other."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    n_rows = beyond.shape[0]
    for i in range(0, n_rows - 3, 4):
        first += outputs[np.uint64(leaf_of_row[i])] * beyond[i]
        second += outputs[np.uint64(leaf_of_row[i + 1])] * beyond[i + 1]
        third += outputs[np.uint64(leaf_of_row[i + 2])] * beyond[i + 2]
        fourth += outputs[np.uint64(leaf_of_row[i + 3])] * beyond[i + 3]
    for i in range(n_rows - n_rows % 4, n_rows):
        first += outputs[np.uint64(leaf_of_row[i])] * beyond[i]
    return (first + second) + (third + fourth)


@inner_kernel
def _curvature(leaf_of_row: NDArray[np.uint8], outputs: NDArray[np.float64], rows: RowSide) -> float:
    """Of the penalty, without its sharpness: the squared outputs of the rows that are beyond the limit."""
    total = 0.0
    for i in range(rows.beyond.shape[0]):
        output = outputs[np.uint64(leaf_of_row[i])]
        total += rows.shares[i] * output * output if rows.beyond[i] != 0.0 else 0.0
    return total


@inner_kernel
def _move(leaf_of_row: NDArray[np.uint8], outputs: NDArray[np.float64], step: float, rows: RowSide) -> None:
    """Change the weight of a rule by `step`."""
    margins, beyond, shares = rows.margins, rows.beyond, rows.shares
    for i in range(margins.shape[0]):
        margin = margins[i] + step * outputs[np.uint64(leaf_of_row[i])]
        margins[i] = margin
        beyond[i] = shares[i] * _shrunken(margin, MARGIN_LIMIT)


@inner_kernel
def _steepest(slope: float, weight: float, regularization: float) -> float:
    """The derivative of the whole, at a weight of zero that of the side which falls; 0 if neither does."""
    if weight > 0.0:
        return slope + regularization
    if weight < 0.0:
        return slope - regularization
    return _shrunken(slope, regularization)


@inner_kernel
def _shrunken(value: float, by: float) -> float:
    return value - min(max(value, -by), by)


@inner_kernel
def _rise(slope: float, weight: float, step: float, regularization: float) -> float:
    """How steeply the whole rises in the direction of the step that led to `weight`, negative where it falls; 0 for no
    weight.
    """
    if weight == 0.0 or step == 0.0:
        return 0.0
    total = slope + (regularization if weight > 0.0 else -regularization)
    return total if step > 0.0 else -total
