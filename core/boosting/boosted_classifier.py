"""Base of all boosters: parameters, the fit from raw rows to weighted rules, and prediction.

Two classes are one binary problem, in which the second class is positive. More classes are fitted one-vs-rest, with one
binary problem per class on the same bins.
"""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import count
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from core.boosting.base_learner import BaseLearner
from core.boosting.rule_table import MAX_LEAVES
from core.boosting.rules import Rule, WeightedRules, compute_outputs, feature_importances, pack_rules
from core.class_votes import decision_values, highest_scores
from core.compilation import announce_compilation
from core.exceptions import InvalidInput, InvalidLoss, SolverFailed
from core.fit_summary import FitSummary, growth_summary
from core.growth.growing import thread_count
from core.growth.growth_parameters import LARGEST_COUNT
from core.growth.growth_problem import GrowthProblem, GrowthSettings, growth_problem
from core.growth.leaf_paths import EnsemblePaths
from core.growth.tree_structure import Trees
from core.growth.voting import cached_layout, packed_votes
from core.losses.base import Loss
from core.losses.parsing import parse_loss
from core.monitoring import FitMonitor, NullMonitor, Progress
from core.parameters import Bounds, Help
from core.randomness import Purpose, Seed, SeedTree
from core.sklearn_protocols.classifier_contract import ClassifierContract
from core.sklearn_protocols.failed_fit import undone_if_it_fails
from core.validation.categories import CategoryValues
from core.validation.training_data import TrainingData, prediction_rows, training_data

NumberOfRounds = Annotated[
    int, Bounds(ge=1, le=LARGEST_COUNT), Help("Maximum number of rounds. Each round adds one small tree.")
]
RuleLeaves = Annotated[int, Bounds(ge=2, le=MAX_LEAVES), Help("Maximum number of leaves of the tree of a round.")]


class BinaryProblem(NamedTuple):
    """Binary problem of one class against the rest. All arrays are (row,)."""

    signs: NDArray[np.float64]  # 1 for the class, -1 for the rest
    row_shares: NDArray[np.float64]  # shares of the total weight; positive
    generator: np.random.Generator

    @property
    def signed_shares(self) -> NDArray[np.float64]:
        return self.signs * self.row_shares


class BoostingResult(NamedTuple):
    """Result of the rounds of one binary problem."""

    rules: Sequence[Rule]
    weights: NDArray[np.float64]  # (rule,)
    n_rounds: int
    stop_reason: str
    details: dict[str, Any]  # additional results of the booster
    #: Reason for an early end of the rounds. The other fields are then those of the last optimum before it.
    failure: SolverFailed | None = None


