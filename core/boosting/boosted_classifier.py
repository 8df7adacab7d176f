"""What all boosters share: parameters, the fit from raw rows to weighted rules, and prediction.

Two classes are one problem, in which the second class is positive. More classes are one problem each, the class
against the rest, on the same bins.
"""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import count
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from core.boosting.base_learner import BaseLearner
from core.boosting.rule_table import MOST_LEAVES
from core.boosting.rules import Rule, WeightedRules, importances_of, outputs_of, packed_rules
from core.class_votes import winning_classes
from core.classifier_contract import ClassifierContract
from core.exceptions import InvalidInput, InvalidLoss, SolverFailed
from core.fit_summary import FitSummary, growth_summary
from core.growth.growing import thread_count
from core.growth.growth_parameters import LARGEST_COUNT
from core.growth.growth_problem import GrowthProblem, GrowthSettings, growth_problem
from core.growth.tree_structure import Trees
from core.growth.voting import cached_layout, packed_votes
from core.losses.base import Loss
from core.losses.parsing import parse_loss
from core.monitoring import FitMonitor, NullMonitor, Progress
from core.parameters import Bounds, Help, parameters_of
from core.randomness import Purpose, Seed, SeedTree
from core.validation.training_data import TrainingData, prediction_rows, training_data

NumberOfRounds = Annotated[int, Bounds(ge=1, le=LARGEST_COUNT), Help("Most rounds; each adds one small tree.")]
LeavesOfRule = Annotated[int, Bounds(ge=2, le=MOST_LEAVES), Help("Most leaves of the tree of a round.")]


class BinaryProblem(NamedTuple):
    """One class against the rest. All arrays (row,)."""

    signs: NDArray[np.float64]  # 1 for the class, -1 for the rest
    shares: NDArray[np.float64]  # of the total weight; positive
    generator: np.random.Generator

    @property
    def signed_shares(self) -> NDArray[np.float64]:
        return self.signs * self.shares


class Boosted(NamedTuple):
    """What the rounds of one problem came to."""

    rules: Sequence[Rule]
    weights: NDArray[np.float64]  # (rule,)
    n_rounds: int
    stop_reason: str
    found: dict[str, Any]  # what only some boosters find
    failure: SolverFailed | None = None  # why the rounds ended early; the rest is of the last optimum before


