"""Classifier that chooses its own model: the most accurate forests of a search, grown in a way that suits the noise."""

import time
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from core.automatic.calibration import LeftOutVotes, calibrate, calibration_of
from core.automatic.candidates import CANDIDATES, FAMILIES, Candidate
from core.automatic.decision import Choice
from core.automatic.members import (
    N_TREES,
    candidate_for_drawn_labels,
    grow_members,
    left_out_votes,
    member_bounds,
)
from core.automatic.planning import plan_members
from core.automatic.report import leaderboard_table
from core.automatic.scores import ScoredCandidate
from core.automatic.search import part_to_search, search_phases
from core.compilation import announce_compilation
from core.fit_summary import FitSummary, growth_summary
from core.forests.fitting import Fit
from core.forests.forest import ExtraTreesClassifier, ForestClassifier
from core.forests.tuning import GROWING
from core.forests.voting_trees import VotingTrees
from core.growth.growing import thread_count
from core.growth.growth_parameters import ClassWeights, Jobs, RandomState
from core.growth.leaf_paths import EnsemblePaths
from core.growth.tree_structure import Trees, rescale_node_weights
from core.kernel_ridge.model import KernelRidge
from core.losses.catalog import SquaredError
from core.monitoring import FitMonitor, NullMonitor
from core.noise.correction import clip_to_simplex
from core.noise.estimation import TransitionEstimate
from core.parameters import Bounds, Help
from core.randomness import SeedTree
from core.sklearn_protocols.failed_fit import undone_if_it_fails
from core.validation.categories import FROM_DTYPE, CategoricalFeatures
from core.validation.training_data import prediction_rows, training_data

TimeBudget = Annotated[
    float | None,
    Bounds(gt=0),
    Help(
        "Seconds after which no further kind of forest is tried, nor a regression fitted; what is missing of the trees "
        "of the result is grown afterwards. Results then depend on the speed of the machine. If unset, time is not "
        "limited."
    ),
]
NumberOfFits = Annotated[
    int | None,
    Bounds(ge=1, le=len(CANDIDATES)),
    Help(
        f"Number of candidates that are compared; if unset, all {len(CANDIDATES)}. A forest is grown for each of the "
        f"first {len(FAMILIES)}; these and all others are pruned from its trees in little time."
    ),
]


