"""Every splitting criterion, exactly once: its type, its formulas, and its row in the tables below.

To add one: a NamedTuple, its functions, a row in `_GAINS` (and in `_IMPURITIES`, `_RISK_DECREASES` where it differs from the
default), and an entry in `ALL_CRITERIA`. Nothing else changes: the search and growth loops are compiled anew per type.

Class weights are float64 (class,), non-negative, and may leave out classes absent from the node: a formula that needs the
number of classes of the whole data set carries it as a field. Impurities are unnormalised (Wilton and Ye 2024, Theorems 1
and 8), natural logarithm, weight of the node left out.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from core.kernels.jit import kernel

ClassWeights = NDArray[np.float64]


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
def gini(class_weights: ClassWeights) -> float:
    """1 - ||p||_2^2 as a sum of products over pairs of classes: exactly 0 for a pure node, where a difference from 1 would
    leave 1e-16, and its square root 1e-8."""
    seen = 0.0
    pairs = 0.0
    for k in range(class_weights.shape[0]):
        pairs += class_weights[k] * seen
        seen += class_weights[k]
    return 2.0 * pairs / (seen * seen)


@kernel
def entropy(class_weights: ClassWeights) -> float:
    """-sum p log p, written as log W - (sum w log w) / W."""
    total = 0.0
    weighted_logs = 0.0
    for k in range(class_weights.shape[0]):
        weight = class_weights[k]
        if weight > 0.0:
            total += weight
            weighted_logs += weight * math.log(weight)
    return max(0.0, math.log(total) - weighted_logs / total)


@kernel
def minority_share(class_weights: ClassWeights) -> float:
    """1 - ||p||_inf."""
    total = 0.0
    largest = 0.0
    for k in range(class_weights.shape[0]):
        total += class_weights[k]
        largest = max(largest, class_weights[k])
    return (total - largest) / total


@kernel
def _gini_impurity(criterion: Gini, class_weights: ClassWeights) -> float:
    return gini(class_weights)


@kernel
def _entropy_impurity(criterion: Entropy, class_weights: ClassWeights) -> float:
    return entropy(class_weights)


@kernel
def _misclassification_impurity(criterion: Misclassification, class_weights: ClassWeights) -> float:
    return criterion.cost * minority_share(class_weights)


@kernel
def _sqrt_gini_impurity(criterion: SqrtGini, class_weights: ClassWeights) -> float:
    return math.sqrt(gini(class_weights) * (criterion.n_classes - 1) / criterion.n_classes)


@kernel
def _ne_impurity(criterion: NegativeExponentialImpurity, class_weights: ClassWeights) -> float:
    root = math.sqrt(gini(class_weights) * (criterion.n_classes - 1) / criterion.n_classes)
    return min(minority_share(class_weights), criterion.lam * root)


_IMPURITIES: dict[type[Any], Any] = {
    Gini: _gini_impurity,
    Entropy: _entropy_impurity,
    Misclassification: _misclassification_impurity,
    SqrtGini: _sqrt_gini_impurity,
    NegativeExponentialImpurity: _ne_impurity,
}


def _chosen_by_type(function: Any) -> Any:
    """`overload` without its comparison of annotations, which differ between a choice and what it chooses."""
    return overload(function, strict=False)


def node_impurity(criterion: Criterion, class_weights: ClassWeights) -> float:
    """Impurity of a node from its class weights, whose sum must be positive."""
    impurity: float = _IMPURITIES[type(criterion)](criterion, class_weights)
    return impurity


@_chosen_by_type(node_impurity)
def _choose_impurity(criterion: Any, class_weights: Any) -> Any:
    return _inlined(_IMPURITIES[criterion.instance_class])


@kernel
def _impurity_gain(
    criterion: Criterion,
    parent_impurity: float,
    left: ClassWeights,
    left_weight: float,
    right: ClassWeights,
    right_weight: float,
) -> float:
    """I(S) - W_L/W_S I(L) - W_R/W_S I(R)."""
    children = left_weight * node_impurity(criterion, left) + right_weight * node_impurity(criterion, right)
    return parent_impurity - children / (left_weight + right_weight)


_GAINS: dict[type[Any], Any] = {criterion: _impurity_gain for criterion in _IMPURITIES}


def split_gain(
    criterion: Criterion,
    parent_impurity: float,
    left: ClassWeights,
    left_weight: float,
    right: ClassWeights,
    right_weight: float,
) -> float:
    """Gain of a split per unit of the node's weight. `left` and `right` cover the classes present in the node."""
    gain: float = _GAINS[type(criterion)](criterion, parent_impurity, left, left_weight, right, right_weight)
    return gain


@_chosen_by_type(split_gain)
def _choose_gain(
    criterion: Any, parent_impurity: Any, left: Any, left_weight: Any, right: Any, right_weight: Any
) -> Any:
    return _inlined(_GAINS[criterion.instance_class])


@kernel
def _weighted_by_node(criterion: Criterion, gain: float, node_fraction: float) -> float:
    """Equation (1) of Wilton and Ye: the fall of the training risk is W_S times the node's gain."""
    return gain * node_fraction


_RISK_DECREASES: dict[type[Any], Any] = {criterion: _weighted_by_node for criterion in _IMPURITIES}


def risk_decrease(criterion: Criterion, gain: float, node_fraction: float) -> float:
    """What the stop rule compares with min_risk_decrease; node_fraction = weight of the node / weight of the tree."""
    decrease: float = _RISK_DECREASES[type(criterion)](criterion, gain, node_fraction)
    return decrease


@_chosen_by_type(risk_decrease)
def _choose_risk_decrease(criterion: Any, gain: Any, node_fraction: Any) -> Any:
    return _inlined(_RISK_DECREASES[criterion.instance_class])


def _inlined(function: Any) -> Any:
    """The plain function behind a kernel, which `overload` compiles into its caller."""
    return getattr(function, "py_func", function)
