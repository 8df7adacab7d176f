"""Public losses and the kernel criterion of each.

A loss is written as a name ("ne"), a mapping ({"kind": "ne", "lambda": 0.5}) or an object (NegativeExponential(0.5)).
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalog import Criterion
from core.kernels.criteria.entropy import Credal, Entropy, lifted_log_table, weighted_log_table
from core.kernels.criteria.gini import Gini, NegativeExponentialImpurity
from core.kernels.criteria.norm import (
    MAX_TABLED_ORDER,
    GeneralizedCrossEntropyImpurity,
    Misclassification,
    NearEntropy,
    NearMisclassification,
    power_table,
)
from core.kernels.criteria.powers import PowerTables, new_power_tables
from core.kernels.criteria.sides import TABLE_LENGTH
from core.kernels.criteria.two_sided import Ranking, Twoing
from core.losses.base import LambdaTuning, Loss, OneHotLeaves, SelectionMethod, majority
from core.losses.distribution_loss import DistributionLoss
from core.parameters import Bounds, Help, Key

#: Below this q the impurity of `gce` is computed by a formula that does not cancel.
_NEAR_ENTROPY = 0.01
#: Below this q the impurity of `gce` differs from entropy by less than the rounding error.
_SAME_AS_ENTROPY = 1e-15
#: Bounds of the weight unit: its square, and any weight times it, neither overflows nor vanishes.
_LIGHTEST_UNIT, _HEAVIEST_UNIT = 2.0**-500, 2.0**500


@lru_cache(maxsize=1)
def _weighted_logs() -> NDArray[np.float64]:
    return weighted_log_table(TABLE_LENGTH)


@lru_cache(maxsize=8)
def _powers(order: float) -> NDArray[np.float64]:
    return power_table(order, TABLE_LENGTH)


@lru_cache(maxsize=8)
def _power_tables(exponent: float) -> PowerTables:
    return PowerTables(*new_power_tables(exponent))


class SquaredError(Loss):
    """Squared error; impurity 1 - ||p||_2^2."""

    kind, aliases, help = "gini", ("mse",), "Squared error, whose impurity is the Gini impurity."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return Gini()


class CrossEntropy(Loss):
    """Cross-entropy loss; impurity -sum p log p."""

    kind, aliases, help = "entropy", ("ce",), "Cross-entropy, whose gain is the information gain."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return Entropy(_weighted_logs())


class ZeroOne(OneHotLeaves):
    """Zero-one loss, which grows the same trees as any conservative loss; impurity 1 - ||p||_inf (Wilton and Ye 2024,
    Theorem 4).
    """

    kind, aliases = "misclassification", ("conservative", "zero_one", "infinity_norm")
    help = "Zero-one loss, which stands for all conservative losses: it is the most robust and stops growth early."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return Misclassification(1.0)


class MeanAbsoluteError(OneHotLeaves):
    """Absolute error; impurity 2 (1 - ||p||_inf), which gives the splits of the zero-one loss and twice its risks."""

    kind, help = "mae", "Mean absolute error: the zero-one loss with cost 2."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return Misclassification(2.0)


def _sqrt_gini(n_classes: int) -> Criterion:
    return NegativeExponentialImpurity(1.0, n_classes, slack=np.inf)


class SqrtGini(Loss):
    """Limit of the negative exponential loss for lambda -> 0; impurity sqrt((1 - ||p||_2^2) (K - 1) / K)."""

    kind, help = "sqrt_gini", "Square root of the Gini impurity: the negative exponential loss with lambda = 0."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return _sqrt_gini(n_classes)


@dataclass(frozen=True, repr=False)
class NegativeExponential(Loss):
    """Negative exponential loss (Wilton and Ye 2024, Theorem 8), from `sqrt_gini` (lambda = 0) to a conservative loss
    (lambda = 1).
    """

    lambda_: Annotated[
        float,
        Bounds(ge=0, le=1),
        Key("lambda"),
        Help("0 fits the training labels closely, 1 is most robust to label noise."),
    ] = 0.5

    kind, help = "ne", "Negative exponential loss, between a close fit (lambda = 0) and robustness (lambda = 1)."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        if self.lambda_ == 0:
            return _sqrt_gini(n_classes)
        return NegativeExponentialImpurity(float(self.lambda_), n_classes)


@dataclass(frozen=True, repr=False)
class AdaptiveNegativeExponential(Loss):
    """Negative exponential loss whose lambda is chosen by accuracy on rows that the trees have not seen.

    The accuracy is measured on the labels as they are, noisy or not. Out of bag, the trees of the chosen lambda are
    already grown on all rows; with a holdout, they are grown again on all rows.
    """

    grid: Annotated[
        tuple[Annotated[float, Bounds(ge=0, le=1)], ...], Help("Values of lambda from which the best one is chosen.")
    ] = (
        0.0,
        0.25,
        0.5,
        0.75,
        1.0,
    )
    validation_fraction: Annotated[
        float,
        Bounds(gt=0, lt=1),
        Help("Fraction of the rows held out while lambda is chosen; it has no effect on out-of-bag selection."),
    ] = 0.2
    selection: Annotated[
        SelectionMethod,
        Help(
            "Rows on which lambda is chosen: `holdout`, `out_of_bag` (requires bootstrap), or `auto`, which is "
            "`out_of_bag` with bootstrap and `holdout` without."
        ),
    ] = "auto"

    kind, aliases = "adaptive_ne", ("ane",)
    help = "Negative exponential loss whose lambda is chosen by accuracy on rows that the trees have not seen."

    @property
    def tuning(self) -> LambdaTuning:
        return LambdaTuning(self.grid, NegativeExponential, self.validation_fraction, self.selection)

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        raise NotImplementedError("an adaptive loss has no criterion before its lambda is chosen")


@dataclass(frozen=True, repr=False)
class GeneralizedCrossEntropy(Loss):
    """Generalized cross-entropy; impurity (1 - ||p||_{1/(1-q)}) / q (Wilton and Ye 2024, Theorem 1).

    q = 0 is cross-entropy, q >= 1 the conservative loss of cost 1/q.
    """

    q: Annotated[
        float, Bounds(ge=0), Help("0 is cross-entropy; a value of 1 or more gives a conservative loss with cost 1/q.")
    ] = 0.7

    kind, help = "gce", "Generalized cross-entropy, between cross-entropy (q = 0) and the most robust loss (q = 1)."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        if self.q < _SAME_AS_ENTROPY:
            return Entropy(_weighted_logs())
        if self.q >= 1:
            return Misclassification(1.0 / self.q)
        if self.q < _NEAR_ENTROPY:
            return NearEntropy(self.q)
        order = 1.0 / (1.0 - self.q)
        if order > MAX_TABLED_ORDER:
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

    @property
    def votes_with_distribution(self) -> bool:
        return not 0 < self.q < 1


class TwoingGain(Loss):
    """Twoing (Breiman, Friedman, Olshen and Stone 1984): distance between the class distributions of two children.

    Twoing is a gain of a split that is not derived from a loss: nodes record the Gini impurity, and
    `min_risk_decrease` bounds the gain itself.
    """

    kind, help = "twoing", "Twoing: chooses the split whose children differ most in their class distributions."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return Twoing()


@dataclass(frozen=True, repr=False)
class CredalEntropy(Loss):
    """Credal-C4.5 (Mantas and Abellan 2014): maximum entropy if additional rows of weight s may have any class.

    `min_risk_decrease` bounds the imprecise information gain itself. `s` has the unit of the row weights, so that,
    unlike with other losses, multiplying all weights by a constant changes the tree.
    """

    s: Annotated[
        float, Bounds(gt=0), Help("Weight of additional rows of unknown class; a larger weight stops growth earlier.")
    ] = 1.0

    kind, aliases, help = "credal", ("credal_c45",), "Credal-C4.5: maximum entropy over a set of class distributions."

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        mass = min(max(self.s / weight_unit, _LIGHTEST_UNIT), _HEAVIEST_UNIT)
        return Credal(mass, n_classes, lifted_log_table(mass, n_classes), _weighted_logs())


class RankingGain(Loss):
    """Decrease of the empirical ranking loss: the number of misordered pairs of rows of different classes.

    Nodes record p0 p1 / 2, the ranking loss per squared weight of a node whose rows are all tied. `min_risk_decrease`
    bounds the decrease in pairs, weighted by the product of their row weights.
    """

    kind, help = "ranking", "Ranking loss: misordered pairs of rows of different classes. It needs exactly two classes."
    needs_two_classes = True

    def criterion(self, n_classes: int, weight_unit: float = 1.0) -> Criterion:
        return Ranking(min(max(weight_unit, _LIGHTEST_UNIT), _HEAVIEST_UNIT) ** 2)


#: Losses by kind, in the order in which they are listed to users.
LOSSES: dict[str, type[Loss]] = {
    loss.kind: loss
    for loss in (
        SquaredError,
        CrossEntropy,
        ZeroOne,
        MeanAbsoluteError,
        NegativeExponential,
        AdaptiveNegativeExponential,
        SqrtGini,
        GeneralizedCrossEntropy,
        DistributionLoss,
        TwoingGain,
        CredalEntropy,
        RankingGain,
    )
}
