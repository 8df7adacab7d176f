"""Criteria that consist of products of class weights: Gini impurity, its square root, and corrected labels."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.sides import ClassWeights, Side
from core.kernels.jit import inner_kernel


class Gini(NamedTuple):
    """Gini impurity 1 - ||p||_2^2: the minimum of the squared loss."""


class NegativeExponentialImpurity(NamedTuple):
    """Impurity min{1 - ||p||_inf, lambda sqrt((1 - ||p||_2^2) (K - 1) / K)}.

    K = 2 is Theorem 8 of Wilton and Ye. With lambda = 1 and without the first bound, it is the limit of NE / lambda for
    lambda -> 0, so that one compilation serves all values of lambda.
    """

    lam: float
    n_classes: int
    slack: float = 0.0  # added to the first bound; infinite: only the second one counts


class SignedGini(NamedTuple):
    """Impurity 1 - |v|^2 of corrected labels, where v = B^T p is the mean corrected label of the node.

    The rows of B, one per observed class, sum to 1 and may have negative entries (Sztukiewicz, Good and Dubrawski,
    backward correction under squared loss; B = T^-1). p is the distribution of the observed classes, so trees are grown
    on positive weights for any v. The impurity may be negative, but its gains never are. `class_weights` must hold all
    classes, in the order of the rows of B.
    """

    gram: NDArray[np.float64]  # (class, class): B B^T


@inner_kernel
def update_pair_sum(
    criterion: Gini, side: Side, class_weights: ClassWeights, class_number: int, before: float, added: float
) -> tuple[float, float]:
    """Update spread = sum over pairs of different classes of the product of their weights.

    It equals W^2 (1 - ||p||_2^2) / 2.
    """
    return side.spread + added * (side.weight - before), 0.0


@inner_kernel
def update_pair_sum_and_largest(
    criterion: NegativeExponentialImpurity,
    side: Side,
    class_weights: ClassWeights,
    class_number: int,
    before: float,
    added: float,
) -> tuple[float, float]:
    return side.spread + added * (side.weight - before), max(side.largest, before + added)


@inner_kernel
def update_squared_length(
    criterion: SignedGini, side: Side, class_weights: ClassWeights, class_number: int, before: float, added: float
) -> tuple[float, float]:
    """Update spread = |B^T w|^2 = w^T B B^T w for the class weights w."""
    inner_product = 0.0
    for k in range(class_weights.shape[0]):
        inner_product += criterion.gram[class_number, k] * class_weights[k]
    return side.spread + added * (2.0 * inner_product + added * criterion.gram[class_number, class_number]), 0.0


@inner_kernel
def gini_risk(criterion: Gini, side: Side, class_weights: ClassWeights) -> float:
    return 2.0 * side.spread / side.weight


@inner_kernel
def negative_exponential_risk(criterion: NegativeExponentialImpurity, side: Side, class_weights: ClassWeights) -> float:
    root = math.sqrt(2.0 * side.spread * (criterion.n_classes - 1) / criterion.n_classes)
    return min(side.weight - side.largest + criterion.slack, criterion.lam * root)


@inner_kernel
def signed_gini_risk(criterion: SignedGini, side: Side, class_weights: ClassWeights) -> float:
    return side.weight - side.spread / side.weight
