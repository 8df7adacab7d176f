"""Robust minimax boosting."""

from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.boosting.base_learner import BaseLearner, GrownRule
from core.boosting.boosted_classifier import (
    BinaryProblem,
    Boosted,
    BoostedClassifier,
    LeavesOfRule,
    NumberOfRounds,
    count_of,
    finite_numbers,
)
from core.boosting.certificate import Certificate, FittedRule, certify, tree_vc_dimension
from core.boosting.minimax_rounds import RoundLimits, run_rounds
from core.boosting.rule_table import MOST_LEAVES
from core.exceptions import InvalidInput, InvalidParameter
from core.fit_summary import FitSummary
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
from core.kernels.simplex.regularized_duals import MARGIN_LIMIT
from core.parameters import Bounds, Help

Regularization = Annotated[
    float | None,
    Bounds(gt=0),
    Help("Price of a rule's weight, lambda; more means fewer rules. None = 1 / sqrt(training rows)."),
]
RuleOutput = Annotated[
    Literal["sign", "confidence"],
    Help("What a leaf says: the more heavily weighted label, or the mean label, which may be anything in [-1, 1]."),
]
Resampling = Annotated[
    bool, Help("Grow each tree on rows drawn by their weights, instead of on all rows with their weights.")
]
DroppingRules = Annotated[bool, Help("Drop rules that a fall of the minimax risk made useless.")]

DualSolution = Annotated[
    Literal["even", "vertex"],
    Help("Which optimal row weights the trees grow on: the most even, or those the solver stops at, as published."),
]
Tolerance = Annotated[
    float,
    Bounds(ge=0),
    Help("With even weights, rounds end once the minimax risk is this near to the least that can be reached."),
]

#: Shares of rows are alike up to this.
_SAME_SHARE = 1e-12


