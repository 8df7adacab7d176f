"""Robust minimax boosting (Mazuelas and Alvarez 2025)."""

from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.boosting.base_learner import BaseLearner, GrownRule
from core.boosting.boosted_classifier import (
    BinaryProblem,
    BoostingResult,
    NumberOfRounds,
    RuleLeaves,
    parse_count,
    parse_numbers,
)
from core.boosting.certificate import Certificate, FittedClassifier, certify, tree_vc_dimension
from core.boosting.minimax_rounds import RoundLimits, run_rounds
from core.boosting.rule_table import MAX_LEAVES
from core.boosting.staged import UnstagedBooster
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
from core.validation.categories import FROM_DTYPE, CategoricalFeatures

Regularization = Annotated[
    float | None,
    Bounds(gt=0),
    Help("Penalty lambda on rule weights. A larger value gives fewer rules. None means 1 / sqrt(training rows)."),
]
RuleOutput = Annotated[
    Literal["sign", "confidence"],
    Help("Output of a leaf: `sign` is the label with the larger weight; `confidence` is the mean label, in [-1, 1]."),
]
Resampling = Annotated[
    bool, Help("Grow each tree on rows drawn in proportion to their weights, instead of on all rows with weights.")
]
DropRules = Annotated[bool, Help("Drop rules that are no longer useful after the minimax risk has decreased.")]

DualSolution = Annotated[
    Literal["even", "vertex"],
    Help(
        "Optimal row weights that trees are grown on: `even` are regularized duals, which spread weight over rows; "
        "`vertex` is the vertex solution of the linear program, as published."
    ),
]
Tolerance = Annotated[
    float,
    Bounds(ge=0),
    Help(
        "With regularized duals, the fit stops once the minimax risk is this close to a lower bound on the risk that "
        "further rules can reach."
    ),
]

#: Relative tolerance for equal shares of rows.
_SHARE_TOLERANCE = 1e-12


