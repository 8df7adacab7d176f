"""Criteria based on a norm of the class weights: from entropy (norm 1) to misclassification (infinity norm)."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.powers import PowerTables, power_of
from core.kernels.criteria.sides import ClassWeights, Side, is_pure, table_index
from core.kernels.jit import inner_kernel, kernel

#: Up to this order no power of a class weight overflows: a row weighs less than 2, and there are fewer than 2^31 rows.
MAX_TABLED_ORDER = 25.0


class Misclassification(NamedTuple):
    """Impurity cost * (1 - ||p||_inf) of every conservative loss (Wilton and Ye, Theorem 4)."""

    cost: float


class GeneralizedCrossEntropyImpurity(NamedTuple):
    """Impurity (1 - ||p||_r) / q with r = 1 / (1 - q) (Wilton and Ye, Theorem 1).

    For 0 < q < 1 and r <= `MAX_TABLED_ORDER`. Sides that weigh less than 1e-10 of the heaviest row may be treated as if
    the order were infinite.
    """

    inverse_q: float
    order: float  # r
    inverse_order: float
    root: PowerTables  # for the exponent 1 / r
    powers: NDArray[np.float64]  # w^r at w = 0, 1, ...
    fraction: PowerTables  # for the exponent r - floor(r)
    only_tabled: bool = False  # whether `powers` has every class weight that can occur in the tree


class NearMisclassification(NamedTuple):
    """Impurity (1 - ||p||_r) / q for any larger r.

    It computes one power per class and cut.
    """

    inverse_q: float
    order: float
    inverse_order: float


class NearEntropy(NamedTuple):
    """Impurity (1 - ||p||_r) / q for small q.

    For such q the division by q would amplify the rounding error of 1 - ||p||_r.
    """

    q: float


@kernel
def power_table(order: float, length: int) -> NDArray[np.float64]:
    """Return w^order at w = 0, 1, ..., length - 1; float64 (length,)."""
    table = np.empty(length, dtype=np.float64)
    for w in range(length):
        table[w] = math.pow(float(w), order)
    return table


@inner_kernel
def power_of_weight(criterion: GeneralizedCrossEntropyImpurity, weight: float) -> float:
    """Return weight^r without a table of weights.

    There is no call to a library function, around which the scan would have to save its registers.
    """
    if weight == 0.0:
        return 0.0
    power, base, n = power_of(criterion.fraction, weight), weight, int(criterion.order)
    while n > 0:
        if n % 2 == 1:
            power *= base
        base *= base
        n //= 2
    return power


@inner_kernel
def tabled_power(criterion: GeneralizedCrossEntropyImpurity, weight: float) -> float:
    """Return weight^r, from the table if it has the weight."""
    if criterion.only_tabled:
        return float(criterion.powers[np.uint64(np.int64(weight))])
    index = table_index(criterion.powers, weight)
    return float(criterion.powers[index]) if index >= 0 else power_of_weight(criterion, weight)


@inner_kernel
def update_largest(
    criterion: Misclassification,
    side: Side,
    class_weights: ClassWeights,
    class_number: int,
    before: float,
    added: float,
) -> tuple[float, float]:
    """Update the largest class weight; spread is not used."""
    return 0.0, max(side.largest, before + added)


@inner_kernel
def update_power_sum(
    criterion: GeneralizedCrossEntropyImpurity,
    side: Side,
    class_weights: ClassWeights,
    class_number: int,
    before: float,
    added: float,
) -> tuple[float, float]:
    """Update spread = sum of w^r over the classes, and the largest class weight."""
    after = before + added
    change = tabled_power(criterion, after) - tabled_power(criterion, before)
    return side.spread + change, max(side.largest, after)


@inner_kernel
def weighted_excess(q: float, weight: float) -> float:
    """Return w^r - w without loss of precision for r - 1 = q / (1 - q) near 0."""
    return weight * math.expm1(q / (1.0 - q) * math.log(weight)) if weight > 0.0 else 0.0


@inner_kernel
def update_excess_sum(
    criterion: NearEntropy, side: Side, class_weights: ClassWeights, class_number: int, before: float, added: float
) -> tuple[float, float]:
    """Update spread = sum of w^r - w over the classes, and the largest class weight."""
    after = before + added
    change = weighted_excess(criterion.q, after) - weighted_excess(criterion.q, before)
    return side.spread + change, max(side.largest, after)


@inner_kernel
def misclassification_risk(criterion: Misclassification, side: Side, class_weights: ClassWeights) -> float:
    return criterion.cost * (side.weight - side.largest)


@inner_kernel
def gce_risk(criterion: GeneralizedCrossEntropyImpurity, side: Side, class_weights: ClassWeights) -> float:
    """Return (W - ||w||_r) / q.

    There is no branch for pure sides, since the processor could not predict it. The norm is at least the largest
    weight; taking the maximum of both makes the risk of a pure side exactly 0, and corrects a sum of powers that
    underflowed.
    """
    norm = max(power_of(criterion.root, side.spread), side.largest)
    return max(0.0, side.weight - norm) * criterion.inverse_q


@inner_kernel
def near_misclassification_risk(criterion: NearMisclassification, side: Side, class_weights: ClassWeights) -> float:
    """Return (W - ||w||_r) / q from weights relative to the largest one.

    Relative weights neither overflow nor make the norm vanish, whatever the order.
    """
    if is_pure(side):
        return 0.0
    total, log_largest = 0.0, math.log(side.largest)
    for k in range(class_weights.shape[0]):
        if class_weights[k] > 0.0:
            total += math.exp(criterion.order * min(0.0, math.log(class_weights[k]) - log_largest))
    norm = side.largest * math.exp(criterion.inverse_order * math.log(total))
    return max(0.0, side.weight - norm) * criterion.inverse_q


@inner_kernel
def near_entropy_risk(criterion: NearEntropy, side: Side, class_weights: ClassWeights) -> float:
    """Return W (1 - exp(log(sum p^r) / r)) / q, where log(sum p^r) = log(1 + spread / W) - (r - 1) log W."""
    if is_pure(side):
        return 0.0
    q = criterion.q
    log_sum = math.log1p(side.spread / side.weight) - q / (1.0 - q) * math.log(side.weight)
    return max(0.0, -side.weight * math.expm1(log_sum * (1.0 - q))) / q
