"""Criteria made of logarithms of class weights: entropy, and the upper entropy of a credal set."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.sides import ClassWeights, Side, is_pure, table_index
from core.kernels.jit import inner_kernel, kernel


class Entropy(NamedTuple):
    """-sum p log p: the minimum of the cross-entropy loss."""

    weighted_logs: NDArray[np.float64]  # w log w at w = 0, 1, ...
    only_tabled: bool = False  # no class will ever weigh what `weighted_logs` lacks


class Credal(NamedTuple):
    """Largest entropy of the distributions (w + t) / (W + s), where the mass s = sum t is free to lie anywhere.

    The impurity of Credal-C4.5 (Mantas and Abellan 2014). The maximum lifts the least frequent of all K classes, those
    absent from the node included, to a common level; a pure node has some impurity too.
    """

    mass: float  # s, in the unit of the weights
    n_classes: int
    lifted_logs: NDArray[np.float64]  # m t log t with t = s / m: m lifted zeros; (n_classes + 1,)
    weighted_logs: NDArray[np.float64]  # w log w at w = 0, 1, ...


@inner_kernel
def weighted_log(table: NDArray[np.float64], weight: float) -> float:
    """w log w, 0 at 0; the table and the formula agree to the last bit."""
    index = table_index(table, weight)
    if index >= 0:
        return float(table[index])
    return weight * math.log(weight) if weight > 0.0 else 0.0


@kernel
def weighted_log_table(length: int) -> NDArray[np.float64]:
    """w log w at w = 0, 1, ..., length - 1."""
    table = np.zeros(length, dtype=np.float64)
    for w in range(1, length):
        table[w] = w * math.log(float(w))
    return table


@kernel
def lifted_log_table(mass: float, n_classes: int) -> NDArray[np.float64]:
    """m t log t with t = mass / m at m = 0, 1, ..., n_classes, and 0 at m = 0."""
    table = np.zeros(n_classes + 1, dtype=np.float64)
    for m in range(1, n_classes + 1):
        level = mass / m
        table[m] = m * (level * math.log(level))
    return table


@inner_kernel
def weighted_logs(
    criterion: Entropy, side: Side, class_weights: ClassWeights, class_number: int, before: float, added: float
) -> tuple[float, float]:
    """spread = sum of w log w over classes."""
    table, after = criterion.weighted_logs, before + added
    if criterion.only_tabled:
        change = table[np.uint64(np.int64(after))] - table[np.uint64(np.int64(before))]
    else:
        change = weighted_log(table, after) - weighted_log(table, before)
    return side.spread + change, max(side.largest, after)


@inner_kernel
def entropy_risk(criterion: Entropy, side: Side, class_weights: ClassWeights) -> float:
    if is_pure(side):
        return 0.0
    return max(0.0, weighted_log(criterion.weighted_logs, side.weight) - side.spread)


@inner_kernel
def logs_and_classes(
    criterion: Credal, side: Side, class_weights: ClassWeights, class_number: int, before: float, added: float
) -> tuple[float, float]:
    """spread = sum of w log w over classes; largest = number of classes on the side, more than there are as soon as one
    of them began with less than the free mass.
    """
    table, after, n_present = criterion.weighted_logs, before + added, side.largest
    if before == 0.0:
        n_present += 1.0 if added >= criterion.mass else criterion.n_classes + 1.0
    return side.spread + (weighted_log(table, after) - weighted_log(table, before)), n_present


@inner_kernel
def water_level(side: Side, class_weights: ClassWeights, mass: float, n_absent: int) -> float:
    """The level to which `mass` lifts the lowest class weights, `n_absent` further zeros among them.

    Each pass takes the level of the classes below the last one: it falls until none of them stands above it. No class
    is lifted by more than all the mass, so that the first pass has few classes left.
    """
    lowest = side.weight if n_absent == 0 else 0.0
    for k in range(class_weights.shape[0]):
        lowest = min(lowest, class_weights[k])
    level = min(lowest + mass, (side.weight + mass) / (class_weights.shape[0] + n_absent))
    while True:
        below, content = n_absent, mass
        for k in range(class_weights.shape[0]):
            if class_weights[k] < level:
                below += 1
                content += class_weights[k]
        if below == 0 or not content / below < level:
            return float(level)
        level = content / below


@inner_kernel
def filled_logs(criterion: Credal, side: Side, class_weights: ClassWeights) -> float:
    """Sum of w log w over all classes after the water has been filled in, wherever it stands."""
    n_absent = criterion.n_classes - class_weights.shape[0]
    level = water_level(side, class_weights, criterion.mass, n_absent)
    n_lifted, logs = n_absent, side.spread
    for k in range(class_weights.shape[0]):
        if class_weights[k] < level:
            n_lifted += 1
            logs -= weighted_log(criterion.weighted_logs, class_weights[k])
    return float(logs + n_lifted * weighted_log(criterion.weighted_logs, level))


@inner_kernel
def upper_entropy(criterion: Credal, side: Side, class_weights: ClassWeights) -> float:
    """H*: the entropy after the water has been filled in.

    Where classes are absent and no other one is lighter than all the mass, it stands on the absent ones alone, and its
    level is known from their number.
    """
    total = side.weight + criterion.mass
    if side.largest < criterion.n_classes:
        logs = side.spread + criterion.lifted_logs[criterion.n_classes - int(side.largest)]
    else:
        logs = filled_logs(criterion, side, class_weights)
    return max(0.0, float(weighted_log(criterion.weighted_logs, total) - logs) / total)


@inner_kernel
def credal_risk(criterion: Credal, side: Side, class_weights: ClassWeights) -> float:
    return side.weight * upper_entropy(criterion, side, class_weights)


@inner_kernel
def credal_children(
    criterion: Credal, left_weight: float, left_risk: float, right_weight: float, right_risk: float
) -> float:
    """Imprecise information gain: the free mass s goes to the child of larger entropy."""
    return left_risk + right_risk + criterion.mass * max(left_risk / left_weight, right_risk / right_weight)


@inner_kernel
def credal_gain(criterion: Credal, parent_impurity: float, children: float, weight: float) -> float:
    return parent_impurity - children / (weight + criterion.mass)
