"""Coordinate descent on the penalized form of robust minimax boosting, whose solution gives the regularized duals.

    minimize  -tau mu + lambda ||mu||_1 + sharpness / 2 * sum_i share_i max(|m_i| - 1/2, 0)^2,   m_i = u_i mu

A step along the weight of a rule reads its rows twice: once for the slope, once to update the margins. The change of
the slope gives the curvature, which is stored for the next step along the same rule.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel

#: Limit of the margins in the linear program, in both directions.
MARGIN_LIMIT = 0.5
#: Smallest curvature along a weight, as a fraction of the rows: if few rows exceed the limit, a full step is too long.
_MIN_CURVATURE = 0.005
#: The length of a step is corrected at most this many times: while the slope at its end, as a fraction of the slope
#: before, is a rise of more than _MAX_RISE or a fall of more than _MAX_FALL. A correction is at most the factor
#: _MAX_GROWTH.
_MAX_TRIES = 5
_MAX_RISE, _MAX_FALL = 0.1, 0.5
_MAX_GROWTH = 4.0


class RuleState(NamedTuple):
    """Arrays of the problem by rule, in the order in which rules were added."""

    numbers: NDArray[np.int64]  # (rule,), row number of the rule in RowState.leaves
    outputs: NDArray[np.float64]  # (rule, leaf)
    tau: NDArray[np.float64]  # (rule,)
    weights: NDArray[np.float64]  # (rule,), mu
    curvatures: NDArray[np.float64]  # (rule,), curvature of the objective along a weight; 0 = unknown
    steepness: NDArray[np.float64]  # (rule,), |derivative| along a weight after its last update


class RowState(NamedTuple):
    """Arrays of the problem by row."""

    leaves: NDArray[np.uint8]  # (rule of the table, row), number of the row's leaf in the rule
    shares: NDArray[np.float64]  # (row,), share of the total weight
    margins: NDArray[np.float64]  # (row,), m_i = u_i mu
    weighted_excess: NDArray[np.float64]  # (row,), share times excess over the limit, with the margin's sign


class Penalty(NamedTuple):
    """Parameters of the objective, and the tolerance of its derivatives."""

    sharpness: float
    regularization: float  # lambda
    tolerance: float  # weights with a smaller absolute derivative are not updated


@kernel
def descend(rules: RuleState, rows: RowState, order: NDArray[np.int64], penalty: Penalty) -> float:
    """Minimize over the weights of the rules at the positions in `order`, approximately and one after the other.

    Returns the largest absolute derivative encountered.
    """
    steepest = 0.0
    for k in order:
        steepest = max(steepest, _descend_along(rules, rows, k, penalty))
    return steepest


@inner_kernel
def _descend_along(rules: RuleState, rows: RowState, k: int, penalty: Penalty) -> float:
    """Minimize over the weight of rule k; return the absolute derivative before."""
    leaf_of_row, outputs = rows.leaves[rules.numbers[k]], rules.outputs[k]
    weight, min_curvature = rules.weights[k], penalty.sharpness * _MIN_CURVATURE
    slope = penalty.sharpness * _weighted_sum(leaf_of_row, outputs, rows.weighted_excess) - rules.tau[k]
    before = abs(_least_subgradient(slope, weight, penalty.regularization))
    rules.steepness[k] = before
    if before <= penalty.tolerance:
        return before
    if rules.curvatures[k] == 0.0:
        rules.curvatures[k] = max(penalty.sharpness * _curvature(leaf_of_row, outputs, rows), min_curvature)
    curvature = rules.curvatures[k]
    step = _soft_threshold(weight - slope / curvature, penalty.regularization / curvature) - weight
    step_so_far, after = 0.0, slope
    for _ in range(_MAX_TRIES):
        _change_weight(leaf_of_row, outputs, step - step_so_far, rows)
        step_so_far = step
        after = penalty.sharpness * _weighted_sum(leaf_of_row, outputs, rows.weighted_excess) - rules.tau[k]
        rise = _slope_along_step(after, weight + step, step, penalty.regularization)
        if -_MAX_FALL * before <= rise <= _MAX_RISE * before:
            break
        step *= min(before / max(before + rise, before / _MAX_GROWTH), _MAX_GROWTH)
    rules.weights[k] = weight + step_so_far
    rules.steepness[k] = abs(_least_subgradient(after, weight + step_so_far, penalty.regularization))
    if step_so_far != 0.0:
        rules.curvatures[k] = max((after - slope) / step_so_far, min_curvature)
    return before


@inner_kernel
def _weighted_sum(
    leaf_of_row: NDArray[np.uint8], outputs: NDArray[np.float64], weighted_excess: NDArray[np.float64]
) -> float:
    """Return the sum over rows of outputs times `weighted_excess`.

    Four sums are computed, so that an addition does not depend on the one before it.
    """
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    n_rows = weighted_excess.shape[0]
    for i in range(0, n_rows - 3, 4):
        first += outputs[np.uint64(leaf_of_row[i])] * weighted_excess[i]
        second += outputs[np.uint64(leaf_of_row[i + 1])] * weighted_excess[i + 1]
        third += outputs[np.uint64(leaf_of_row[i + 2])] * weighted_excess[i + 2]
        fourth += outputs[np.uint64(leaf_of_row[i + 3])] * weighted_excess[i + 3]
    for i in range(n_rows - n_rows % 4, n_rows):
        first += outputs[np.uint64(leaf_of_row[i])] * weighted_excess[i]
    return (first + second) + (third + fourth)


@inner_kernel
def _curvature(leaf_of_row: NDArray[np.uint8], outputs: NDArray[np.float64], rows: RowState) -> float:
    """Return the curvature of the penalty divided by its sharpness: squared outputs of the rows beyond the limit."""
    total = 0.0
    for i in range(rows.weighted_excess.shape[0]):
        output = outputs[np.uint64(leaf_of_row[i])]
        total += rows.shares[i] * output * output if rows.weighted_excess[i] != 0.0 else 0.0
    return total


@inner_kernel
def _change_weight(leaf_of_row: NDArray[np.uint8], outputs: NDArray[np.float64], step: float, rows: RowState) -> None:
    """Update margins and excesses for a change of the weight of a rule by `step`."""
    margins, weighted_excess, shares = rows.margins, rows.weighted_excess, rows.shares
    for i in range(margins.shape[0]):
        margin = margins[i] + step * outputs[np.uint64(leaf_of_row[i])]
        margins[i] = margin
        weighted_excess[i] = shares[i] * _soft_threshold(margin, MARGIN_LIMIT)


@inner_kernel
def _least_subgradient(slope: float, weight: float, regularization: float) -> float:
    """Return the derivative of the objective; at a weight of zero, the subgradient closest to zero."""
    if weight > 0.0:
        return slope + regularization
    if weight < 0.0:
        return slope - regularization
    return _soft_threshold(slope, regularization)


@inner_kernel
def _soft_threshold(value: float, by: float) -> float:
    """Return `value` moved toward zero by `by`, at most to 0."""
    return value - min(max(value, -by), by)


@inner_kernel
def _slope_along_step(slope: float, weight: float, step: float, regularization: float) -> float:
    """Return the slope of the objective in the direction of the step that led to `weight`.

    It is negative if the objective falls, and 0 at a weight of zero.
    """
    if weight == 0.0 or step == 0.0:
        return 0.0
    total = slope + (regularization if weight > 0.0 else -regularization)
    return total if step > 0.0 else -total
