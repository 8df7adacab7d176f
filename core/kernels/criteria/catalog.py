"""Catalog of the splitting criteria: one row per criterion, which lists the functions that it consists of.

A criterion sees a cut as two sides to which class weights are added one class at a time. Its functions are described at
`CriterionFunctions`. To add a criterion, write a NamedTuple and its functions in a file of this folder, and add the
type to `Criterion` and a row to `CRITERIA`. The search and growth loops are compiled once per criterion type and need
no change.

Impurities are not normalized (Wilton and Ye 2024, Theorems 1 and 8) and use the natural logarithm; risk = weight times
impurity. Weight is only ever added to a side, and no formula subtracts one sum from another when a side is pure, so the
risk of a pure side is exactly 0. A subtraction from 1 could leave 1e-16, and its square root 1e-8. A formula that needs
the number of classes of the whole data set stores it as a field of the criterion.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from core.kernels.criteria.distribution import TabulatedImpurity, tabulated_risk
from core.kernels.criteria.entropy import (
    Credal,
    Entropy,
    combine_credal_risks,
    credal_gain,
    credal_risk,
    entropy_risk,
    update_log_sum,
    update_log_sum_and_classes,
)
from core.kernels.criteria.gini import (
    Gini,
    NegativeExponentialImpurity,
    SignedGini,
    gini_risk,
    negative_exponential_risk,
    signed_gini_risk,
    update_pair_sum,
    update_pair_sum_and_largest,
    update_squared_length,
)
from core.kernels.criteria.norm import (
    GeneralizedCrossEntropyImpurity,
    Misclassification,
    NearEntropy,
    NearMisclassification,
    gce_risk,
    misclassification_risk,
    near_entropy_risk,
    near_misclassification_risk,
    update_excess_sum,
    update_largest,
    update_power_sum,
)
from core.kernels.criteria.sides import ClassWeights
from core.kernels.criteria.two_sided import (
    Ranking,
    Twoing,
    negated_objective,
    ranking_decrease,
    ranking_gain,
    ranking_risk,
    twoing_gain,
    unweighted_gain,
)
from core.kernels.jit import inner_kernel

#: Any criterion; the types are the keys of `CRITERIA`.
Criterion = (
    Gini
    | NegativeExponentialImpurity
    | SignedGini
    | Entropy
    | Credal
    | Misclassification
    | GeneralizedCrossEntropyImpurity
    | NearMisclassification
    | NearEntropy
    | TabulatedImpurity
    | Twoing
    | Ranking
)


@inner_kernel
def _sum_of_risks(
    criterion: Criterion, left_weight: float, left_risk: float, right_weight: float, right_risk: float
) -> float:
    return left_risk + right_risk


@inner_kernel
def _no_pair_gain(
    criterion: Criterion, left: ClassWeights, left_weight: float, right: ClassWeights, right_weight: float
) -> float:
    """Placeholder for criteria that are evaluated by the risks of the sides; compiled, but never called."""
    return 0.0


@inner_kernel
def _impurity_decrease(criterion: Criterion, parent_impurity: float, objective: float, weight: float) -> float:
    """I(S) - W_L/W_S I(L) - W_R/W_S I(R)."""
    return parent_impurity - objective / weight


@inner_kernel
def _weighted_gain(criterion: Criterion, gain: float, node_fraction: float) -> float:
    """Equation (1) of Wilton and Ye: the training risk decreases by W_S times the gain of the node."""
    return gain * node_fraction


class CriterionFunctions(NamedTuple):
    """Functions of one criterion, each of which takes the criterion as its first argument.

    The arguments of each function are those of the function in `core.kernels.criteria.dispatch` that calls it, with the
    same names. A criterion that has a `pair_gain` is evaluated by it, all others by the risks of the two sides.
    """

    update: Callable[..., tuple[float, float]]  # (spread, largest) of a side after weight was added to one class
    risk: Callable[..., float]  # weight times impurity of a side
    combine_risks: Callable[..., float] = _sum_of_risks  # the objective that the scan minimizes
    pair_gain: Callable[..., float] = _no_pair_gain  # gain from the class weights of both sides
    gain: Callable[..., float] = _impurity_decrease  # gain per unit of the node's weight, from the objective
    risk_decrease: Callable[..., float] = _weighted_gain  # the value that is compared with min_risk_decrease
    needs_all_classes: bool = False  # whether class weights include the classes that are absent from the node
    trusted_table: str | None = None  # field with a table that is read without a check if `only_tabled` is set

    @property
    def splits_into_risks(self) -> bool:
        """Whether a cut is evaluated by the risks of its sides, and not by `pair_gain`."""
        return self.pair_gain is _no_pair_gain


CRITERIA: dict[type[Any], CriterionFunctions] = {
    Gini: CriterionFunctions(update_pair_sum, gini_risk),
    NegativeExponentialImpurity: CriterionFunctions(update_pair_sum_and_largest, negative_exponential_risk),
    SignedGini: CriterionFunctions(update_squared_length, signed_gini_risk, needs_all_classes=True),
    Entropy: CriterionFunctions(update_log_sum, entropy_risk, trusted_table="weighted_logs"),
    Credal: CriterionFunctions(
        update_log_sum_and_classes,
        credal_risk,
        combine_risks=combine_credal_risks,
        gain=credal_gain,
        risk_decrease=unweighted_gain,
    ),
    Misclassification: CriterionFunctions(update_largest, misclassification_risk),
    GeneralizedCrossEntropyImpurity: CriterionFunctions(update_power_sum, gce_risk, trusted_table="powers"),
    NearMisclassification: CriterionFunctions(update_largest, near_misclassification_risk),
    NearEntropy: CriterionFunctions(update_excess_sum, near_entropy_risk),
    TabulatedImpurity: CriterionFunctions(update_pair_sum_and_largest, tabulated_risk),
    Twoing: CriterionFunctions(
        update_pair_sum, gini_risk, pair_gain=twoing_gain, gain=negated_objective, risk_decrease=unweighted_gain
    ),
    Ranking: CriterionFunctions(
        update_pair_sum, ranking_risk, pair_gain=ranking_gain, gain=negated_objective, risk_decrease=ranking_decrease
    ),
}
