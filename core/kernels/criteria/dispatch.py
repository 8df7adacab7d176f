"""What the search asks of a criterion; the type of the criterion decides at compile time which function answers.

Each question stands twice: as plain Python, which runs when kernels are not compiled, and as numba's overload of it.
"""

from typing import Any

from numba.extending import overload

from core.kernels.criteria.catalogue import (
    CHILDREN,
    GAINS,
    NEEDS_ALL_CLASSES,
    PAIR_GAINS,
    REMEMBER,
    RISK_DECREASES,
    RISKS,
    SPLITS_INTO_RISKS,
    Criterion,
)
from core.kernels.criteria.sides import NOTHING, ClassWeights, Side
from core.kernels.jit import NO_COUNTING, inner_kernel

_UNCOUNTED: Any = NO_COUNTING


def _plain(table: dict[type[Any], Any], criterion_type: type[Any]) -> Any:
    """The function of a table's row, without its own compilation: `overload` compiles it into the caller."""
    function = table[criterion_type]
    return getattr(function, "py_func", function)


def _chosen_by_type(function: Any) -> Any:
    """`overload` without its comparison of annotations, which differ between a choice and what it chooses."""
    return overload(function, strict=False, jit_options=_UNCOUNTED)


def _remember(
    criterion: Criterion, side: Side, class_weights: ClassWeights, class_number: int, before: float, added: float
) -> tuple[float, float]:
    remember = REMEMBER[type(criterion)]
    kept: tuple[float, float] = remember(criterion, side, class_weights, class_number, before, added)
    return kept


@_chosen_by_type(_remember)
def _choose_remember(criterion: Any, side: Any, class_weights: Any, class_number: Any, before: Any, added: Any) -> Any:
    return _plain(REMEMBER, criterion.instance_class)


def side_risk(criterion: Criterion, side: Side, class_weights: ClassWeights) -> float:
    """Weight times impurity of a side that is not empty."""
    risk: float = RISKS[type(criterion)](criterion, side, class_weights)
    return risk


@_chosen_by_type(side_risk)
def _choose_risk(criterion: Any, side: Any, class_weights: Any) -> Any:
    return _plain(RISKS, criterion.instance_class)


@inner_kernel
def with_weight(criterion: Criterion, side: Side, class_weights: ClassWeights, class_number: int, added: float) -> Side:
    """`side` after rows of one class with weight `added` > 0 have joined it; updates its `class_weights`."""
    before = class_weights[class_number]
    spread, largest = _remember(criterion, side, class_weights, class_number, before, added)
    class_weights[class_number] = before + added
    return Side(side.weight + added, spread, largest)


@inner_kernel
def side_of(criterion: Criterion, class_weights: ClassWeights, workspace: ClassWeights) -> Side:
    """The side that has the given class weights; `workspace` is as long as they are."""
    side = NOTHING
    workspace[:] = 0.0
    for k in range(class_weights.shape[0]):
        added = class_weights[k]
        if added > 0.0:
            # as `with_weight`, which would have to load the 0 that was stored a moment ago
            spread, largest = _remember(criterion, side, workspace, k, 0.0, added)
            workspace[k] = added
            side = Side(side.weight + added, spread, largest)
    return side


@inner_kernel
def node_impurity(criterion: Criterion, class_weights: ClassWeights, workspace: ClassWeights) -> float:
    """Impurity of a node from its class weights, whose sum must be positive; `workspace` is as long."""
    side = side_of(criterion, class_weights, workspace)
    return side_risk(criterion, side, class_weights) / side.weight


def children_risk(
    criterion: Criterion, left_weight: float, left_risk: float, right_weight: float, right_risk: float
) -> float:
    """What the scan minimises, from the risks of both sides."""
    children: float = CHILDREN[type(criterion)](criterion, left_weight, left_risk, right_weight, right_risk)
    return children


@_chosen_by_type(children_risk)
def _choose_children(criterion: Any, left_weight: Any, left_risk: Any, right_weight: Any, right_risk: Any) -> Any:
    return _plain(CHILDREN, criterion.instance_class)


def pair_gain(
    criterion: Criterion, left: ClassWeights, left_weight: float, right: ClassWeights, right_weight: float
) -> float:
    """Gain of a cut from the class weights of both sides, for criteria that do not split into risks."""
    gain: float = PAIR_GAINS[type(criterion)](criterion, left, left_weight, right, right_weight)
    return gain


@_chosen_by_type(pair_gain)
def _choose_pair_gain(criterion: Any, left: Any, left_weight: Any, right: Any, right_weight: Any) -> Any:
    return _plain(PAIR_GAINS, criterion.instance_class)


def gain_of_children(criterion: Criterion, parent_impurity: float, children: float, weight: float) -> float:
    """Gain of a split per unit of the node's weight, from what the scan minimised."""
    gain: float = GAINS[type(criterion)](criterion, parent_impurity, children, weight)
    return gain


@_chosen_by_type(gain_of_children)
def _choose_gain(criterion: Any, parent_impurity: Any, children: Any, weight: Any) -> Any:
    return _plain(GAINS, criterion.instance_class)


def risk_decrease(criterion: Criterion, gain: float, node_fraction: float) -> float:
    """What the stop rule compares with min_risk_decrease; node_fraction = weight of the node / weight of the tree."""
    decrease: float = RISK_DECREASES[type(criterion)](criterion, gain, node_fraction)
    return decrease


@_chosen_by_type(risk_decrease)
def _choose_risk_decrease(criterion: Any, gain: Any, node_fraction: Any) -> Any:
    return _plain(RISK_DECREASES, criterion.instance_class)


def splits_into_risks(criterion: Criterion) -> bool:
    """Whether a cut is judged by its sides' risks, and not by `pair_gain`."""
    splits: bool = SPLITS_INTO_RISKS[type(criterion)](criterion)
    return splits


@_chosen_by_type(splits_into_risks)
def _choose_splits_into_risks(criterion: Any) -> Any:
    return _plain(SPLITS_INTO_RISKS, criterion.instance_class)


def needs_all_classes(criterion: Criterion) -> bool:
    """Whether sides must hold all classes of the data set in their order, those absent from the node included."""
    needed: bool = NEEDS_ALL_CLASSES[type(criterion)](criterion)
    return needed


@_chosen_by_type(needs_all_classes)
def _choose_needs_all_classes(criterion: Any) -> Any:
    return _plain(NEEDS_ALL_CLASSES, criterion.instance_class)
