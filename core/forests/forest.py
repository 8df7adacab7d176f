"""Forests: trees that are grown independently of each other, in threads, and vote with their leaves."""

import warnings
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from core.call_site import stack_level_of_user
from core.exceptions import InvalidParameter
from core.forests.fitting import Fit, GrownTrees
from core.forests.grown_classifier import GrownClassifier
from core.forests.tree import TreeClassifier
from core.groups import check_separable
from core.growth.growing import grow_in_threads, grow_on_bootstrap, grow_tree, thread_count
from core.growth.growth_parameters import (
    LARGEST_COUNT,
    ClassWeights,
    CorrectionChoice,
    Jobs,
    LossChoice,
    MaxBins,
    MaxDepth,
    MaxFeatures,
    MaxLeafNodes,
    MinRiskDecrease,
    MinSamplesLeaf,
    RandomState,
    Splitter,
)
from core.growth.growth_problem import GrowthProblem
from core.growth.leaf_paths import EnsemblePaths
from core.growth.out_of_bag import Bootstrap, OutOfBagVotes, accuracy, out_of_bag_votes
from core.growth.tree_structure import Trees
from core.kernels.criteria.catalog import Criterion
from core.kernels.growth.tree_nodes import TreeNodes
from core.monitoring import Progress
from core.noise.correction import clip_to_simplex, leaf_vote
from core.parameters import Bounds, Help
from core.randomness import SeedTree
from core.validation.categories import FROM_DTYPE, CategoricalFeatures
from core.validation.training_data import TrainingData

NumberOfTrees = Annotated[int, Bounds(ge=1, le=LARGEST_COUNT), Help("Number of trees.")]
WithBootstrap = Annotated[bool, Help("Whether each tree is grown on a bootstrap sample: rows drawn with replacement.")]
OutOfBagScore = Annotated[
    bool,
    Help(
        "Whether to compute the out-of-bag score: the accuracy on the training rows, each predicted by the trees whose "
        "bootstrap sample does not contain it. Requires bootstrap."
    ),
]


class GrownForest(EnsemblePaths, GrownClassifier):
    """Base of the classifiers that grow trees independently of each other, with bootstrap samples and threads.

    A subclass consists of its constructor, whose defaults determine how its trees differ from each other. With
    `oob_score`, two more attributes are fitted:

    - `oob_score_`: accuracy of the out-of-bag votes on the labels y, noisy or not, weighted by `sample_weight` like
      `score`. Rows without votes are ignored; the score is NaN if no row has votes.
    - `oob_decision_function_` (row, class), for all rows of X: mean vote of the trees whose bootstrap sample does not
      contain the row, NaN if there is no such tree. Rows of weight zero have the votes of all trees.

    An artifact contains `oob_score_`, but not the votes, which belong to the training rows.
    """

    n_estimators: int
    bootstrap: bool
    oob_score: bool

    oob_decision_function_: NDArray[np.float64]

    @property
    def estimators_(self) -> list[TreeClassifier]:
        """Trees as fitted classifiers, which share the arrays of the forest."""
        self._check_is_fitted("trees_")
        return [self._as_classifier(nodes) for nodes in self.trees_]

    def _as_classifier(self, nodes: TreeNodes) -> TreeClassifier:
        shared = TreeClassifier().get_params(deep=False).keys() & self.get_params(deep=False).keys()
        classifier = TreeClassifier(**{name: getattr(self, name) for name in shared})
        self._share_fit_with(classifier, (nodes,))
        return classifier

    def _n_trees(self) -> int:
        return int(self.n_estimators)

    def _grow(
        self,
        problem: GrowthProblem,
        weights: NDArray[np.float64],
        criterion: Criterion,
        seeds: SeedTree,
        progress: Progress,
    ) -> Trees:
        grow = grow_on_bootstrap if self._bootstraps() else grow_tree

        def grow_one(state: NDArray[np.uint64]) -> TreeNodes:
            return grow(problem, weights, criterion, state, progress)

        states = seeds.kernel_states(self._n_trees())
        return grow_in_threads(grow_one, states, thread_count(self.n_jobs))

    def _bootstraps(self) -> bool:
        return bool(self.bootstrap)

    def _check_combinations(self) -> None:
        if self.oob_score and not self._bootstraps():
            raise InvalidParameter(
                f"oob_score of {type(self).__name__} is True and bootstrap is False, so that no tree leaves a row out; "
                "set bootstrap=True or oob_score=False."
            )

    def _check_data(self, data: TrainingData) -> None:
        if self.oob_score:
            check_separable(data.groups, "oob_score")

    def _attributes_from_training_rows(self, result: GrownTrees, fit: Fit) -> dict[str, Any]:
        if not self.oob_score:
            return {}
        votes = self._out_of_bag_votes(result, fit)
        if not votes.n_trees.all():
            _warn_of_rows_without_votes(votes.n_trees)
        rows = fit.data.input_rows
        return {
            "oob_score_": accuracy(votes, rows.codes, rows.sample_weights),
            "oob_decision_function_": votes.mean,
        }

    def _out_of_bag_votes(self, result: GrownTrees, fit: Fit) -> OutOfBagVotes:
        """Return the votes on all rows that the caller passed, including those of weight zero."""
        rows = fit.data.input_rows
        weights = np.zeros(len(rows.is_training), dtype=np.float64)
        weights[rows.is_training] = fit.data.weights
        bootstrap = Bootstrap(weights, fit.seeds.kernel_states(self._n_trees()), rows.groups)
        vote = leaf_vote(result.loss, fit.correction)
        votes = out_of_bag_votes(rows.X, result.trees, vote, bootstrap, fit.n_threads, fit.monitor.stop_flag)
        return votes if fit.correction is None else votes._replace(mean=clip_to_simplex(votes.mean))


