"""The public losses, their one JSON form, and the kernel criterion each stands for.

A loss is written as a name ("ne"), a mapping ({"kind": "ne", "lambda": 0.5}) or an object (NegativeExponential(0.5)).
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalogue import Criterion
from core.kernels.criteria.entropy import Credal, Entropy, lifted_log_table, weighted_log_table
from core.kernels.criteria.gini import Gini, NegativeExponentialImpurity, SqrtGini
from core.kernels.criteria.norm import (
    LARGEST_TABLED_ORDER,
    GeneralizedCrossEntropyImpurity,
    Misclassification,
    NearEntropy,
    NearMisclassification,
    power_table,
)
from core.kernels.criteria.powers import PowerTables, new_power_tables
from core.kernels.criteria.sides import TABLE_LENGTH
from core.kernels.criteria.two_sided import Ranking, Twoing
from core.losses.base import Loss, OneHotLeaves, majority
from core.losses.distribution_loss import DistributionLoss
from core.parameters import Bounds, Help, Key

#: Below this q the impurity of `gce` is computed in another form, which keeps its digits.
_NEAR_ENTROPY = 0.01
#: Below this q it differs from entropy by less than rounding.
_SAME_AS_ENTROPY = 1e-15
#: Between these a number can be squared, and weights times it stay finite.
_LIGHTEST_UNIT, _HEAVIEST_UNIT = 2.0**-500, 2.0**500


@lru_cache(maxsize=1)
def _weighted_logs() -> NDArray[np.float64]:
    return weighted_log_table(TABLE_LENGTH)


@lru_cache(maxsize=8)
def _powers(order: float) -> NDArray[np.float64]:
    return power_table(order, TABLE_LENGTH)


@lru_cache(maxsize=8)
def _power_tables(exponent: float) -> PowerTables:
    return new_power_tables(exponent)


class SquaredError(Loss):
    """Squared loss; impurity 1 - ||p||_2^2."""

    kind, aliases, help = "gini", ("mse",), "Squared loss (Gini impurity)."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return Gini()


class CrossEntropy(Loss):
    """Cross-entropy loss; impurity -sum p log p."""

    kind, aliases, help = "entropy", ("ce",), "Cross-entropy loss (information gain)."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return Entropy(_weighted_logs())


class ZeroOne(OneHotLeaves):
    """Every conservative loss; impurity 1 - ||p||_inf (Wilton and Ye 2024, Theorem 4)."""

    kind, aliases = "misclassification", ("conservative", "zero_one", "infinity_norm")
    help = "Conservative losses: most robust, stops growing early."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return Misclassification(1.0)


class MeanAbsoluteError(OneHotLeaves):
    """Absolute loss; twice the impurity of misclassification, so the same splits and twice the risk decrease."""

    kind, help = "mae", "Mean absolute error: the conservative loss with cost 2."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return Misclassification(2.0)


class RootGini(Loss):
    """The limit of the negative exponential loss for lambda -> 0; impurity sqrt((1 - ||p||_2^2) (K - 1) / K)."""

    kind, help = "sqrt_gini", "Square root of the Gini impurity: the negative exponential loss at lambda = 0."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return SqrtGini(n_classes)


@dataclass(frozen=True, repr=False)
class NegativeExponential(Loss):
    """Negative exponential loss (Wilton and Ye 2024, Theorem 8): from `sqrt_gini` (0) to conservative (1)."""

    lambda_: Annotated[
        float, Bounds(ge=0, le=1), Key("lambda"), Help("0 fits closely, 1 is most robust to label noise.")
    ] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "lambda_", float(self.lambda_))

    kind, help = "ne", "Negative exponential loss: between close fit (0) and robustness (1)."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        if self.lambda_ == 0:
            return SqrtGini(n_classes)
        return NegativeExponentialImpurity(float(self.lambda_), n_classes)


@dataclass(frozen=True, repr=False)
class AdaptiveNegativeExponential(Loss):
    """Negative exponential loss whose lambda is chosen by accuracy, on noisy labels, of rows that the trees did not
    see: out of bag, where the chosen trees are already grown on all rows, or held out, followed by a refit on all.
    """

    grid: Annotated[tuple[Annotated[float, Bounds(ge=0, le=1)], ...], Help("Values of lambda to choose from.")] = (
        0.0,
        0.25,
        0.5,
        0.75,
        1.0,
    )
    validation_fraction: Annotated[
        float, Bounds(gt=0, lt=1), Help("Share of the rows held out while lambda is chosen; unused out of bag.")
    ] = 0.2
    selection: Annotated[
        Literal["auto", "holdout", "out_of_bag"],
        Help("Rows that judge lambda: held out, out of bag (needs bootstrap), or auto = out of bag where possible."),
    ] = "auto"

    kind, aliases, help = "adaptive_ne", ("ane",), "Negative exponential loss, lambda chosen on rows not grown on."

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "grid", tuple(float(lambda_) for lambda_ in self.grid))
        object.__setattr__(self, "validation_fraction", float(self.validation_fraction))

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        raise NotImplementedError("the criterion is known once lambda is chosen")


@dataclass(frozen=True, repr=False)
class GeneralizedCrossEntropy(Loss):
    """Generalised cross-entropy; impurity (1 - ||p||_{1/(1-q)}) / q (Wilton and Ye 2024, Theorem 1).

    q = 0 is the cross-entropy loss, q >= 1 the conservative loss of cost 1/q.
    """

    q: Annotated[float, Bounds(ge=0), Help("0 is cross-entropy; from 1 on, a conservative loss.")] = 0.7

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "q", float(self.q))

    kind, help = "gce", "Generalised cross-entropy: between cross-entropy (0) and robustness (1)."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        if self.q < _SAME_AS_ENTROPY:
            return Entropy(_weighted_logs())
        if self.q >= 1:
            return Misclassification(1.0 / self.q)
        if self.q < _NEAR_ENTROPY:
            return NearEntropy(self.q)
        order = 1.0 / (1.0 - self.q)
        if order > LARGEST_TABLED_ORDER:
            return NearMisclassification(1.0 / self.q, order, 1.0 - self.q)
        root, fraction = _power_tables(1.0 - self.q), _power_tables(order % 1.0)
        return GeneralizedCrossEntropyImpurity(1.0 / self.q, order, 1.0 - self.q, root, _powers(order), fraction)

    def leaf_value(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.q == 0:
            return p
        if self.q >= 1:
            return majority(p)
        with np.errstate(under="ignore"):
            powers = (p / p.max(axis=1, keepdims=True)) ** (1.0 / (1.0 - self.q))
        values: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
        return values

    def vote(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return p if self.q >= 1 else self.leaf_value(p)


class TwoingGain(Loss):
    """Twoing (Breiman, Friedman, Olshen and Stone 1984): how far apart the children's class distributions are.

    A gain of two children and no loss; nodes record the Gini impurity, and `min_risk_decrease` bounds the gain itself.
    """

    kind, help = "twoing", "Twoing: splits whose sides differ most in their classes."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return Twoing()


@dataclass(frozen=True, repr=False)
class CredalEntropy(Loss):
    """Credal-C4.5 (Mantas and Abellan 2014): the largest entropy when rows of weight s may be of any class.

    `min_risk_decrease` bounds the imprecise information gain itself. `s` is in the unit of the rows' weights: unlike
    with other losses, weights ten times as large are not the same data.
    """

    s: Annotated[float, Bounds(gt=0), Help("Weight of the unseen rows; more means earlier stops.")] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "s", float(self.s))

    kind, aliases, help = "credal", ("credal_c45",), "Credal-C4.5: entropy with some rows' classes left open."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        mass = min(max(self.s / weight_unit, _LIGHTEST_UNIT), _HEAVIEST_UNIT)
        return Credal(mass, n_classes, lifted_log_table(mass, n_classes), _weighted_logs())


class RankingGain(Loss):
    """Drop of the empirical ranking loss, in pairs of rows of different classes; two classes only.

    Nodes record p0 p1 / 2, the ranking loss of a node whose rows all tie, per squared weight. `min_risk_decrease`
    bounds the number of pairs, in units of the rows' weights.
    """

    kind, help = "ranking", "Ranking loss: pairs of rows of different classes in the wrong order; two classes only."
    needs_two_classes = True

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return Ranking(min(max(weight_unit, _LIGHTEST_UNIT), _HEAVIEST_UNIT) ** 2)


#: kind -> loss, in the order in which they are shown.
LOSSES: dict[str, type[Loss]] = {
    loss.kind: loss
    for loss in (
        SquaredError,
        CrossEntropy,
        ZeroOne,
        MeanAbsoluteError,
        NegativeExponential,
        AdaptiveNegativeExponential,
        RootGini,
        GeneralizedCrossEntropy,
        DistributionLoss,
        TwoingGain,
        CredalEntropy,
        RankingGain,
    )
}
