"""BrownBoost (Freund 2001, "An adaptive version of the boost by majority algorithm", Machine Learning 43)."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from core.boosting.boosted_classifier import NumberOfRounds, RuleLeaves
from core.boosting.timed_boosting import TimedBooster
from core.growth.growth_parameters import (
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

#: The initial weight of rows is exp(-c), which is zero in float64 for c above 745.
_MAX_TIME = 500
TotalTime = Annotated[
    float,
    Bounds(gt=0, le=_MAX_TIME),
    Help("Total time c. With a smaller value the fit stops learning from misclassified rows earlier."),
]


class _BrownianPotential:
    """Potential 1 - erf((m + s) / sqrt(c)) and weight exp(-(m + s)^2 / c) of a row with margin m, where s is the time
    left.
    """

    def __init__(self, total_time: float) -> None:
        self._scale = total_time
        self.time_left = total_time
        self.max_rule_weight = total_time

    def weights(self, margins: NDArray[np.float64], elapsed: float) -> NDArray[np.float64]:
        with np.errstate(under="ignore"):
            return np.asarray(np.exp(-((margins + (self.time_left - elapsed)) ** 2) / self._scale))

    def potentials(self, margins: NDArray[np.float64], elapsed: float) -> NDArray[np.float64]:
        from scipy.special import erfc  # noqa: PLC0415  (a slow import that only boosters need)

        with np.errstate(under="ignore"):
            return np.asarray(erfc((margins + (self.time_left - elapsed)) / np.sqrt(self._scale)))

    def shrinkage(self, elapsed: float) -> float:
        return 1.0

    def advance(self, elapsed: float) -> None:
        self.time_left = max(0.0, self.time_left - elapsed)

    def width(self) -> float:
        return float(np.sqrt(self._scale))


class BrownBoostClassifier(TimedBooster):
    """BrownBoost (Freund 2001): boosting that stops learning from rows that stay misclassified.

    Each round uses up part of `total_time`. The less time is left, the less weight have rows with a large negative
    margin. The target for the training error is 1 - erf(sqrt(total_time)). The fit stops when no time is left
    (`stop_reason_` "time"), or before a rule that is not better than random guessing ("edge").
    """

    def __init__(
        self,
        *,
        n_rounds: NumberOfRounds = 200,
        total_time: TotalTime = 10.0,
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
        self.total_time = total_time
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

    def _new_potential(self) -> _BrownianPotential:
        return _BrownianPotential(float(self.total_time))
