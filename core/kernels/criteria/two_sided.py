"""Criteria whose gain is computed from both children at once instead of from two risks: twoing and ranking."""

from typing import NamedTuple

from core.kernels.criteria.sides import ClassWeights, Side
from core.kernels.jit import inner_kernel

#: The smallest decrease that the stop rule of growth does not treat as a rounding error.
MIN_DECREASE = 2e-12
#: Differences of two pair counts below this fraction of their sum are rounding errors.
PAIR_ROUNDING = 1e-13


class Twoing(NamedTuple):
    """Gain W_L W_R / (4 W^2) (sum_k |p_k(L) - p_k(R)|)^2 (Breiman et al. 1984).

    Nodes record the Gini impurity.
    """


class Ranking(NamedTuple):
    """Gain |L_0 R_1 - L_1 R_0| / 2 for two classes.

    It is the number of pairs of different classes that the split orders correctly minus the number that it orders
    incorrectly, relative to the half that a tie counts. Nodes record p_0 p_1 / 2, the ranking loss of a node in which
    all rows tie, per squared weight.
    """

    pair_unit: float  # squared unit of the weights, which converts a gain to pairs in the caller's unit


@inner_kernel
def twoing_gain(
    criterion: Twoing, left: ClassWeights, left_weight: float, right: ClassWeights, right_weight: float
) -> float:
    left_reciprocal, right_reciprocal, distance = 1.0 / left_weight, 1.0 / right_weight, 0.0
    for k in range(left.shape[0]):
        distance += abs(left[k] * left_reciprocal - right[k] * right_reciprocal)
    total = left_weight + right_weight
    return (left_weight / total) * (right_weight / total) * distance * distance / 4.0


@inner_kernel
def ranking_risk(criterion: Ranking, side: Side, class_weights: ClassWeights) -> float:
    """Return w_0 w_1 / (2 W), from the same sums as the Gini impurity: spread = w_0 w_1."""
    return side.spread / (2.0 * side.weight)


@inner_kernel
def ranking_gain(
    criterion: Ranking, left: ClassWeights, left_weight: float, right: ClassWeights, right_weight: float
) -> float:
    """Return the number of pairs, in the squared unit of the weights."""
    if left.shape[0] != 2:
        return 0.0
    ordered, reversed_ = left[0] * right[1], left[1] * right[0]
    difference = abs(ordered - reversed_)
    return difference / 2.0 if difference > PAIR_ROUNDING * (ordered + reversed_) else 0.0


@inner_kernel
def negated_objective(criterion: Twoing, parent_impurity: float, objective: float, weight: float) -> float:
    """Return the gain; the scan minimizes, so its objective is the negative gain."""
    return -objective


@inner_kernel
def ranking_decrease(criterion: Ranking, gain: float, node_fraction: float) -> float:
    """Return the number of pairs in the caller's unit.

    A gain that is larger than rounding errors is returned as at least `MIN_DECREASE`, however small the caller's
    weights are.
    """
    if gain <= MIN_DECREASE:
        return 0.0
    return max(gain * criterion.pair_unit, MIN_DECREASE)


@inner_kernel
def unweighted_gain(criterion: Twoing, gain: float, node_fraction: float) -> float:
    """Return the gain itself, which is not a part of the training risk and is not weighted by the node."""
    return gain