class AutoClassifier(EnsemblePaths, VotingTrees):
    """The most accurate forests of a search, chosen on the given labels alone, which may be wrong.

    Forests and extra trees with different numbers of features, pruned to different numbers of rows per leaf, are
    compared by the out-of-bag accuracy that they are expected to have with many trees, and the trees of the four best
    vote together, with a kernel ridge regression if that is more accurate out of bag. If about 30 % of the labels or
    more are estimated to be wrong, or if the noise prefers some classes, the trees of these four are grown on labels
    that are drawn from the estimated probabilities of the true classes. Class probabilities are calibrated out of bag;
    they are those of the true class where noise is assumed. The same `random_state` gives the same classifier for any
    `n_jobs`, unless `time_budget` is set.

    Fitted attributes:

    - `classes_`, `n_features_in_`, and `feature_names_in_` if X has column names;
    - `choice_` (Choice): the leaderboard, the noise rate that it relies on and what was chosen; `explain()` prints it;
    - `noise_estimate_` (TransitionEstimate), among the classes of at least 10 rows; None with class weights, for too
      few rows, for more than 50 classes and for one class; it is not saved in artifacts;
    - `kernel_ridge_` (KernelRidge), the regression that votes beside the trees with the share in `choice_`, or None;
    - `trees_` (Trees), all trees in the order of the members, and `loss_`, the loss that they were grown with.
    """

    most_trees: ClassVar[int | None] = N_TREES
    no_correction_because: ClassVar[str | None] = "it estimates the noise itself and decides by the estimate"

    choice_: Choice
    noise_estimate_: TransitionEstimate | None
    kernel_ridge_: KernelRidge | None

    def __init__(
        self,
        *,
        time_budget: TimeBudget = None,
        n_fits: NumberOfFits = None,
        categorical_features: CategoricalFeatures = FROM_DTYPE,
        class_weight: ClassWeights = None,
        random_state: RandomState = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.time_budget = time_budget
        self.n_fits = n_fits
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    @undone_if_it_fails
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, monitor: FitMonitor | None = None
    ) -> Self:
        """Search the best forests for X (row, feature), NaN = missing, and labels y (row,), and grow their trees.

        `sample_weight` (row,) is not negative. `groups` (row,) are any hashable values: rows of one group are never on
        both sides of an out-of-bag vote. Raises InvalidParameter, InvalidInput, and FitStopped when `monitor` asks.
        """
        announce_compilation()
        self._check_parameters()
        deadline = None if self.time_budget is None else time.monotonic() + self.time_budget
        data = training_data(self, X, y, sample_weight, self.class_weight, groups)
        fit = Fit(data, SeedTree(self.random_state), monitor or NullMonitor(), thread_count(self.n_jobs))
        part = part_to_search(fit)
        plan = plan_members(fit, part, self._candidates(), deadline, self.class_weight is not None)
        chosen, problem = plan.choice.chosen, part.problem_of(fit)
        trees = grow_members(fit, problem, chosen, plan.true_classes, plan.searched_trees, plan.n_trees)
        votes = LeftOutVotes(left_out_votes(fit, part, chosen, trees, plan.ridge), plan.independent_votes)
        calibration = calibration_of(part.fit, votes, plan.reliable_noise)
        rescale_node_weights(trees, data.weight_unit)
        self.trees_, self.loss_ = trees, SquaredError()
        self.choice_ = plan.choice._replace(calibration=calibration)
        self.kernel_ridge_ = plan.ridge and plan.ridge.model
        self.noise_estimate_ = None if isinstance(plan.noise, str) else plan.noise.fitted.estimate
        self.classes_ = data.labels.classes
        return self

    def phases(self) -> dict[str, int]:
        """Return the phases that a monitor of `fit` receives, in order, with the largest number of trees of each.

        The phase "estimating" is missing if no two of the best candidates are pruned from one forest.

        Raises InvalidParameter for parameters that `fit` would refuse before it reads any data.
        """
        self._check_parameters()
        return {**search_phases(self._candidates()), GROWING: N_TREES}

    def _candidates(self) -> tuple[Candidate, ...]:
        return CANDIDATES[: self.n_fits]

    def explain(self) -> str:
        """Return as text what was chosen and why, what the class probabilities mean, and the leaderboard."""
        self._check_is_fitted("trees_")
        choice = self.choice_
        return f"{choice.reason()}\n\n{choice.meaning_of_probabilities()}\n\n{leaderboard_table(choice)}"

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities of each row of X, (row, class), columns in the order of `classes_`.

        They are calibrated to the true class where noise is assumed, and otherwise to the given label: `explain()`.
        """
        return super().predict_proba(X)

    def predict_votes(self, X: Any) -> NDArray[np.float64]:
        """Return the mean votes for each row of X that `predict_proba` is calibrated from, (row, class).

        Beside a regression, they are clipped to the simplex.
        """
        self._check_is_fitted("trees_")
        return self._in_simplex(self._votes(prediction_rows(self, X)))

    def probabilities_of_checked(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return what `predict_proba` does for rows that `prediction_rows` would return as they are."""
        votes, calibration = self._votes(rows), self.choice_.calibration
        # Older files have no calibration.
        return self._in_simplex(votes) if calibration is None else calibrate(votes, calibration.power)

    def _votes(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the mean votes, some of which may be negative."""
        votes, share = super().probabilities_of_checked(rows), self.choice_.kernel_ridge
        if self.kernel_ridge_ is not None and share is not None:
            self.kernel_ridge_.mix_into(votes, rows, share.share, thread_count(self.n_jobs))
        return votes

    def _in_simplex(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return mean votes without negative ones, which only a regression can have."""
        return votes if self.kernel_ridge_ is None else clip_to_simplex(votes)

    @property
    def reason_(self) -> str:
        """One-sentence account of the choice and its reasons."""
        self._check_is_fitted("trees_")
        return self.choice_.reason()

    @property
    def leaderboard_(self) -> tuple[ScoredCandidate, ...]:
        """All candidates with their out-of-bag accuracy on the given labels, best first."""
        self._check_is_fitted("trees_")
        return self.choice_.leaderboard

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Weight of each forest in the mean vote, (member,), in the order of the leaderboard; what their sum lacks to
        1 is that of the kernel ridge regression.
        """
        self._check_is_fitted("trees_")
        sizes = np.array([len(trees) for trees in self._trees_of_members()], dtype=np.float64)
        ridge = self.choice_.kernel_ridge
        return np.asarray(sizes / sizes.sum() * (1.0 - (ridge.share if ridge else 0.0)))

    @property
    def estimators_(self) -> list[ForestClassifier | ExtraTreesClassifier]:
        """Members as fitted forests, which share the trees; their mean with `weights_` is their part of the mean vote.

        Unless labels are drawn, their trees are pruned to leaves of `min_samples_leaf` rows. Another fit of such a
        forest grows trees with that minimum instead, which are finer.
        """
        self._check_is_fitted("trees_")
        members = zip(self.choice_.chosen, self._trees_of_members(), strict=True)
        return [self._as_forest(scored.candidate, trees) for scored, trees in members]

    def _trees_of_members(self) -> list[Trees]:
        bounds = member_bounds(len(self.choice_.chosen), len(self.trees_))
        return [self.trees_[first:stop] for first, stop in pairwise(bounds)]

    def _as_forest(self, candidate: Candidate, trees: Trees) -> ForestClassifier | ExtraTreesClassifier:
        grown = candidate_for_drawn_labels(candidate) if self.choice_.draws_labels else candidate
        forest = grown.unfitted(len(trees))
        forest.n_jobs, forest.categorical_features = self.n_jobs, self.categorical_features
        forest.class_weight = self.class_weight
        self._share_fit_with(forest, trees)
        return forest

    def fit_summary(self, noise_rate: float | None = None) -> FitSummary:
        """Return the fit summary with the choice. There is no certificate, whatever the noise rate."""
        self._check_is_fitted("trees_")
        return FitSummary({**growth_summary(self.loss_, self.trees_), "choice": self.choice_.to_json()}, {}, None)
