"""Every splitting criterion, exactly once: its type, its formulas, and its row in the tables below.

A criterion sees a cut as two sides that grow class by class: `_REMEMBER` says what it keeps up to date while weight
is added to a side, `_RISKS` reads the side's risk from that, and `_GAINS` makes a gain of two sides. To add one: a
NamedTuple, its functions, its rows, and an entry in `ALL_CRITERIA`. One that does not split into two risks gives its
own gain, from the `class_weights` of both sides. The search and growth loops are compiled anew per type and never
change.

Impurities are unnormalised (Wilton and Ye 2024, Theorems 1 and 8), natural logarithm; risk = weight times impurity.
Sides only ever grow, and the sums below have no negative terms, so a pure side has risk 0 exactly: a difference from
1 would leave 1e-16, and its square root 1e-8. A formula that needs the number of classes of the whole data set has it
as a field.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from core.kernels.jit import kernel

ClassWeights = NDArray[np.float64]


class Side(NamedTuple):
    """Rows on one side of a cut, summed up. The last two fields are for the criterion, which may leave them at 0."""

    class_weights: ClassWeights  # (class,), a workspace; classes absent from the node may be left out
    weight: float
    spread: float  # what the criterion sums over classes
    largest: float  # largest class weight


class Gini(NamedTuple):
    """1 - ||p||_2^2: the minimum of the squared loss."""


class Entropy(NamedTuple):
    """-sum p log p: the minimum of the cross-entropy loss."""


class Misclassification(NamedTuple):
    """cost * (1 - ||p||_inf): every conservative loss (Wilton and Ye, Theorem 4)."""

    cost: float


class SqrtGini(NamedTuple):
    """sqrt((1 - ||p||_2^2) (K - 1) / K): the limit of NE / lambda for lambda -> 0."""

    n_classes: int


class NegativeExponentialImpurity(NamedTuple):
    """min{1 - ||p||_inf, lambda sqrt((1 - ||p||_2^2) (K - 1) / K)}; K = 2 is Theorem 8 of Wilton and Ye."""

    lam: float
    n_classes: int


Criterion = Gini | Entropy | Misclassification | SqrtGini | NegativeExponentialImpurity

ALL_CRITERIA: tuple[Criterion, ...] = (
    Gini(),
    Entropy(),
    Misclassification(1.0),
    SqrtGini(2),
    NegativeExponentialImpurity(0.5, 2),
)


@kernel
def _pairs(criterion: Criterion, side: Side, before: float, added: float) -> tuple[float, float]:
    """spread = sum over pairs of different classes of the product of their weights = W^2 (1 - ||p||_2^2) / 2."""
    return side.spread + added * (side.weight - before), 0.0


@kernel
def _weighted_logs(criterion: Criterion, side: Side, before: float, added: float) -> tuple[float, float]:
    """spread = sum of w log w over classes."""
    after = before + added
    old = before * math.log(before) if before > 0.0 else 0.0
    return side.spread + (after * math.log(after) - old), 0.0


@kernel
def _largest(criterion: Criterion, side: Side, before: float, added: float) -> tuple[float, float]:
    return 0.0, max(side.largest, before + added)


@kernel
def _pairs_and_largest(criterion: Criterion, side: Side, before: float, added: float) -> tuple[float, float]:
    return side.spread + added * (side.weight - before), max(side.largest, before + added)


@kernel
def _gini_risk(criterion: Gini, side: Side) -> float:
    return 2.0 * side.spread / side.weight


@kernel
def _entropy_risk(criterion: Entropy, side: Side) -> float:
    return max(0.0, side.weight * math.log(side.weight) - side.spread)


@kernel
def _misclassification_risk(criterion: Misclassification, side: Side) -> float:
    return criterion.cost * (side.weight - side.largest)


@kernel
def _sqrt_gini_risk(criterion: SqrtGini, side: Side) -> float:
    return math.sqrt(2.0 * side.spread * (criterion.n_classes - 1) / criterion.n_classes)


@kernel
def _ne_risk(criterion: NegativeExponentialImpurity, side: Side) -> float:
    root = math.sqrt(2.0 * side.spread * (criterion.n_classes - 1) / criterion.n_classes)
    return min(side.weight - side.largest, criterion.lam * root)


_REMEMBER: dict[type[Any], Any] = {
    Gini: _pairs,
    Entropy: _weighted_logs,
    Misclassification: _largest,
    SqrtGini: _pairs,
    NegativeExponentialImpurity: _pairs_and_largest,
}
_RISKS: dict[type[Any], Any] = {
    Gini: _gini_risk,
    Entropy: _entropy_risk,
    Misclassification: _misclassification_risk,
    SqrtGini: _sqrt_gini_risk,
    NegativeExponentialImpurity: _ne_risk,
}


def _plain(table: dict[type[Any], Any], criterion_type: type[Any]) -> Any:
    """The function of a table's row, without its own compilation: `overload` compiles it into the caller."""
    function = table[criterion_type]
    return getattr(function, "py_func", function)


