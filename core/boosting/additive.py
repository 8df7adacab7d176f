"""Boosters that add one rule after the other and never look back: AdaBoost, LogitBoost and GentleBoost.

F is the sum of the rules so far, y is -1 or 1, p_i the row's share of the total weight (1/n in the papers):

    AdaBoost     rows weigh p_i exp(-y F), leaves say the heavier label, and F grows by 1/2 ln((1 - e) / e) times that,
                 e the rule's weighted error (Freund and Schapire 1997)
    GentleBoost  rows weigh p_i exp(-y F), leaves say the mean label, and F grows by that (Friedman, Hastie and
                 Tibshirani 2000, "Additive logistic regression", Algorithm 4)
    LogitBoost   rows weigh p_i q (1 - q), q = 1 / (1 + exp(-2 F)), leaves say the mean of the working responses
                 (y* - q) / (q (1 - q)), and F grows by half of that (the same, Algorithm 3)
"""

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.boosting.base_learner import BaseLearner, GrownRule
from core.boosting.boosted_classifier import BinaryProblem, Boosted, BoostedClassifier, LeavesOfRule, NumberOfRounds
from core.boosting.rules import Rule
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

#: Working responses of LogitBoost beyond this are cut; Friedman, Hastie and Tibshirani ask for 2 to 4.
LARGEST_RESPONSE = 4.0
#: Least q (1 - q), against rows that count for nothing yet ask for endless responses.
_LEAST_CURVATURE = 1e-10
#: Outputs up to this are what rounding leaves of zero.
_SILENCE = 1e-12


class Addition(NamedTuple):
    """What a round adds to the scores: weight times what the leaves say, unless `stop_reason` speaks against it."""

    grown: GrownRule
    outputs: NDArray[np.float64]  # (leaf,)
    weight: float
    stop_reason: str  # "" to go on
    is_kept: bool


class AdditiveBooster(BoostedClassifier):
    """Base of the three. Their scores are half the logarithm of the odds."""

    def __init__(
        self,
        *,
        n_rounds: NumberOfRounds = 200,
        loss: LossChoice = "gini",
        max_leaf_nodes: LeavesOfRule = 10,
        max_depth: MaxDepth = None,
        min_samples_leaf: MinSamplesLeaf = 1,
        max_features: MaxFeatures = None,
        max_bins: MaxBins = 256,
        class_weight: ClassWeights = None,
        random_state: RandomState = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.loss = loss
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_bins = max_bins
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    @abstractmethod
    def _addition(self, problem: BinaryProblem, learner: BaseLearner, scores: NDArray[np.float64]) -> Addition:
        """The next rule, after those that came to `scores` (row,)."""

    def _boost(self, problem: BinaryProblem, learner: BaseLearner) -> Boosted:
        scores = np.zeros(len(problem.signs), dtype=np.float64)
        rules: list[Rule] = []
        weights: list[float] = []
        stop_reason = ""
        while not stop_reason and len(rules) < self.n_rounds:
            added = self._addition(problem, learner, scores)
            stop_reason = added.stop_reason
            if added.is_kept:
                rules.append(added.grown.rule(added.outputs))
                weights.append(added.weight)
                scores += (added.weight * added.outputs)[added.grown.leaves]
        return Boosted(rules, np.array(weights, dtype=np.float64), len(rules), stop_reason or "n_rounds", {})

    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        from scipy.special import expit, softmax  # noqa: PLC0415  (a slow import that only boosters need)

        if scores.shape[1] == 1:
            return np.column_stack([expit(-2 * scores[:, 0]), expit(2 * scores[:, 0])])
        return np.asarray(softmax(2 * scores, axis=1))


def _exponential_weights(problem: BinaryProblem, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """y_i p_i exp(-y_i F_i), up to a factor that keeps the largest finite. (row,)"""
    exponents = -problem.signs * scores
    with np.errstate(under="ignore"):
        return np.asarray(problem.signed_shares * np.exp(exponents - exponents.max()))


def _says_anything(outputs: NDArray[np.float64]) -> bool:
    """Whether outputs (leaf,) are more than what rounding leaves of zero."""
    return bool(np.abs(outputs).max() > _SILENCE)


class AdaBoostClassifier(AdditiveBooster):
    """AdaBoost (Freund and Schapire 1997) with rules that say -1 or 1.

    It stops at a rule without error, which is kept with weight 1, and before one that is no better than a coin.
    """

    def _addition(self, problem: BinaryProblem, learner: BaseLearner, scores: NDArray[np.float64]) -> Addition:
        grown = learner.grow(_exponential_weights(problem, scores))
        outputs = grown.labels()
        total = grown.totals.sum()
        error = float((total - outputs @ grown.sums) / (2 * total))
        if error <= np.finfo(np.float64).eps:
            return Addition(grown, outputs, 1.0, "perfect", is_kept=True)
        if error >= 1 / 2:
            return Addition(grown, outputs, 0.0, "edge", is_kept=False)
        return Addition(grown, outputs, float(np.log((1 - error) / error)) / 2, "", is_kept=True)


class GentleBoostClassifier(AdditiveBooster):
    """GentleBoost (Friedman, Hastie and Tibshirani 2000): Newton steps with trees of weighted least squares.

    Of labels -1 and 1, the splits of least squares are those of the Gini impurity.
    """

    def _addition(self, problem: BinaryProblem, learner: BaseLearner, scores: NDArray[np.float64]) -> Addition:
        grown = learner.grow(_exponential_weights(problem, scores))
        outputs = grown.confidences()
        reason = "" if _says_anything(outputs) else "edge"
        return Addition(grown, outputs, 1.0, reason, is_kept=not reason)


class LogitBoostClassifier(AdditiveBooster):
    """LogitBoost (Friedman, Hastie and Tibshirani 2000): Newton steps on the logistic likelihood.

    A tree of weighted least squares on responses z in [-M, M] is one of the Gini impurity on rows that are of label 1
    with weight w (M + z) / 2M and of label -1 with the rest; so the same kernels grow it. Another `loss` takes those
    fractions as its classes.
    """

    _n_copies = 2

    def _addition(self, problem: BinaryProblem, learner: BaseLearner, scores: NDArray[np.float64]) -> Addition:
        from scipy.special import expit  # noqa: PLC0415  (a slow import that only boosters need)

        chances, largest = expit(2 * scores), 2 * LARGEST_RESPONSE
        curvature = np.maximum(chances * expit(-2 * scores), _LEAST_CURVATURE)
        # y* - q without cancellation, for y* in {0, 1}
        slopes = problem.signs * expit(-2 * problem.signs * scores)
        responses = np.clip(slopes / curvature, -LARGEST_RESPONSE, LARGEST_RESPONSE)
        weights = problem.shares * curvature
        grown = learner.grow_on_fractions(
            weights * (largest + responses) / (2 * largest), weights * (largest - responses) / (2 * largest)
        )
        outputs = largest * grown.confidences()
        reason = "" if _says_anything(outputs) else "edge"
        return Addition(grown, outputs, 0.5, reason, is_kept=not reason)
