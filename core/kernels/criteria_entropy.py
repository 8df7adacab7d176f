"""Criteria made of logarithms of class weights: entropy, and the upper entropy of a credal set."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel
from core.kernels.sides import Side, is_pure, table_index


class Entropy(NamedTuple):
    """-sum p log p: the minimum of the cross-entropy loss."""

    weighted_logs: NDArray[np.float64]  # w log w at w = 0, 1, ...


class Credal(NamedTuple):
    """Largest entropy of the distributions (w + t) / (W + s), where the mass s = sum t is free to lie anywhere.

    The impurity of Credal-C4.5 (Mantas and Abellan 2014). The maximum lifts the least frequent of all K classes, those
    absent from the node included, to a common level; a pure node has some impurity too.
    """

    mass: float  # s, in the unit of the weights
    n_classes: int
    weighted_logs: NDArray[np.float64]  # w log w at w = 0, 1, ...


@kernel
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
def weighted_logs(
    criterion: Entropy, side: Side, class_number: int, before: float, added: float
) -> tuple[float, float]:
    """spread = sum of w log w over classes."""
    table, after = criterion.weighted_logs, before + added
    return side.spread + (weighted_log(table, after) - weighted_log(table, before)), max(side.largest, after)


@kernel
def entropy_risk(criterion: Entropy, side: Side) -> float:
    if is_pure(side):
        return 0.0
    return max(0.0, weighted_log(criterion.weighted_logs, side.weight) - side.spread)


@kernel
def water_level(side: Side, mass: float, n_absent: int) -> float:
    """The level to which `mass` lifts the lowest class weights, `n_absent` further zeros among them.

    Each pass takes the level of the classes below the last one: it falls until none of them stands above it.
    """
    level = (side.weight + mass) / (side.class_weights.shape[0] + n_absent)
    while True:
        below, content = n_absent, mass
        for k in range(side.class_weights.shape[0]):
            if side.class_weights[k] < level:
                below += 1
                content += side.class_weights[k]
        if below == 0 or not content / below < level:
            return float(level)
        level = content / below


@kernel
def upper_entropy(criterion: Credal, side: Side) -> float:
    """H*: the entropy after the water has been filled in."""
    n_absent = criterion.n_classes - side.class_weights.shape[0]
    level = water_level(side, criterion.mass, n_absent)
    total, n_lifted, logs = side.weight + criterion.mass, n_absent, side.spread
    for k in range(side.class_weights.shape[0]):
        if side.class_weights[k] < level:
            n_lifted += 1
            logs -= weighted_log(criterion.weighted_logs, side.class_weights[k])
    logs += n_lifted * weighted_log(criterion.weighted_logs, level)
    return max(0.0, float(weighted_log(criterion.weighted_logs, total) - logs) / total)


@kernel
def credal_risk(criterion: Credal, side: Side) -> float:
    return side.weight * upper_entropy(criterion, side)


@kernel
def credal_gain(criterion: Credal, parent_impurity: float, left: Side, right: Side) -> float:
    """Imprecise information gain: the free mass s goes to the child of larger entropy."""
    on_left, on_right = upper_entropy(criterion, left), upper_entropy(criterion, right)
    children = left.weight * on_left + right.weight * on_right + criterion.mass * max(on_left, on_right)
    return parent_impurity - children / (left.weight + right.weight + criterion.mass)