class BoostedClassifier(EnsemblePaths, ClassifierContract):
    """Base of the boosters.

    Fitted attributes: `classes_`, `n_features_in_`, `feature_names_in_` (if X had names), `loss_` (which the splits of
    the trees minimize), `weighted_rules_` (WeightedRules), `n_rounds_` and `stop_reason_`. With more than two classes,
    `n_rounds_` is that of the class with the most rounds, and `stop_reason_` is that of a class that failed, if any,
    or else of the same class.
    """

    min_classes: ClassVar[int] = 2
    no_correction_because: ClassVar[str | None] = "its rules have no class distributions that could be corrected"
    #: How often a row can occur among the rows of a tree.
    _row_copies = 1

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    loss_: Loss
    weighted_rules_: WeightedRules
    n_rounds_: int
    stop_reason_: str
    schema_: dict[str, Any] | None
    is_categorical_: NDArray[np.bool_] | None = None
    category_values_: CategoryValues = ()
    n_categories_: NDArray[np.int64] | None = None

    n_rounds: int
    loss: Any
    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: int
    max_features: int | float | str | None
    max_bins: int | None
    categorical_features: Any
    class_weight: Any
    random_state: Seed
    n_jobs: int | None

    @abstractmethod
    def _boost(self, problem: BinaryProblem, learner: BaseLearner) -> BoostingResult:
        """Run all rounds of one binary problem."""

    @abstractmethod
    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities (row, class) from scores (row, 1) of the second class, or (row, class).

        The classes of a row are in the same order by probability as by score.
        """

    @undone_if_it_fails
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, monitor: FitMonitor | None = None
    ) -> Self:
        """Fit to X (row, feature), where NaN is a missing value, and labels y (row,) of at least two classes.

        `sample_weight` (row,) must not be negative. `groups` (row,) are checked and have no other effect, because
        boosting holds no rows out. Raises InvalidParameter, InvalidInput, FitStopped when `monitor` asks for it, and
        SolverFailed if a linear program could not be solved; the rules and weights are then those of the last program.
        """
        announce_compilation()
        loss = self._checked_loss()
        data = training_data(self, X, y, sample_weight, self.class_weight, groups)
        n_classes = len(data.labels.classes)
        if len(np.unique(data.labels.codes)) < self.min_classes:
            raise InvalidInput(
                "y has one class among the rows with positive weight; boosting requires at least two classes. Add rows "
                "of another class."
            )
        positives = [1] if n_classes == 2 else list(range(n_classes))
        progress = Progress(monitor or NullMonitor(), "boosting", len(positives) * int(self.n_rounds))
        results = self._boost_classes(loss, data, positives, progress)
        self._set_fitted(results)
        self.loss_ = loss
        self.classes_ = data.labels.classes
        for failure in (result.failure for result in results if result.failure):
            raise failure
        return self

    def phases(self) -> dict[str, int]:
        """Return the phases that a monitor of `fit` sees, in order, and the maximum number of trees that each grows for
        two classes.

        Raises InvalidParameter if `fit` would refuse the parameters before it sees data.
        """
        self._checked_loss()
        return {"boosting": int(self.n_rounds)}

    def _checked_loss(self) -> Loss:
        self._check_parameters()
        loss = parse_loss(self.loss)
        if loss.tuning is not None:
            raise InvalidLoss(
                f"loss is {loss.kind!r}; {type(self).__name__} requires a loss with fixed parameters. Use "
                '{"kind": "ne", "lambda": 0.5} instead.'
            )
        return loss

    def _boost_classes(
        self, loss: Loss, data: TrainingData, positives: list[int], progress: Progress
    ) -> list[BoostingResult]:
        problem, seeds = self._growth_problem(data, progress.stop_flag), SeedTree(self.random_state)
        states = map(seeds.kernel_state, count())
        loss.prepare(progress.stop_flag)
        learner = BaseLearner(data.X, problem, loss.criterion(2, data.weight_unit), states, progress)
        row_shares, generator = data.weights / data.weights.sum(), seeds.generator(Purpose.RESAMPLING)
        signs = (np.where(data.labels.codes == positive, 1.0, -1.0) for positive in positives)
        return [self._boost_class(BinaryProblem(class_signs, row_shares, generator), learner) for class_signs in signs]

    def _boost_class(self, problem: BinaryProblem, learner: BaseLearner) -> BoostingResult:
        """Return the result of one problem. If there are no rules, it has one rule of weight zero."""
        result = self._boost(problem, learner)
        return result if result.rules else result._replace(rules=[learner.zero_rule()], weights=np.zeros(1))

    def _growth_problem(self, data: TrainingData, stop_flag: NDArray[np.uint8]) -> GrowthProblem:
        n_threads, n_copies = thread_count(self.n_jobs), self._row_copies
        settings = GrowthSettings(
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=n_copies * int(self.min_samples_leaf),
            max_features=self.max_features,
            max_bins=self.max_bins,
        )
        return growth_problem(data, settings, n_threads, stop_flag, 2, n_copies)

    def fit_summary(self, noise_rate: float | None = None) -> FitSummary:
        """Return the summary of the fit. `noise_rate` is the share of wrong training labels, or None if unknown.

        Only minimax boosting has metrics and a certificate.
        """
        self._check_is_fitted("weighted_rules_")
        summary = growth_summary(self.loss_, self.trees_)
        return FitSummary({**summary, "n_rounds": self.n_rounds_, "stop_reason": self.stop_reason_}, {}, None)

    def fitted_attributes(self) -> dict[str, Any]:
        """Return the fitted attributes other than the rules, as JSON, for `restore_fitted_attributes`."""
        return {"n_rounds": self.n_rounds_, "stop_reason": self.stop_reason_}

    def restore_fitted_attributes(self, attributes: dict[str, Any]) -> None:
        """Set the fitted attributes from the result of `fitted_attributes`.

        Raises KeyError, TypeError and ValueError for values that `fitted_attributes` cannot return.
        """
        if not isinstance(attributes["stop_reason"], str):
            raise TypeError("stop_reason is not a string")
        self.n_rounds_, self.stop_reason_ = parse_count(attributes["n_rounds"]), attributes["stop_reason"]

    def _set_fitted(self, results: list[BoostingResult]) -> None:
        columns = np.repeat(np.arange(len(results)), [len(result.rules) for result in results])
        self.weighted_rules_ = WeightedRules(
            tuple(rule for result in results for rule in result.rules),
            np.concatenate([result.weights for result in results]),
            columns.astype(np.int64),
            len(results),
        )
        longest = max(results, key=lambda result: result.n_rounds)
        failed = [result.stop_reason for result in results if result.failure]
        self.n_rounds_, self.stop_reason_ = longest.n_rounds, failed[0] if failed else longest.stop_reason

    @property
    def rules_(self) -> tuple[Rule, ...]:
        """Rules, ordered by class."""
        self._check_is_fitted("weighted_rules_")
        return self.weighted_rules_.rules

    @property
    def rule_weights_(self) -> NDArray[np.float64]:
        """Weight of each rule in the score of its class, (rule,)."""
        self._check_is_fitted("weighted_rules_")
        return self.weighted_rules_.weights

    @property
    def trees_(self) -> Trees:
        """Trees of the rules."""
        return tuple(rule.nodes for rule in self.rules_)

    def rule_outputs(self, X: Any) -> NDArray[np.float64]:
        """Return the output of each rule for each row of X (row, feature), (row, rule)."""
        return compute_outputs(self.rules_, prediction_rows(self, X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of the rows: (row,) for the second of two classes, (row, class) for more classes.

        A score is the sum over the rules of the class of `rule_outputs` times `rule_weights_`.
        """
        return decision_values(self._scores(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities (row, class), with columns in the order of `classes_`."""
        return self._probabilities(self._scores(X))

    def probabilities_of_checked(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return what `predict_proba` does for rows that `prediction_rows` would return as they are."""
        return self._probabilities(self._scores(rows, are_checked=True))

    def _winners(self, X: Any) -> NDArray[np.int64]:
        return highest_scores(self._scores(X))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the impurity decrease, (feature,). The sum is 1 if any rule with weight has a split,
        and 0 otherwise.
        """
        self._check_is_fitted("weighted_rules_")
        return feature_importances(self.weighted_rules_, self.n_features_in_)

    def _scores(self, X: Any, are_checked: bool = False) -> NDArray[np.float64]:
        self._check_is_fitted("weighted_rules_")
        rows = X if are_checked else prediction_rows(self, X)
        weighted = self.weighted_rules_
        packed = cached_layout(self, weighted, rows.dtype, lambda: pack_rules(weighted, rows.dtype))
        return packed_votes(rows, packed, thread_count(self.n_jobs)) * len(weighted.rules)


def parse_count(value: Any) -> int:
    """Return a count from JSON. Raises ValueError for any other value."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def parse_numbers(values: Any) -> NDArray[np.float64]:
    """Return a JSON list of numbers as an array (value,). Raises TypeError and ValueError unless all are finite."""
    if not (isinstance(values, list) and all(type(value) in (int, float) for value in values)):
        raise TypeError("not a list of numbers")
    numbers = np.array(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("a number is not finite")
    return numbers
