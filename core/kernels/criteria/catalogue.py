"""Every splitting criterion, exactly once: which functions it is made of. The formulas lie in the `criteria_*` files.

A criterion sees a cut as two sides that grow class by class. `REMEMBER` says what it keeps up to date while weight is
added to a side, `RISKS` reads the side's risk from that, `CHILDREN` makes one number of two sides' risks, which the
scan minimises, `GAINS` the gain of the split from that, and `RISK_DECREASES` what the stop rule compares. A criterion
that does not split into two risks has a row in `PAIR_GAINS` instead of one in `CHILDREN`. To add one: a NamedTuple
and its functions in a file of its family, and its rows below. The search and growth loops
are compiled anew per type and never change.

Impurities are unnormalised (Wilton and Ye 2024, Theorems 1 and 8), natural logarithm; risk = weight times impurity.
Sides only ever grow, and no formula takes a sum from another one where a side is pure, so that a pure side has risk
0 exactly: a difference from 1 would leave 1e-16, and its square root 1e-8. A formula that needs the number of classes
of the whole data set has it as a field.
"""

from typing import Any

from core.kernels.criteria.distribution import TabulatedImpurity, tabulated_risk
from core.kernels.criteria.entropy import (
    Credal,
    Entropy,
    credal_children,
    credal_gain,
    credal_risk,
    entropy_risk,
    logs_and_classes,
    weighted_logs,
)
from core.kernels.criteria.gini import (
    Gini,
    NegativeExponentialImpurity,
    SignedGini,
    SqrtGini,
    gini_risk,
    ne_risk,
    pairs,
    pairs_and_largest,
    signed_gini_risk,
    sqrt_gini_risk,
    squared_length,
)
from core.kernels.criteria.norm import (
    GeneralizedCrossEntropyImpurity,
    Misclassification,
    NearEntropy,
    NearMisclassification,
    gce_risk,
    largest,
    misclassification_risk,
    near_entropy_risk,
    near_misclassification_risk,
    sum_of_excess,
    sum_of_powers,
)
from core.kernels.criteria.two_sided import (
    Ranking,
    Twoing,
    gain_itself,
    gain_of_pairs,
    no_pair_gain,
    pairs_decrease,
    ranking_gain,
    ranking_risk,
    twoing_gain,
)
from core.kernels.jit import inner_kernel

Criterion = (
    Gini
    | Entropy
    | Misclassification
    | SqrtGini
    | NegativeExponentialImpurity
    | GeneralizedCrossEntropyImpurity
    | NearMisclassification
    | NearEntropy
    | TabulatedImpurity
    | Twoing
    | Credal
    | Ranking
    | SignedGini
)


@inner_kernel
def _sum_of_risks(
    criterion: Criterion, left_weight: float, left_risk: float, right_weight: float, right_risk: float
) -> float:
    return left_risk + right_risk


@inner_kernel
def _risk_gain(criterion: Criterion, parent_impurity: float, children: float, weight: float) -> float:
    """I(S) - W_L/W_S I(L) - W_R/W_S I(R)."""
    return parent_impurity - children / weight


@inner_kernel
def _weighted_by_node(criterion: Criterion, gain: float, node_fraction: float) -> float:
    """Equation (1) of Wilton and Ye: the fall of the training risk is W_S times the node's gain."""
    return gain * node_fraction


@inner_kernel
def _no(criterion: Criterion) -> bool:
    return False


@inner_kernel
def _yes(criterion: Criterion) -> bool:
    return True


REMEMBER: dict[type[Any], Any] = {
    Gini: pairs,
    Entropy: weighted_logs,
    Misclassification: largest,
    SqrtGini: pairs,
    NegativeExponentialImpurity: pairs_and_largest,
    GeneralizedCrossEntropyImpurity: sum_of_powers,
    NearMisclassification: largest,
    NearEntropy: sum_of_excess,
    TabulatedImpurity: pairs_and_largest,
    Twoing: pairs,
    Credal: logs_and_classes,
    Ranking: pairs,
    SignedGini: squared_length,
}
RISKS: dict[type[Any], Any] = {
    Gini: gini_risk,
    Entropy: entropy_risk,
    Misclassification: misclassification_risk,
    SqrtGini: sqrt_gini_risk,
    NegativeExponentialImpurity: ne_risk,
    GeneralizedCrossEntropyImpurity: gce_risk,
    NearMisclassification: near_misclassification_risk,
    NearEntropy: near_entropy_risk,
    TabulatedImpurity: tabulated_risk,
    Twoing: gini_risk,
    Credal: credal_risk,
    Ranking: ranking_risk,
    SignedGini: signed_gini_risk,
}
CHILDREN: dict[type[Any], Any] = {**dict.fromkeys(RISKS, _sum_of_risks), Credal: credal_children}
PAIR_GAINS: dict[type[Any], Any] = {
    **dict.fromkeys(RISKS, no_pair_gain),
    Twoing: twoing_gain,
    Ranking: ranking_gain,
}
GAINS: dict[type[Any], Any] = {
    **dict.fromkeys(RISKS, _risk_gain),
    Twoing: gain_of_pairs,
    Credal: credal_gain,
    Ranking: gain_of_pairs,
}
RISK_DECREASES: dict[type[Any], Any] = {
    **dict.fromkeys(RISKS, _weighted_by_node),
    Twoing: gain_itself,
    Credal: gain_itself,
    Ranking: pairs_decrease,
}
SPLITS_INTO_RISKS: dict[type[Any], Any] = {**dict.fromkeys(RISKS, _yes), Twoing: _no, Ranking: _no}
NEEDS_ALL_CLASSES: dict[type[Any], Any] = {**dict.fromkeys(RISKS, _no), SignedGini: _yes}

#: The field with a table of a function of whole weights that is read without asking once `only_tabled` is set.
TRUSTED_TABLES: dict[type[Any], str | None] = {
    **dict.fromkeys(RISKS, None),
    Entropy: "weighted_logs",
    GeneralizedCrossEntropyImpurity: "powers",
}