def _warn_of_rows_without_votes(n_trees: NDArray[np.int64]) -> None:
    n_without = int(np.count_nonzero(n_trees == 0))
    warnings.warn(
        f"{n_without} of {len(n_trees)} rows are in the bootstrap sample of every tree and have no out-of-bag votes; "
        "their votes are NaN, and oob_score_ ignores them. With more trees (n_estimators) there are fewer such rows.",
        UserWarning,
        stacklevel=stack_level_of_user(),
    )


class ForestClassifier(GrownForest):
    """Random forest (Breiman 2001) whose trees minimize the training risk of `loss`.

    Each tree is grown on a bootstrap sample (`bootstrap`) of the rows, or of the `groups` passed to `fit`. Each node
    considers `max_features` features drawn at random, which may be constant in the node. The same `random_state` gives
    the same forest for any `n_jobs`.
    """

    def __init__(
        self,
        *,
        n_estimators: NumberOfTrees = 100,
        loss: LossChoice = "gini",
        max_depth: MaxDepth = None,
        max_leaf_nodes: MaxLeafNodes = None,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_risk_decrease: MinRiskDecrease = 0.0,
        max_features: MaxFeatures = "sqrt",
        splitter: Splitter = "best",
        max_bins: MaxBins = 256,
        categorical_features: CategoricalFeatures = FROM_DTYPE,
        bootstrap: WithBootstrap = True,
        oob_score: OutOfBagScore = False,
        class_weight: ClassWeights = None,
        correction: CorrectionChoice = None,
        random_state: RandomState = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_risk_decrease = min_risk_decrease
        self.max_features = max_features
        self.splitter = splitter
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.correction = correction
        self.random_state = random_state
        self.n_jobs = n_jobs


class ExtraTreesClassifier(GrownForest):
    """Extremely randomized trees (Geurts, Ernst and Wehenkel 2006) that minimize the training risk of `loss`.

    Each node draws `max_features` features and one threshold for each of them, and makes the best of these splits.
    Trees are grown on all rows unless `bootstrap` is set.
    """

    def __init__(
        self,
        *,
        n_estimators: NumberOfTrees = 100,
        loss: LossChoice = "gini",
        max_depth: MaxDepth = None,
        max_leaf_nodes: MaxLeafNodes = None,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_risk_decrease: MinRiskDecrease = 0.0,
        max_features: MaxFeatures = "sqrt",
        splitter: Splitter = "random",
        max_bins: MaxBins = 256,
        categorical_features: CategoricalFeatures = FROM_DTYPE,
        bootstrap: WithBootstrap = False,
        oob_score: OutOfBagScore = False,
        class_weight: ClassWeights = None,
        correction: CorrectionChoice = None,
        random_state: RandomState = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_risk_decrease = min_risk_decrease
        self.max_features = max_features
        self.splitter = splitter
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.correction = correction
        self.random_state = random_state
        self.n_jobs = n_jobs
