"""Criteria that are gains of two children and no fall of a risk: twoing and ranking."""

from typing import NamedTuple

from core.kernels.criteria.sides import ClassWeights, Side
from core.kernels.jit import inner_kernel

#: What the stop rule of growth takes for rounding lies below this.
LEAST_DECREASE = 2e-12
#: Differences of two pair counts below this share of them are rounding.
PAIR_ROUNDING = 1e-13


class Twoing(NamedTuple):
    """W_L W_R / (4 W^2) (sum_k |p_k(L) - p_k(R)|)^2 (Breiman et al. 1984). Nodes record the Gini impurity."""


class Ranking(NamedTuple):
    """|L_0 R_1 - L_1 R_0| / 2 for two classes: how many pairs of different classes the split puts in the right order,
    beyond those it puts in the wrong one, against the half that a tie counts. Nodes record p_0 p_1 / 2, the ranking
    loss of a node in which all tie, per squared weight.
    """

    pair_unit: float  # square of the unit of the weights: what turns a gain into pairs as the caller counts them


@inner_kernel
def twoing_gain(
    criterion: Twoing, left: ClassWeights, left_weight: float, right: ClassWeights, right_weight: float
) -> float:
    of_left, of_right, distance = 1.0 / left_weight, 1.0 / right_weight, 0.0
    for k in range(left.shape[0]):
        distance += abs(left[k] * of_left - right[k] * of_right)
    total = left_weight + right_weight
    return (left_weight / total) * (right_weight / total) * distance * distance / 4.0


@inner_kernel
def ranking_risk(criterion: Ranking, side: Side, class_weights: ClassWeights) -> float:
    """Reads what Gini remembers: spread = w_0 w_1."""
    return side.spread / (2.0 * side.weight)


@inner_kernel
def ranking_gain(
    criterion: Ranking, left: ClassWeights, left_weight: float, right: ClassWeights, right_weight: float
) -> float:
    """Pairs in the unit of the weights squared."""
    if left.shape[0] != 2:
        return 0.0
    ordered, reversed_ = left[0] * right[1], left[1] * right[0]
    difference = abs(ordered - reversed_)
    return difference / 2.0 if difference > PAIR_ROUNDING * (ordered + reversed_) else 0.0


@inner_kernel
def no_pair_gain(
    criterion: Twoing, left: ClassWeights, left_weight: float, right: ClassWeights, right_weight: float
) -> float:
    """What stands for the pair gain of criteria that split into risks; never asked for."""
    return 0.0


@inner_kernel
def gain_of_pairs(criterion: Twoing, parent_impurity: float, children: float, weight: float) -> float:
    """The scan minimises, so it saw the gain with its sign turned."""
    return -children


@inner_kernel
def pairs_decrease(criterion: Ranking, gain: float, node_fraction: float) -> float:
    """Pairs as the caller counts them; a gain beyond rounding stays one, however light the caller's weights."""
    if gain <= LEAST_DECREASE:
        return 0.0
    return max(gain * criterion.pair_unit, LEAST_DECREASE)


@inner_kernel
def gain_itself(criterion: Twoing, gain: float, node_fraction: float) -> float:
    """Gains that are no shares of a training risk are compared as they are, not weighted by the node."""
    return gain
