"""Calls from the search to the functions of a criterion, chosen at compile time by the type of the criterion.

Each function exists twice: as plain Python, which runs if kernels are not compiled, and as numba's overload of it.
"""

from typing import Any

from core.kernels.criteria.catalog import CRITERIA, Criterion
from core.kernels.criteria.sides import EMPTY_SIDE, ClassWeights, Side
from core.kernels.jit import chosen_by_type, inner_kernel, uncompiled


def _update(
    criterion: Criterion, side: Side, class_weights: ClassWeights, class_number: int, before: float, added: float
) -> tuple[float, float]:
    """Return (spread, largest) of `side` after the weight of one class has grown from `before` by `added`."""
    return CRITERIA[type(criterion)].update(criterion, side, class_weights, class_number, before, added)


@chosen_by_type(_update)
def _choose_update(criterion: Any, side: Any, class_weights: Any, class_number: Any, before: Any, added: Any) -> Any:
    return uncompiled(CRITERIA[criterion.instance_class].update)


def side_risk(criterion: Criterion, side: Side, class_weights: ClassWeights) -> float:
    """Return weight times impurity of a side that is not empty."""
    return CRITERIA[type(criterion)].risk(criterion, side, class_weights)


@chosen_by_type(side_risk)
def _choose_risk(criterion: Any, side: Any, class_weights: Any) -> Any:
    return uncompiled(CRITERIA[criterion.instance_class].risk)


@inner_kernel
def with_weight(criterion: Criterion, side: Side, class_weights: ClassWeights, class_number: int, added: float) -> Side:
    """Return `side` with weight `added` > 0 of one class added to it; updates its `class_weights` (class,)."""
    before = class_weights[class_number]
    spread, largest = _update(criterion, side, class_weights, class_number, before, added)
    class_weights[class_number] = before + added
    return Side(side.weight + added, spread, largest)


@inner_kernel
def make_side(criterion: Criterion, class_weights: ClassWeights, scratch: ClassWeights) -> Side:
    """Return the side with the given class weights (class,); `scratch` (class,) is overwritten."""
    side = EMPTY_SIDE
    scratch[:] = 0.0
    for k in range(class_weights.shape[0]):
        added = class_weights[k]
        if added > 0.0:
            # Written out, since `with_weight` would load the 0 that has just been stored.
            spread, largest = _update(criterion, side, scratch, k, 0.0, added)
            scratch[k] = added
            side = Side(side.weight + added, spread, largest)
    return side


@inner_kernel
def node_impurity(criterion: Criterion, class_weights: ClassWeights, scratch: ClassWeights) -> float:
    """Return the impurity of a node with the given class weights (class,), whose sum must be positive.

    `scratch` (class,) is overwritten.
    """
    side = make_side(criterion, class_weights, scratch)
    return side_risk(criterion, side, class_weights) / side.weight


def combine_risks(
    criterion: Criterion, left_weight: float, left_risk: float, right_weight: float, right_risk: float
) -> float:
    """Return the objective that the scan minimizes, from the risks of both sides."""
    return CRITERIA[type(criterion)].combine_risks(criterion, left_weight, left_risk, right_weight, right_risk)


@chosen_by_type(combine_risks)
def _choose_combine_risks(criterion: Any, left_weight: Any, left_risk: Any, right_weight: Any, right_risk: Any) -> Any:
    return uncompiled(CRITERIA[criterion.instance_class].combine_risks)


def pair_gain(
    criterion: Criterion, left: ClassWeights, left_weight: float, right: ClassWeights, right_weight: float
) -> float:
    """Return the gain of a cut from the class weights (class,) of both sides, if not `splits_into_risks`."""
    return CRITERIA[type(criterion)].pair_gain(criterion, left, left_weight, right, right_weight)


@chosen_by_type(pair_gain)
def _choose_pair_gain(criterion: Any, left: Any, left_weight: Any, right: Any, right_weight: Any) -> Any:
    return uncompiled(CRITERIA[criterion.instance_class].pair_gain)


def gain_from_objective(criterion: Criterion, parent_impurity: float, objective: float, weight: float) -> float:
    """Return the gain of a split per unit of the node's weight, from the objective that the scan minimized."""
    return CRITERIA[type(criterion)].gain(criterion, parent_impurity, objective, weight)


@chosen_by_type(gain_from_objective)
def _choose_gain(criterion: Any, parent_impurity: Any, objective: Any, weight: Any) -> Any:
    return uncompiled(CRITERIA[criterion.instance_class].gain)


def risk_decrease(criterion: Criterion, gain: float, node_fraction: float) -> float:
    """Return the value that is compared with min_risk_decrease.

    `node_fraction` is the weight of the node divided by the weight of the tree.
    """
    return CRITERIA[type(criterion)].risk_decrease(criterion, gain, node_fraction)


@chosen_by_type(risk_decrease)
def _choose_risk_decrease(criterion: Any, gain: Any, node_fraction: Any) -> Any:
    return uncompiled(CRITERIA[criterion.instance_class].risk_decrease)


def _yes(criterion: Criterion) -> bool:
    return True


def _no(criterion: Criterion) -> bool:
    return False


def splits_into_risks(criterion: Criterion) -> bool:
    """Return whether a cut is evaluated by the risks of its sides, and not by `pair_gain`."""
    return CRITERIA[type(criterion)].splits_into_risks


@chosen_by_type(splits_into_risks)
def _choose_splits_into_risks(criterion: Any) -> Any:
    return _yes if CRITERIA[criterion.instance_class].splits_into_risks else _no


def needs_all_classes(criterion: Criterion) -> bool:
    """Return whether class weights must hold all classes of the data set in their order, absent ones included."""
    return CRITERIA[type(criterion)].needs_all_classes


@chosen_by_type(needs_all_classes)
def _choose_needs_all_classes(criterion: Any) -> Any:
    return _yes if CRITERIA[criterion.instance_class].needs_all_classes else _no
