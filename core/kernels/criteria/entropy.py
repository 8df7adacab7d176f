"""Criteria that consist of logarithms of class weights: entropy, and the upper entropy of a credal set."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.sides import ClassWeights, Side, is_pure, table_index
from core.kernels.jit import inner_kernel, kernel


class Entropy(NamedTuple):
    """Impurity -sum p log p: the minimum of the cross-entropy loss."""

    weighted_logs: NDArray[np.float64]  # w log w at w = 0, 1, ...
    only_tabled: bool = False  # whether `weighted_logs` has every class weight that can occur in the tree


class Credal(NamedTuple):
    """Largest entropy of the distributions (w + t) / (W + s), where the mass s = sum t can be distributed freely.

    This is the impurity of Credal-C4.5 (Mantas and Abellan 2014). The maximum raises the smallest class weights, those
    of classes that are absent from the node included, to a common level. A pure node has a positive impurity, too.
    """

    mass: float  # s, in the unit of the weights
    n_classes: int
    lifted_logs: NDArray[np.float64]  # (n_classes + 1,), m t log t with t = s / m, for m absent classes
    weighted_logs: NDArray[np.float64]  # w log w at w = 0, 1, ...


@inner_kernel
def weighted_log(table: NDArray[np.float64], weight: float) -> float:
    """Return w log w, and 0 at 0; the table and the formula give the same bits."""
    index = table_index(table, weight)
    if index >= 0:
        return float(table[index])
    return weight * math.log(weight) if weight > 0.0 else 0.0


@kernel
def weighted_log_table(length: int) -> NDArray[np.float64]:
    """Return w log w at w = 0, 1, ..., length - 1; float64 (length,)."""
    table = np.zeros(length, dtype=np.float64)
    for w in range(1, length):
        table[w] = w * math.log(float(w))
    return table


@kernel
def lifted_log_table(mass: float, n_classes: int) -> NDArray[np.float64]:
    """Return m t log t with t = mass / m at m = 0, 1, ..., n_classes; float64 (n_classes + 1,).

    The entry at m = 0 is 0.
    """
    table = np.zeros(n_classes + 1, dtype=np.float64)
    for m in range(1, n_classes + 1):
        level = mass / m
        table[m] = m * (level * math.log(level))
    return table


@inner_kernel
def update_log_sum(
    criterion: Entropy, side: Side, class_weights: ClassWeights, class_number: int, before: float, added: float
) -> tuple[float, float]:
    """Update spread = sum of w log w over the classes, and the largest class weight."""
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
def update_log_sum_and_classes(
    criterion: Credal, side: Side, class_weights: ClassWeights, class_number: int, before: float, added: float
) -> tuple[float, float]:
    """Update spread = sum of w log w over the classes, and largest = number of classes on the side.

    The number is larger than K as soon as one class started with less weight than the free mass.
    """
    table, after, n_present = criterion.weighted_logs, before + added, side.largest
    if before == 0.0:
        n_present += 1.0 if added >= criterion.mass else criterion.n_classes + 1.0
    return side.spread + (weighted_log(table, after) - weighted_log(table, before)), n_present


@inner_kernel
def water_level(side: Side, class_weights: ClassWeights, mass: float, n_absent: int) -> float:
    """Return the level to which `mass` raises the smallest class weights and `n_absent` further zeros.

    Each pass computes the level of the classes below the previous one. The level decreases until no class that takes
    part is above it. No class is raised by more than the whole mass, so the first pass leaves few classes.
    """
    lowest = side.weight if n_absent == 0 else 0.0
    for k in range(class_weights.shape[0]):
        lowest = min(lowest, class_weights[k])
    level = min(lowest + mass, (side.weight + mass) / (class_weights.shape[0] + n_absent))
    while True:
        n_below, weight_below = n_absent, mass
        for k in range(class_weights.shape[0]):
            if class_weights[k] < level:
                n_below += 1
                weight_below += class_weights[k]
        if n_below == 0 or not weight_below / n_below < level:
            return float(level)
        level = weight_below / n_below


@inner_kernel
def lifted_log_sum(criterion: Credal, side: Side, class_weights: ClassWeights) -> float:
    """Return the sum of w log w over all classes after the free mass has been distributed."""
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
    """Return H*, the entropy after the free mass has been distributed.

    If classes are absent and each present class weighs at least the free mass, all of the mass goes to the absent
    classes, and the level follows from their number.
    """
    total = side.weight + criterion.mass
    if side.largest < criterion.n_classes:
        logs = side.spread + criterion.lifted_logs[criterion.n_classes - int(side.largest)]
    else:
        logs = lifted_log_sum(criterion, side, class_weights)
    return max(0.0, float(weighted_log(criterion.weighted_logs, total) - logs) / total)


@inner_kernel
def credal_risk(criterion: Credal, side: Side, class_weights: ClassWeights) -> float:
    return side.weight * upper_entropy(criterion, side, class_weights)


@inner_kernel
def combine_credal_risks(
    criterion: Credal, left_weight: float, left_risk: float, right_weight: float, right_risk: float
) -> float:
    """Return the objective of the imprecise information gain.

    The free mass s belongs to the child with the larger entropy.
    """
    left_entropy = left_risk / left_weight if left_weight > 0.0 else 0.0
    right_entropy = right_risk / right_weight if right_weight > 0.0 else 0.0
    return left_risk + right_risk + criterion.mass * max(left_entropy, right_entropy)


@inner_kernel
def credal_gain(criterion: Credal, parent_impurity: float, objective: float, weight: float) -> float:
    return parent_impurity - objective / (weight + criterion.mass)