class BoostedClassifier(ClassifierContract):
    """Base of the boosters.

    Fitted attributes: `classes_`, `n_features_in_`, `feature_names_in_` (when X had names), `loss_` (what the splits of
    the trees minimise), `weighted_rules_` (WeightedRules), `n_rounds_` and `stop_reason_`; with more than two classes
    those of the class that took most rounds, or failed.
    """

    min_classes: ClassVar[int] = 2
    #: How often a tree holds a row at most.
    _n_copies = 1

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    loss_: Loss
    weighted_rules_: WeightedRules
    n_rounds_: int
    stop_reason_: str
    schema_: dict[str, Any] | None

    n_rounds: int
    loss: Any
    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: int
    max_features: int | float | str | None
    max_bins: int | None
    class_weight: Any
    random_state: Seed
    n_jobs: int | None

    @abstractmethod
    def _boost(self, problem: BinaryProblem, learner: BaseLearner) -> Boosted:
        """All rounds of one problem."""

    @abstractmethod
    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(row, class) from scores (row, 1) of the second class, or (row, class); no row changes its order."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, monitor: FitMonitor | None = None) -> Self:
        """Boost on X (row, feature), NaN = missing, and labels y (row,) of two classes or more; `sample_weight` (row,)
        is not negative.

        Raises InvalidParameter, InvalidInput, and FitStopped when `monitor` asks for it. Raises SolverFailed when a
        linear program was not solved; the classifier then has the rules and weights of the last one that was.
        """
        loss = self._checked_loss()
        data = training_data(self, X, y, sample_weight, self.class_weight)
        n_classes = len(data.labels.classes)
        if len(np.unique(data.labels.codes)) < self.min_classes:
            raise InvalidInput("y holds one class among the rows that have weight; boosting needs two classes or more.")
        positives = [1] if n_classes == 2 else list(range(n_classes))
        progress = Progress(monitor or NullMonitor(), "boosting", len(positives) * int(self.n_rounds))
        boosted = self._boosted(loss, data, positives, progress)
        self._keep(boosted)
        self.loss_ = loss
        self.classes_ = data.labels.classes
        for failure in (one.failure for one in boosted if one.failure):
            raise failure
        return self

    def phases(self) -> dict[str, int]:
        """What a monitor of `fit` will hear of: the phases in their order, and how many trees each grows at most for
        two classes.

        Raises InvalidParameter for what `fit` would refuse before it has seen data.
        """
        self._checked_loss()
        return {"boosting": int(self.n_rounds)}

    def _checked_loss(self) -> Loss:
        for parameter in parameters_of(type(self)):
            parameter.check(getattr(self, parameter.argument), type(self).__name__)
        loss = parse_loss(self.loss)
        if loss.tuning is not None:
            raise InvalidLoss(
                f"loss {loss.kind!r} chooses its lambda by fitting again and again; name the lambda of "
                f'{{"kind": "ne"}} for the trees of a {type(self).__name__}.'
            )
        return loss

    def _boosted(self, loss: Loss, data: TrainingData, positives: list[int], progress: Progress) -> list[Boosted]:
        problem, seeds = self._growth_problem(data), SeedTree(self.random_state)
        learner = BaseLearner(
            data.X, problem, loss.criterion(2, data.weight_unit), map(seeds.kernel_state, count()), progress
        )
        shares, generator = data.weights / data.weights.sum(), seeds.generator(Purpose.RESAMPLING)
        signs = (np.where(data.labels.codes == positive, 1.0, -1.0) for positive in positives)
        return [self._one(BinaryProblem(of_class, shares, generator), learner) for of_class in signs]

    def _one(self, problem: BinaryProblem, learner: BaseLearner) -> Boosted:
        """The rounds of one problem. Where they end before the first rule, one without weight stands for none."""
        boosted = self._boost(problem, learner)
        return boosted if boosted.rules else boosted._replace(rules=[learner.silent_rule()], weights=np.zeros(1))

    def _growth_problem(self, data: TrainingData) -> GrowthProblem:
        settings = GrowthSettings(
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self._n_copies * int(self.min_samples_leaf),
            max_features=self.max_features,
            max_bins=self.max_bins,
        )
        return growth_problem(data, settings, thread_count(self.n_jobs), n_classes=2, n_copies=self._n_copies)

    def fit_summary(self, noise_rate: float | None = None) -> FitSummary:
        """What the fit found out; `noise_rate` is the share of wrong training labels, None where it is not known.

        Of the boosters only minimax boosting has metrics of its own, and guarantees something.
        """
        self._check_is_fitted("weighted_rules_")
        facts = growth_summary(self.loss_, self.trees_)
        return FitSummary({**facts, "n_rounds": self.n_rounds_, "stop_reason": self.stop_reason_}, {}, None)

    def fit_facts(self) -> dict[str, Any]:
        """What the fit found beside its rules, as JSON; `restore_found` takes it back."""
        return {"n_rounds": self.n_rounds_, "stop_reason": self.stop_reason_}

    def restore_found(self, facts: dict[str, Any]) -> None:
        """Set what `fit_facts` gave. Raises KeyError, TypeError and ValueError for what it would not give."""
        if not isinstance(facts["stop_reason"], str):
            raise TypeError("stop_reason is no text")
        self.n_rounds_, self.stop_reason_ = count_of(facts["n_rounds"]), facts["stop_reason"]

    def _keep(self, boosted: list[Boosted]) -> None:
        columns = np.repeat(np.arange(len(boosted)), [len(one.rules) for one in boosted])
        self.weighted_rules_ = WeightedRules(
            tuple(rule for one in boosted for rule in one.rules),
            np.concatenate([one.weights for one in boosted]),
            columns.astype(np.int64),
            len(boosted),
        )
        longest = max(boosted, key=lambda one: one.n_rounds)
        failed = [one.stop_reason for one in boosted if one.failure]
        self.n_rounds_, self.stop_reason_ = longest.n_rounds, failed[0] if failed else longest.stop_reason

    @property
    def rules_(self) -> tuple[Rule, ...]:
        """The rules, those of the first class first."""
        self._check_is_fitted("weighted_rules_")
        return self.weighted_rules_.rules

    @property
    def rule_weights_(self) -> NDArray[np.float64]:
        """(rule,): what each rule counts for in the score of its class."""
        self._check_is_fitted("weighted_rules_")
        return self.weighted_rules_.weights

    @property
    def trees_(self) -> Trees:
        """The trees of the rules."""
        return tuple(rule.nodes for rule in self.rules_)

    def rule_outputs(self, X: Any) -> NDArray[np.float64]:
        """What each rule says about each row of X (row, feature), (row, rule)."""
        return outputs_of(self.rules_, prediction_rows(self, X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of the rows: (row,) for the second of two classes, (row, class) for more; `rule_outputs` times
        `rule_weights_`, summed over the rules of the class.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """(row, class), columns in the order of `classes_`."""
        return self._probabilities(self._scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest score; of two, the second one where its score is above zero."""
        scores = self._scores(X)
        best = (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else winning_classes(scores)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each feature's share of the impurity decrease, (feature,), summing to 1 where any rule of weight split."""
        self._check_is_fitted("weighted_rules_")
        return importances_of(self.weighted_rules_, self.n_features_in_)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        self._check_is_fitted("weighted_rules_")
        rows = prediction_rows(self, X)
        weighted = self.weighted_rules_
        packed = cached_layout(self, weighted, rows.dtype, lambda: packed_rules(weighted, rows.dtype))
        return packed_votes(rows, packed, thread_count(self.n_jobs)) * len(weighted.rules)


def count_of(value: Any) -> int:
    """A count from JSON. Raises ValueError for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def finite_numbers(values: Any) -> NDArray[np.float64]:
    """A list of JSON as an array (value,). Raises TypeError and ValueError unless all are finite numbers."""
    if not (isinstance(values, list) and all(type(value) in (int, float) for value in values)):
        raise TypeError("not a list of numbers")
    numbers = np.array(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("a number is not finite")
    return numbers