class RMBoostClassifier(UnstagedBooster):
    """Robust minimax boosting (Mazuelas and Alvarez 2025): minimizes the worst-case error over all distributions
    consistent with the training data, and bounds the error on unseen data.

    A distribution is consistent if its expectations of the signed rule outputs agree with the means over the training
    rows, up to lambda.

    Fitted attributes in addition to those of all boosters: `minimax_risk_`, the minimal worst-case error; `risk_path_`
    (round,), its value after each round, which never increases; `regularization_`, the value of lambda; `class_risks_`
    (problem,), the minimax risk of each binary problem. With more than two classes, one binary problem is fitted per
    class (one-vs-rest). `minimax_risk_` is then the sum of their risks, which bounds the probability that any of the
    randomized one-vs-rest classifiers errs and may exceed 1, and `risk_path_` is the sum of their paths.
    """

    minimax_risk_: float
    risk_path_: NDArray[np.float64]
    class_risks_: NDArray[np.float64]
    regularization_: float
    n_rows_: int
    is_weighted_: bool  # whether rows have unequal weights
    most_leaves_: int  # maximum number of leaves of a rule

    def __init__(
        self,
        *,
        n_rounds: NumberOfRounds = 200,
        regularization: Regularization = None,
        rule_output: RuleOutput = "confidence",
        resample: Resampling = False,
        drop_rules: DropRules = True,
        dual_solution: DualSolution = "even",
        tolerance: Tolerance = 0.005,
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
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def certificate(self, delta: float = 0.05, noise_rate: float | None = None) -> Certificate:
        """Return bounds on the error on unseen data. `noise_rate` is the share of wrong training labels.

        Raises InvalidParameter. Raises InvalidInput for more than two classes or for rows of unequal weight, to which
        the bounds do not apply.
        """
        self._check_is_fitted("minimax_risk_")
        if not (isinstance(delta, Real) and 0 < delta < 1):
            raise InvalidParameter(f"delta is {delta!r}; it must be above 0 and below 1.")
        if noise_rate is not None and not (isinstance(noise_rate, Real) and 0 <= noise_rate <= 1):
            raise InvalidParameter(f"noise_rate is {noise_rate!r}; it must be in [0, 1], or None if unknown.")
        if len(self.class_risks_) > 1:
            raise InvalidInput(
                f"this model has {len(self.classes_)} classes; certificates require exactly 2. Use class_risks_."
            )
        if self.is_weighted_:
            raise InvalidInput(
                "this model was fitted with class_weight or sample_weight; certificates require rows of equal weight. "
                "Fit it without weights."
            )
        return certify(self._fitted_classifier(), delta, noise_rate)

    def fit_summary(self, noise_rate: float | None = None) -> FitSummary:
        """Return the summary of the fit. For two classes and rows of equal weight it includes the certificate for a
        share `noise_rate` of wrong training labels.
        """
        fitted = super().fit_summary().fitted
        metrics = {
            "minimax_risk": self.minimax_risk_,
            "class_risks": self.class_risks_.tolist(),
            "risk_path": self.risk_path_.tolist(),
        }
        is_certified = len(self.class_risks_) == 1 and not self.is_weighted_
        certificate = self.certificate(noise_rate=noise_rate).to_json() if is_certified else None
        return FitSummary({**fitted, "regularization": self.regularization_}, metrics, certificate)

    def _fitted_classifier(self) -> FittedClassifier:
        return FittedClassifier(
            self.minimax_risk_,
            float(np.abs(self.rule_weights_).sum()),
            self.regularization_,
            self.n_rows_,
            tree_vc_dimension(self.most_leaves_ - 1, self.n_features_in_),
        )

    def _boost(self, problem: BinaryProblem, learner: BaseLearner) -> BoostingResult:
        limits = RoundLimits(
            int(self.n_rounds),
            int(self.max_leaf_nodes),
            self._regularization(len(problem.signs)),
            bool(self.resample),
            bool(self.drop_rules),
            self.dual_solution == "even",
            float(self.tolerance),
        )
        rounds = run_rounds(problem, learner, limits, self._leaf_outputs)
        details = {
            "risk": rounds.minimax_risk,
            "path": rounds.risk_path,
            "n_rows": len(problem.signs),
            "is_weighted": bool(np.ptp(problem.row_shares) > _SHARE_TOLERANCE * problem.row_shares.max()),
        }
        return BoostingResult(
            rounds.rules, rounds.weights, len(rounds.risk_path), rounds.stop_reason, details, rounds.failure
        )

    def _regularization(self, n_rows: int) -> float:
        return float(1 / np.sqrt(n_rows) if self.regularization is None else self.regularization)

    def _leaf_outputs(self, grown: GrownRule) -> NDArray[np.float64]:
        return grown.labels() if self.rule_output == "sign" else grown.confidences()

    def _set_fitted(self, results: list[BoostingResult]) -> None:
        super()._set_fitted(results)
        self.n_rows_, self.is_weighted_ = results[0].details["n_rows"], results[0].details["is_weighted"]
        self.most_leaves_ = int(self.max_leaf_nodes)
        self.regularization_ = self._regularization(self.n_rows_)
        self.class_risks_ = np.array([result.details["risk"] for result in results])
        self.minimax_risk_ = float(self.class_risks_.sum())
        self.risk_path_ = _summed_paths([result.details["path"] for result in results])

    def fitted_attributes(self) -> dict[str, Any]:
        return {
            **super().fitted_attributes(),
            "class_risks": self.class_risks_.tolist(),
            "risk_path": self.risk_path_.tolist(),
            "regularization": self.regularization_,
            "n_rows": self.n_rows_,
            "is_weighted": self.is_weighted_,
            "most_leaves": self.most_leaves_,
        }

    def restore_fitted_attributes(self, attributes: dict[str, Any]) -> None:
        super().restore_fitted_attributes(attributes)
        self.class_risks_ = parse_numbers(attributes["class_risks"])
        self.risk_path_ = parse_numbers(attributes["risk_path"])
        self.minimax_risk_ = float(self.class_risks_.sum())
        if len(self.class_risks_) != self.weighted_rules_.n_scores:
            raise ValueError("class_risks must have one entry per binary problem")
        self.is_weighted_ = bool(attributes["is_weighted"])
        self.n_rows_, self.most_leaves_ = parse_count(attributes["n_rows"]), parse_count(attributes["most_leaves"])
        (self.regularization_,) = parse_numbers([attributes["regularization"]]).tolist()
        is_possible = self.regularization_ > 0 and self.n_rows_ > 0 and 2 <= self.most_leaves_ <= MAX_LEAVES
        if not is_possible or self.class_risks_.min() < 0 or self.class_risks_.max() > MARGIN_LIMIT:
            raise ValueError("the values are outside the range of a fit")
        if np.abs(self.risk_path_).max(initial=0.0) > len(self.class_risks_):
            raise ValueError("the values are outside the range of a fit")

    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of the randomized classifier (8).

        With more than two classes, the probabilities of the classes by (8) are divided by their sum. Rows with margins
        beyond 1/2 are scaled down to 1/2 first, so that the order of the classes is kept.
        """
        if scores.shape[1] == 1:
            positive = np.clip(0.5 + scores[:, 0], 0.0, 1.0)
            return np.column_stack([1 - positive, positive])
        beyond = np.maximum(2 * np.abs(scores).max(axis=1, keepdims=True), 1.0)
        probabilities = 0.5 + scores / beyond
        total = probabilities.sum(axis=1, keepdims=True)
        even = np.full_like(probabilities, 1 / probabilities.shape[1])
        return np.asarray(np.divide(probabilities, total, out=even, where=total > 0))


def _summed_paths(paths: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the sum of the paths. A path that ends early keeps its last value."""
    longest = max(len(path) for path in paths)
    total: Any = sum(np.pad(path, (0, longest - len(path)), mode="edge") if len(path) else 0.5 for path in paths)
    return np.broadcast_to(total, (longest,)).copy()