class RMBoostClassifier(BoostedClassifier):
    """Robust minimax boosting (Mazuelas and Alvarez 2025): the rule whose error is least in the worst case over all
    distributions that agree with the training rows about what the trees say.

    Fitted attributes beside those of all boosters: `minimax_risk_`, that least worst-case error; `risk_path_` (round,),
    the same after each round, never rising; `regularization_`, the lambda that was used; `class_risks_` (problem,).
    With more than two classes each class has a problem of its own, class against the rest, and a risk of its own in
    `class_risks_`; `minimax_risk_` is then their sum, which bounds the chance that any of the randomised answers errs
    and may exceed 1, and `risk_path_` the sum of their paths.
    """

    minimax_risk_: float
    risk_path_: NDArray[np.float64]
    class_risks_: NDArray[np.float64]
    regularization_: float
    n_rows_: int
    is_weighted_: bool  # whether some rows count for more than others
    most_leaves_: int  # of a rule

    def __init__(
        self,
        *,
        n_rounds: NumberOfRounds = 200,
        regularization: Regularization = None,
        rule_output: RuleOutput = "confidence",
        resample: Resampling = False,
        drop_rules: DroppingRules = True,
        dual_solution: DualSolution = "even",
        tolerance: Tolerance = 0.005,
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
        self.regularization = regularization
        self.rule_output = rule_output
        self.resample = resample
        self.drop_rules = drop_rules
        self.dual_solution = dual_solution
        self.tolerance = tolerance
        self.loss = loss
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_bins = max_bins
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def certificate(self, delta: float = 0.05, noise_rate: float | None = None) -> Certificate:
        """What the fit guarantees about rows that it has not seen; `noise_rate` is the share of wrong training labels.

        Raises InvalidParameter, and InvalidInput for more than two classes or rows of unequal weights, of which the
        bounds say nothing.
        """
        self._check_is_fitted("minimax_risk_")
        if not (isinstance(delta, Real) and 0 < delta < 1):
            raise InvalidParameter(f"delta is {delta!r}; it must be a probability above 0 and below 1.")
        if noise_rate is not None and not (isinstance(noise_rate, Real) and 0 <= noise_rate <= 1):
            raise InvalidParameter(f"noise_rate is {noise_rate!r}; it must be a share from 0 to 1, or None.")
        if len(self.class_risks_) > 1:
            raise InvalidInput(
                f"the bounds are about two classes and this model has {len(self.classes_)}; look at class_risks_."
            )
        if self.is_weighted_:
            raise InvalidInput(
                "the bounds are about rows that all count alike, and this model was fitted with class_weight or "
                "sample_weight; fit it without to have a certificate."
            )
        return certify(self._fitted_rule(), delta, noise_rate)

    def fit_summary(self, noise_rate: float | None = None) -> FitSummary:
        """What the fit found out; of two classes and rows of equal weight also what it guarantees where a share
        `noise_rate` of the training labels is wrong.
        """
        facts = super().fit_summary().fitted
        metrics = {
            "minimax_risk": self.minimax_risk_,
            "class_risks": self.class_risks_.tolist(),
            "risk_path": self.risk_path_.tolist(),
        }
        is_certified = len(self.class_risks_) == 1 and not self.is_weighted_
        certificate = self.certificate(noise_rate=noise_rate).to_json() if is_certified else None
        return FitSummary({**facts, "regularization": self.regularization_}, metrics, certificate)

    def _fitted_rule(self) -> FittedRule:
        return FittedRule(
            self.minimax_risk_,
            float(np.abs(self.rule_weights_).sum()),
            self.regularization_,
            self.n_rows_,
            tree_vc_dimension(self.most_leaves_ - 1, self.n_features_in_),
        )

    def _boost(self, problem: BinaryProblem, learner: BaseLearner) -> Boosted:
        limits = RoundLimits(
            int(self.n_rounds),
            int(self.max_leaf_nodes),
            self._regularization(len(problem.signs)),
            bool(self.resample),
            bool(self.drop_rules),
            self.dual_solution == "even",
            float(self.tolerance),
        )
        done = run_rounds(problem, learner, limits, self._outputs)
        found = {
            "risk": done.minimax_risk,
            "path": done.risk_path,
            "n_rows": len(problem.signs),
            "is_weighted": bool(np.ptp(problem.shares) > _SAME_SHARE * problem.shares.max()),
        }
        return Boosted(done.rules, done.weights, len(done.risk_path), done.stop_reason, found, done.failure)

    def _regularization(self, n_rows: int) -> float:
        return float(1 / np.sqrt(n_rows) if self.regularization is None else self.regularization)

    def _outputs(self, grown: GrownRule) -> NDArray[np.float64]:
        return grown.labels() if self.rule_output == "sign" else grown.confidences()

    def _keep(self, boosted: list[Boosted]) -> None:
        super()._keep(boosted)
        self.n_rows_, self.is_weighted_ = boosted[0].found["n_rows"], boosted[0].found["is_weighted"]
        self.most_leaves_ = int(self.max_leaf_nodes)
        self.regularization_ = self._regularization(self.n_rows_)
        self.class_risks_ = np.array([one.found["risk"] for one in boosted])
        self.minimax_risk_ = float(self.class_risks_.sum())
        self.risk_path_ = _summed([one.found["path"] for one in boosted])

    def fit_facts(self) -> dict[str, Any]:
        return {
            **super().fit_facts(),
            "class_risks": self.class_risks_.tolist(),
            "risk_path": self.risk_path_.tolist(),
            "regularization": self.regularization_,
            "n_rows": self.n_rows_,
            "is_weighted": self.is_weighted_,
            "most_leaves": self.most_leaves_,
        }

    def restore_found(self, facts: dict[str, Any]) -> None:
        super().restore_found(facts)
        self.class_risks_ = finite_numbers(facts["class_risks"])
        self.risk_path_ = finite_numbers(facts["risk_path"])
        self.minimax_risk_ = float(self.class_risks_.sum())
        if len(self.class_risks_) != self.weighted_rules_.n_scores:
            raise ValueError("there is not one risk a problem")
        self.is_weighted_ = bool(facts["is_weighted"])
        self.n_rows_, self.most_leaves_ = count_of(facts["n_rows"]), count_of(facts["most_leaves"])
        (self.regularization_,) = finite_numbers([facts["regularization"]]).tolist()
        is_possible = self.regularization_ > 0 and self.n_rows_ > 0 and 2 <= self.most_leaves_ <= MOST_LEAVES
        if not is_possible or self.class_risks_.min() < 0 or self.class_risks_.max() > MARGIN_LIMIT:
            raise ValueError("no fit finds such facts")

    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The randomised rule (8). With more classes, each class's own chance by (8) as a share of their sum; rows with
        margins beyond 1/2 shrink to it, so that the order of the classes stays.
        """
        if scores.shape[1] == 1:
            positive = np.clip(0.5 + scores[:, 0], 0.0, 1.0)
            return np.column_stack([1 - positive, positive])
        beyond = np.maximum(2 * np.abs(scores).max(axis=1, keepdims=True), 1.0)
        chances = 0.5 + scores / beyond
        total = chances.sum(axis=1, keepdims=True)
        even = np.full_like(chances, 1 / chances.shape[1])
        return np.asarray(np.divide(chances, total, out=even, where=total > 0))


def _summed(paths: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The sum of the paths, each of which stays where it ended."""
    longest = max(len(path) for path in paths)
    total: Any = sum(np.pad(path, (0, longest - len(path)), mode="edge") if len(path) else 0.5 for path in paths)
    return np.broadcast_to(total, (longest,)).copy()
