"""Every splitting criterion, exactly once: which functions it is made of. The formulas lie in the `criteria_*` files.

A criterion sees a cut as two sides that grow class by class: `_REMEMBER` says what it keeps up to date while weight
is added to a side, `_RISKS` reads the side's risk from that, `_GAINS` makes a gain of two sides, and
`_RISK_DECREASES` says what the stop rule compares. To add one: a NamedTuple and its functions in a file of its family,
its rows below, and an entry in `ALL_CRITERIA`. One that does not split into two risks gives its own gain, from the
`class_weights` of both sides. The search and growth loops are compiled anew per type and never change.

Impurities are unnormalised (Wilton and Ye 2024, Theorems 1 and 8), natural logarithm; risk = weight times impurity.
Sides only ever grow, and no formula takes a sum from another one where a side is pure, so that a pure side has risk
0 exactly: a difference from 1 would leave 1e-16, and its square root 1e-8. A formula that needs the number of classes
of the whole data set has it as a field.
"""

from typing import Any

import numpy as np
from numba.extending import overload

from core.kernels.criteria_distribution import TabulatedImpurity, tabulated_risk
from core.kernels.criteria_entropy import Credal, Entropy, credal_gain, credal_risk, entropy_risk, weighted_logs
from core.kernels.criteria_gini import (
    Gini,
    NegativeExponentialImpurity,
    SignedGini,
    SqrtGini,
    gini_risk,
    ne_risk,
    pairs,
    pairs_and_largest,
    signed_gini_risk,
    sqrt_gini_risk,
    squared_length,
)
from core.kernels.criteria_norm import (
    GeneralizedCrossEntropyImpurity,
    Misclassification,
    NearEntropy,
    NearMisclassification,
    gce_risk,
    largest,
    misclassification_risk,
    near_entropy_risk,
    near_misclassification_risk,
    sum_of_excess,
    sum_of_powers,
)
from core.kernels.criteria_two_sided import (
    Ranking,
    Twoing,
    gain_itself,
    pairs_decrease,
    ranking_gain,
    ranking_risk,
    twoing_gain,
)
from core.kernels.jit import kernel
from core.kernels.sides import ClassWeights as ClassWeights
from core.kernels.sides import Side as Side

Criterion = (
    Gini
    | Entropy
    | Misclassification
    | SqrtGini
    | NegativeExponentialImpurity
    | GeneralizedCrossEntropyImpurity
    | NearMisclassification
    | NearEntropy
    | TabulatedImpurity
    | Twoing
    | Credal
    | Ranking
    | SignedGini
)

_NO_TABLE = np.zeros(1, dtype=np.float64)

#: One of each type; tables are as short as they can be.
ALL_CRITERIA: tuple[Criterion, ...] = (
    Gini(),
    Entropy(_NO_TABLE),
    Misclassification(1.0),
    SqrtGini(2),
    NegativeExponentialImpurity(0.5, 2),
    GeneralizedCrossEntropyImpurity(2.0, 2.0, 0.5, _NO_TABLE),
    NearMisclassification(1.0 / 0.99, 100.0, 0.01),
    NearEntropy(0.001),
    TabulatedImpurity(np.array([[0.0, 1.0, 0.0, 1.0]]), 2),
    Twoing(),
    Credal(1.0, 2, _NO_TABLE),
    Ranking(1.0),
    SignedGini(np.eye(2)),
)

_REMEMBER: dict[type[Any], Any] = {
    Gini: pairs,
    Entropy: weighted_logs,
    Misclassification: largest,
    SqrtGini: pairs,
    NegativeExponentialImpurity: pairs_and_largest,
    GeneralizedCrossEntropyImpurity: sum_of_powers,
    NearMisclassification: largest,
    NearEntropy: sum_of_excess,
    TabulatedImpurity: pairs_and_largest,
    Twoing: pairs,
    Credal: weighted_logs,
    Ranking: pairs,
    SignedGini: squared_length,
}
_RISKS: dict[type[Any], Any] = {
    Gini: gini_risk,
    Entropy: entropy_risk,
    Misclassification: misclassification_risk,
    SqrtGini: sqrt_gini_risk,
    NegativeExponentialImpurity: ne_risk,
    GeneralizedCrossEntropyImpurity: gce_risk,
    NearMisclassification: near_misclassification_risk,
    NearEntropy: near_entropy_risk,
    TabulatedImpurity: tabulated_risk,
    Twoing: gini_risk,
    Credal: credal_risk,
    Ranking: ranking_risk,
    SignedGini: signed_gini_risk,
}


def _plain(table: dict[type[Any], Any], criterion_type: type[Any]) -> Any:
    """The function of a table's row, without its own compilation: `overload` compiles it into the caller."""
    function = table[criterion_type]
    return getattr(function, "py_func", function)


def _chosen_by_type(function: Any) -> Any:
    """`overload` without its comparison of annotations, which differ between a choice and what it chooses."""
    return overload(function, strict=False)


def _remember(criterion: Criterion, side: Side, class_number: int, before: float, added: float) -> tuple[float, float]:
    kept: tuple[float, float] = _REMEMBER[type(criterion)](criterion, side, class_number, before, added)
    return kept


@_chosen_by_type(_remember)
def _choose_remember(criterion: Any, side: Any, class_number: Any, before: Any, added: Any) -> Any:
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
    spread, largest = _remember(criterion, side, class_number, before, added)
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


_GAINS: dict[type[Any], Any] = {
    **dict.fromkeys(_RISKS, _risk_gain),
    Twoing: twoing_gain,
    Credal: credal_gain,
    Ranking: ranking_gain,
}


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


_RISK_DECREASES: dict[type[Any], Any] = {
    **dict.fromkeys(_RISKS, _weighted_by_node),
    Twoing: gain_itself,
    Credal: gain_itself,
    Ranking: pairs_decrease,
}


def risk_decrease(criterion: Criterion, gain: float, node_fraction: float) -> float:
    """What the stop rule compares with min_risk_decrease; node_fraction = weight of the node / weight of the tree."""
    decrease: float = _RISK_DECREASES[type(criterion)](criterion, gain, node_fraction)
    return decrease


@_chosen_by_type(risk_decrease)
def _choose_risk_decrease(criterion: Any, gain: Any, node_fraction: Any) -> Any:
    return _plain(_RISK_DECREASES, criterion.instance_class)


@kernel
def _no(criterion: Criterion) -> bool:
    return False


@kernel
def _yes(criterion: Criterion) -> bool:
    return True


_NEEDS_ALL_CLASSES: dict[type[Any], Any] = {**dict.fromkeys(_RISKS, _no), SignedGini: _yes}


def needs_all_classes(criterion: Criterion) -> bool:
    """Whether sides must hold all classes of the data set in their order, those absent from the node included."""
    needed: bool = _NEEDS_ALL_CLASSES[type(criterion)](criterion)
    return needed


@_chosen_by_type(needs_all_classes)
def _choose_needs_all_classes(criterion: Any) -> Any:
    return _plain(_NEEDS_ALL_CLASSES, criterion.instance_class)
