"""Criteria made of a norm of the class weights: from entropy (norm 1) to misclassification (norm infinity)."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel
from core.kernels.sides import ClassWeights, Side, is_pure, table_index

#: Sums of powers between these bounds have lost no digit to overflow or underflow.
SMALLEST_SUM, LARGEST_SUM = 1e-250, 1e250


class Misclassification(NamedTuple):
    """cost * (1 - ||p||_inf): every conservative loss (Wilton and Ye, Theorem 4)."""

    cost: float


class GeneralizedCrossEntropyImpurity(NamedTuple):
    """(1 - ||p||_r) / q with r = 1 / (1 - q): Wilton and Ye, Theorem 1, for 0 < q < 1."""

    q: float
    order: float  # r
    inverse_order: float
    largest_base: float  # powers of larger weights count as infinite
    powers: NDArray[np.float64]  # w^r at w = 0, 1, ...


class NearEntropy(NamedTuple):
    """The same for q so small that 1 - ||p||_r would lose its digits to the division by q."""

    q: float


@kernel
def power_table(order: float, largest_base: float, length: int) -> NDArray[np.float64]:
    """w^order at w = 0, 1, ..., length - 1, infinite beyond `largest_base`."""
    table = np.full(length, math.inf, dtype=np.float64)
    for w in range(length):
        if w <= largest_base:
            table[w] = math.pow(float(w), order)
    return table


@kernel
def tabled_power(criterion: GeneralizedCrossEntropyImpurity, weight: float) -> float:
    index = table_index(criterion.powers, weight)
    if index >= 0:
        return float(criterion.powers[index])
    return math.pow(weight, criterion.order) if weight <= criterion.largest_base else math.inf


@kernel
def largest(
    criterion: Misclassification, side: Side, class_weights: ClassWeights, class_number: int, before: float, added: float
) -> tuple[float, float]:
    return 0.0, max(side.largest, before + added)


@kernel
def sum_of_powers(
    criterion: GeneralizedCrossEntropyImpurity, side: Side, class_weights: ClassWeights, class_number: int, before: float, added: float
) -> tuple[float, float]:
    """spread = sum of w^r over classes, infinite once a power is."""
    after = before + added
    grown = tabled_power(criterion, after)
    if grown == math.inf:
        return grown, max(side.largest, after)
    return side.spread + (grown - tabled_power(criterion, before)), max(side.largest, after)


@kernel
def weighted_excess(q: float, weight: float) -> float:
    """w^r - w, without loss of digits for r - 1 = q / (1 - q) near 0."""
    return weight * math.expm1(q / (1.0 - q) * math.log(weight)) if weight > 0.0 else 0.0


@kernel
def sum_of_excess(
    criterion: NearEntropy, side: Side, class_weights: ClassWeights, class_number: int, before: float, added: float
) -> tuple[float, float]:
    """spread = sum of w^r - w over classes."""
    after = before + added
    change = weighted_excess(criterion.q, after) - weighted_excess(criterion.q, before)
    return side.spread + change, max(side.largest, after)


@kernel
def misclassification_risk(criterion: Misclassification, side: Side, class_weights: ClassWeights) -> float:
    return criterion.cost * (side.weight - side.largest)


@kernel
def norm_beside_largest(order: float, side: Side, class_weights: ClassWeights) -> float:
    """||w||_r from weights relative to the largest one, which no order can make overflow or vanish."""
    total = 0.0
    for k in range(class_weights.shape[0]):
        total += math.pow(min(1.0, class_weights[k] / side.largest), order)
    return side.largest * math.pow(total, 1.0 / order)


@kernel
def gce_risk(criterion: GeneralizedCrossEntropyImpurity, side: Side, class_weights: ClassWeights) -> float:
    if is_pure(side):
        return 0.0
    if SMALLEST_SUM < side.spread < LARGEST_SUM:
        norm = math.exp(criterion.inverse_order * math.log(side.spread))  # a fifth faster than pow, and as exact here
    else:
        norm = norm_beside_largest(criterion.order, side, class_weights)
    return max(0.0, side.weight - norm) / criterion.q


@kernel
def near_entropy_risk(criterion: NearEntropy, side: Side, class_weights: ClassWeights) -> float:
    """W (1 - exp(log(sum p^r) / r)) / q, with log(sum p^r) = log(1 + spread / W) - (r - 1) log W."""
    if is_pure(side):
        return 0.0
    q = criterion.q
    log_sum = math.log1p(side.spread / side.weight) - q / (1.0 - q) * math.log(side.weight)
    return max(0.0, -side.weight * math.expm1(log_sum * (1.0 - q))) / q