def _chosen_by_type(function: Any) -> Any:
    """`overload` without its comparison of annotations, which differ between a choice and what it chooses."""
    return overload(function, strict=False)


def _remember(criterion: Criterion, side: Side, before: float, added: float) -> tuple[float, float]:
    kept: tuple[float, float] = _REMEMBER[type(criterion)](criterion, side, before, added)
    return kept


@_chosen_by_type(_remember)
def _choose_remember(criterion: Any, side: Any, before: Any, added: Any) -> Any:
    return _plain(_REMEMBER, criterion.instance_class)


def side_risk(criterion: Criterion, side: Side) -> float:
    """Weight times impurity of a side that is not empty."""
    risk: float = _RISKS[type(criterion)](criterion, side)
    return risk


@_chosen_by_type(side_risk)
def _choose_risk(criterion: Any, side: Any) -> Any:
    return _plain(_RISKS, criterion.instance_class)


@kernel
def emptied(class_weights: ClassWeights) -> Side:
    """An empty side on the given workspace."""
    class_weights[:] = 0.0
    return Side(class_weights, 0.0, 0.0, 0.0)


@kernel
def with_weight(criterion: Criterion, side: Side, class_number: int, added: float) -> Side:
    """`side` after rows of one class with weight `added` > 0 have joined it; changes its workspace."""
    before = side.class_weights[class_number]
    spread, largest = _remember(criterion, side, before, added)
    side.class_weights[class_number] = before + added
    return Side(side.class_weights, side.weight + added, spread, largest)


@kernel
def side_of(criterion: Criterion, class_weights: ClassWeights) -> Side:
    """A side with the given class weights, on a workspace of its own."""
    side = emptied(np.empty_like(class_weights))
    for k in range(class_weights.shape[0]):
        if class_weights[k] > 0.0:
            side = with_weight(criterion, side, k, class_weights[k])
    return side


@kernel
def node_impurity(criterion: Criterion, class_weights: ClassWeights) -> float:
    """Impurity of a node from its class weights, whose sum must be positive."""
    side = side_of(criterion, class_weights)
    return side_risk(criterion, side) / side.weight


@kernel
def _risk_gain(criterion: Criterion, parent_impurity: float, left: Side, right: Side) -> float:
    """I(S) - W_L/W_S I(L) - W_R/W_S I(R)."""
    children = side_risk(criterion, left) + side_risk(criterion, right)
    return parent_impurity - children / (left.weight + right.weight)


_GAINS: dict[type[Any], Any] = dict.fromkeys(_RISKS, _risk_gain)


def split_gain(criterion: Criterion, parent_impurity: float, left: Side, right: Side) -> float:
    """Gain of a cut per unit of the node's weight."""
    gain: float = _GAINS[type(criterion)](criterion, parent_impurity, left, right)
    return gain


@_chosen_by_type(split_gain)
def _choose_gain(criterion: Any, parent_impurity: Any, left: Any, right: Any) -> Any:
    return _plain(_GAINS, criterion.instance_class)


@kernel
def _weighted_by_node(criterion: Criterion, gain: float, node_fraction: float) -> float:
    """Equation (1) of Wilton and Ye: the fall of the training risk is W_S times the node's gain."""
    return gain * node_fraction


_RISK_DECREASES: dict[type[Any], Any] = dict.fromkeys(_RISKS, _weighted_by_node)


def risk_decrease(criterion: Criterion, gain: float, node_fraction: float) -> float:
    """What the stop rule compares with min_risk_decrease; node_fraction = weight of the node / weight of the tree."""
    decrease: float = _RISK_DECREASES[type(criterion)](criterion, gain, node_fraction)
    return decrease


@_chosen_by_type(risk_decrease)
def _choose_risk_decrease(criterion: Any, gain: Any, node_fraction: Any) -> Any:
    return _plain(_RISK_DECREASES, criterion.instance_class)
