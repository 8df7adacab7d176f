"""RobustBoost (Freund 2009, "A more robust boosting algorithm", arXiv:0905.2138)."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from core.boosting.boosted_classifier import NumberOfRounds, RuleLeaves
from core.boosting.timed_boosting import TimedBooster
from core.growth.growth_parameters import (
    LARGEST_COUNT,
    ClassWeights,
    Jobs,
    LossChoice,
    MaxBins,
    MaxDepth,
    MaxFeatures,
    MinSamplesLeaf,
    RandomState,
)
from core.parameters import Bounds, Help
from core.validation.categories import FROM_DTYPE, CategoricalFeatures

ErrorGoal = Annotated[
    float,
    Bounds(gt=0, lt=0.5),
    Help("Target for the training error. With a larger value the fit stops learning from misclassified rows earlier."),
]
MarginGoal = Annotated[
    float, Bounds(ge=0, le=LARGEST_COUNT), Help("Target margin theta of the correctly classified rows.")
]
MarginSpread = Annotated[
    float,
    Bounds(ge=1e-6, le=LARGEST_COUNT),
    Help("Width sigma_f of the final potential. A smaller value makes it a steeper step."),
]
#: Limit on the weight of a rule: beyond it the potential of a correctly classified row is zero in float64.
_MAX_WEIGHT = 32.0


class _RobustPotential:
    """Potential Phi = (1 - erf((m - mu(t)) / sigma(t))) / 2 of a row with margin m at time t in [0, 1], where

        mu(t) = (theta - 2 rho) e^(1 - t) + 2 rho        sigma(t)^2 = (sigma_f^2 + 1) e^(2 (1 - t)) - 1

    and rho is such that Phi of margin zero at t = 0 is the error goal. The weight is exp(-((m - mu(t)) / sigma(t))^2).
    """

    def __init__(self, error_goal: float, margin_goal: float, margin_spread: float) -> None:
        from scipy.special import erfcinv  # noqa: PLC0415  (a slow import that only boosters need)

        self._theta = margin_goal
        self._spread = margin_spread
        self.time_left = 1.0
        # erfc(z) = 2 error_goal at z = -mu(0) / sigma(0)
        offset = self._sigma(0.0) * float(erfcinv(2 * error_goal))
        self._rho = (offset + np.e * margin_goal) / (2 * (np.e - 1))
        self.max_rule_weight = _MAX_WEIGHT * max(1.0, margin_goal, margin_spread)

    def _sigma(self, elapsed: float) -> float:
        exponent = 2 * (self.time_left - elapsed)
        # Computed without adding 1 to sigma_f^2, which would round a small sigma_f away.
        return float(np.sqrt(np.expm1(exponent) + self._spread**2 * np.exp(exponent)))

    def _scaled(self, margins: NDArray[np.float64], elapsed: float) -> NDArray[np.float64]:
        mu = (self._theta - 2 * self._rho) * np.exp(self.time_left - elapsed) + 2 * self._rho
        return np.asarray((margins - mu) / self._sigma(elapsed))

    def weights(self, margins: NDArray[np.float64], elapsed: float) -> NDArray[np.float64]:
        with np.errstate(under="ignore"):
            return np.asarray(np.exp(-(self._scaled(margins, elapsed) ** 2)))

    def potentials(self, margins: NDArray[np.float64], elapsed: float) -> NDArray[np.float64]:
        from scipy.special import erfc  # noqa: PLC0415  (a slow import that only boosters need)

        with np.errstate(under="ignore"):
            return np.asarray(erfc(self._scaled(margins, elapsed)) / 2)

    def shrinkage(self, elapsed: float) -> float:
        return float(np.exp(-elapsed))

    def advance(self, elapsed: float) -> None:
        self.time_left = max(0.0, self.time_left - elapsed)

    def width(self) -> float:
        return self._sigma(0.0)


class RobustBoostClassifier(TimedBooster):
    """RobustBoost (Freund 2009): boosting towards a target margin for all but a share of the training rows.

    Rules are added until all but a share `error_goal` of the training rows have the margin `margin_goal`. Rows that
    stay misclassified lose their weight. The fit stops when no time is left (`stop_reason_` "time"), or before a rule
    that is not better than random guessing ("edge").
    """

    def __init__(
        self,
        *,
        n_rounds: NumberOfRounds = 200,
        error_goal: ErrorGoal = 0.1,
        margin_goal: MarginGoal = 0.0,
        margin_spread: MarginSpread = 0.1,
        loss: LossChoice = "gini",
        max_leaf_nodes: RuleLeaves = 10,
        max_depth: MaxDepth = None,
        min_samples_leaf: MinSamplesLeaf = 1,
        max_features: MaxFeatures = None,
        max_bins: MaxBins = 256,
        categorical_features: CategoricalFeatures = FROM_DTYPE,
        class_weight: ClassWeights = None,
        random_state: RandomState = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.error_goal = error_goal
        self.margin_goal = margin_goal
        self.margin_spread = margin_spread
        self.loss = loss
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _new_potential(self) -> _RobustPotential:
        return _RobustPotential(float(self.error_goal), float(self.margin_goal), float(self.margin_spread))
