"""Boosters that add rules without changing the earlier ones: AdaBoost, LogitBoost and GentleBoost.

F is the sum of the rules so far, y is -1 or 1, y* = (y + 1) / 2, and p_i is the row's share of the total weight (1/n in
the papers):

    AdaBoost     row weights p_i exp(-y F); the leaf output is the label with the larger weight; F grows by
                 1/2 ln((1 - e) / e) times the output, where e is the weighted error of the rule (Freund and Schapire
                 1997)
    GentleBoost  row weights p_i exp(-y F); the leaf output is the mean label; F grows by the output (Friedman, Hastie
                 and Tibshirani 2000, "Additive logistic regression", Algorithm 4)
    LogitBoost   row weights p_i q (1 - q), where q = 1 / (1 + exp(-2 F)); the leaf output is the mean of the working
                 responses (y* - q) / (q (1 - q)); F grows by half the output (same paper, Algorithm 3)
"""

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.boosting.base_learner import BaseLearner, GrownRule
from core.boosting.boosted_classifier import (
    BinaryProblem,
    BoostingResult,
    NumberOfRounds,
    RuleLeaves,
)
from core.boosting.rules import Rule
from core.boosting.staged import StagedBooster
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
from core.validation.categories import FROM_DTYPE, CategoricalFeatures

#: Limit on the working responses of LogitBoost; Friedman, Hastie and Tibshirani recommend 2 to 4.
MAX_RESPONSE = 4.0
#: Lower limit of q (1 - q), so that rows with hardly any weight have finite responses.
_MIN_CURVATURE = 1e-10
#: Smaller outputs are rounding errors of zero.
_MIN_OUTPUT = 1e-12


class RoundResult(NamedTuple):
    """Rule of a round and its weight. A nonempty `stop_reason` ends the rounds."""

    grown: GrownRule
    outputs: NDArray[np.float64]  # (leaf,)
    weight: float
    stop_reason: str  # "" to continue
    is_kept: bool


class AdditiveBooster(StagedBooster):
    """Base of AdaBoost, LogitBoost and GentleBoost. Scores are half the log odds."""

    def __init__(
        self,
        *,
        n_rounds: NumberOfRounds = 200,
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

    @abstractmethod
    def _round(self, problem: BinaryProblem, learner: BaseLearner, scores: NDArray[np.float64]) -> RoundResult:
        """Return the next rule, given the scores (row,) of the rules so far."""

    def _boost(self, problem: BinaryProblem, learner: BaseLearner) -> BoostingResult:
        scores = np.zeros(len(problem.signs), dtype=np.float64)
        rules: list[Rule] = []
        weights: list[float] = []
        stop_reason = ""
        while not stop_reason and len(rules) < self.n_rounds:
            result = self._round(problem, learner, scores)
            stop_reason = result.stop_reason
            if result.is_kept:
                rules.append(result.grown.rule(result.outputs))
                weights.append(result.weight)
                scores += (result.weight * result.outputs)[result.grown.leaves]
        return BoostingResult(rules, np.array(weights, dtype=np.float64), len(rules), stop_reason or "n_rounds", {})

    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        from scipy.special import expit, softmax  # noqa: PLC0415  (a slow import that only boosters need)

        if scores.shape[1] == 1:
            return np.column_stack([expit(-2 * scores[:, 0]), expit(2 * scores[:, 0])])
        return np.asarray(softmax(2 * scores, axis=1))


def _exponential_weights(problem: BinaryProblem, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return y_i p_i exp(-y_i F_i), scaled so that the largest is finite. (row,)"""
    exponents = -problem.signs * scores
    with np.errstate(under="ignore"):
        return np.asarray(problem.signed_shares * np.exp(exponents - exponents.max()))


def _is_nonzero(outputs: NDArray[np.float64]) -> bool:
    """Return whether any of the outputs (leaf,) is larger than rounding errors."""
    return bool(np.abs(outputs).max() > _MIN_OUTPUT)


class AdaBoostClassifier(AdditiveBooster):
    """AdaBoost (Freund and Schapire 1997) with rules whose outputs are -1 or 1.

    The fit stops at a rule without errors (`stop_reason_` "perfect"), which is kept with weight 1, and before a rule
    that is not better than random guessing ("edge").
    """

    def _round(self, problem: BinaryProblem, learner: BaseLearner, scores: NDArray[np.float64]) -> RoundResult:
        grown = learner.grow(_exponential_weights(problem, scores))
        outputs = grown.labels()
        total = grown.totals.sum()
        error = float((total - outputs @ grown.sums) / (2 * total))
        if error <= np.finfo(np.float64).eps:
            return RoundResult(grown, outputs, 1.0, "perfect", is_kept=True)
        if error >= 1 / 2:
            return RoundResult(grown, outputs, 0.0, "edge", is_kept=False)
        return RoundResult(grown, outputs, float(np.log((1 - error) / error)) / 2, "", is_kept=True)


class GentleBoostClassifier(AdditiveBooster):
    """GentleBoost (Friedman, Hastie and Tibshirani 2000): Newton steps with trees fitted by weighted least squares.

    For labels -1 and 1, least-squares splits are the splits of the Gini impurity.
    """

    def _round(self, problem: BinaryProblem, learner: BaseLearner, scores: NDArray[np.float64]) -> RoundResult:
        grown = learner.grow(_exponential_weights(problem, scores))
        outputs = grown.confidences()
        reason = "" if _is_nonzero(outputs) else "edge"
        return RoundResult(grown, outputs, 1.0, reason, is_kept=not reason)


class LogitBoostClassifier(AdditiveBooster):
    """LogitBoost (Friedman, Hastie and Tibshirani 2000): Newton steps on the logistic likelihood.

    Fitting a tree to responses z in [-M, M] by weighted least squares is equivalent to growing it under the Gini
    impurity on rows that count as label 1 with weight w (M + z) / 2M and as label -1 with the remaining weight, so the
    same kernels are used. With another `loss`, these fractions are the classes.
    """

    _row_copies = 2

    def _round(self, problem: BinaryProblem, learner: BaseLearner, scores: NDArray[np.float64]) -> RoundResult:
        from scipy.special import expit  # noqa: PLC0415  (a slow import that only boosters need)

        positive, largest = expit(2 * scores), 2 * MAX_RESPONSE
        curvature = np.maximum(positive * expit(-2 * scores), _MIN_CURVATURE)
        # y* - q, computed without cancellation
        residuals = problem.signs * expit(-2 * problem.signs * scores)
        responses = np.clip(residuals / curvature, -MAX_RESPONSE, MAX_RESPONSE)
        weights = problem.row_shares * curvature
        grown = learner.grow_on_fractions(
            weights * (largest + responses) / (2 * largest), weights * (largest - responses) / (2 * largest)
        )
        outputs = largest * grown.confidences()
        reason = "" if _is_nonzero(outputs) else "edge"
        return RoundResult(grown, outputs, 0.5, reason, is_kept=not reason)
