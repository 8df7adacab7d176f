"""A forest: trees on bootstrap samples, grown in threads, voting with their leaves' class distributions."""

import warnings
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidParameter
from core.forests.grown_classifier import GrowingFit, Grown, GrownClassifier
from core.forests.tree import TreeClassifier
from core.growth.growing import GrowthProblem, grow_in_threads, grow_on_bootstrap, grow_tree, thread_count
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
from core.growth.out_of_bag import Bootstrap, accuracy, out_of_bag_votes
from core.growth.tree_structure import Trees
from core.kernels.criteria.catalogue import Criterion
from core.kernels.growth.tree_nodes import TreeNodes
from core.losses.base import Loss
from core.monitoring import Progress
from core.noise.correction import on_simplex, vote_of
from core.parameters import Bounds, Help
from core.randomness import SeedTree

NumberOfTrees = Annotated[int, Bounds(ge=1, le=LARGEST_COUNT), Help("Number of trees.")]
WithBootstrap = Annotated[bool, Help("Grow each tree on rows drawn with replacement.")]
OutOfBagScore = Annotated[
    bool, Help("Score the fit on its own rows, each by the trees that never saw it; needs bootstrap.")
]


class GrownForest(GrownClassifier):
    """Base of the classifiers that grow trees independently of each other: threads, bootstrap, out-of-bag votes.

    A subclass is its constructor: its defaults say how its trees differ from each other. What else its splits need
    goes into `_problem`. With `oob_score`, fitted attributes are

    - `oob_score_`: accuracy of the out-of-bag votes on the labels y as given, noisy or not, weighted by
      `sample_weight` as `score` does; rows without votes are passed over, NaN when none has any;
    - `oob_decision_function_` (row, class), one row per row of X: mean vote of the trees whose sample left the row
      out, NaN where there is no such tree. Rows of weight zero have the votes of all trees.

    An artefact keeps `oob_score_`; the votes belong to the training rows and are not kept.
    """

    n_estimators: int
    bootstrap: bool
    oob_score: bool

    @property
    def estimators_(self) -> list[TreeClassifier]:
        """The trees as fitted classifiers, over the forest's own arrays."""
        self._check_is_fitted("trees_")
        return [self._as_classifier(nodes) for nodes in self.trees_]

    def _as_classifier(self, nodes: TreeNodes) -> TreeClassifier:
        shared = TreeClassifier().get_params().keys() & self.get_params(deep=False).keys()
        classifier = TreeClassifier(**{name: getattr(self, name) for name in shared})
        classifier.trees_ = (nodes,)
        classifier.classes_, classifier.loss_ = self.classes_, self.loss_
        classifier.correction_ = self.correction_
        classifier.n_features_in_ = self.n_features_in_
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

    def _checked_loss(self) -> Loss:
        loss = super()._checked_loss()
        if self.oob_score and not self._bootstraps():
            raise InvalidParameter(
                f"oob_score of {type(self).__name__} is True and bootstrap is False, so that every tree sees every "
                "row; it must be False then: set bootstrap=True, or oob_score=False."
            )
        return loss

    def _found_beside(self, grown: Grown, fit: GrowingFit) -> dict[str, Any]:
        if not self.oob_score:
            return {}
        rows, states = fit.data.input_rows, fit.seeds.kernel_states(self._n_trees())
        weights = np.zeros(len(rows.is_training), dtype=np.float64)
        weights[rows.is_training] = fit.data.weights
        threads, stop_flag = thread_count(self.n_jobs), fit.monitor.stop_flag
        bootstrap = Bootstrap(weights, states)
        vote = vote_of(grown.loss, fit.correction)
        left_out = out_of_bag_votes(rows.X, grown.trees, vote, bootstrap, threads, stop_flag)
        if fit.correction is not None:
            left_out = left_out._replace(mean=on_simplex(left_out.mean))
        if not left_out.n_trees.all():
            _warn_of_rows_without_votes(left_out.n_trees)
        return {
            "oob_score_": accuracy(left_out, rows.codes, rows.sample_weights),
            "oob_decision_function_": left_out.mean,
        }


def _warn_of_rows_without_votes(n_trees: NDArray[np.int64]) -> None:
    n_without = int(np.count_nonzero(n_trees == 0))
    warnings.warn(
        f"{n_without} of {len(n_trees)} rows are in the bootstrap sample of every tree and have no out-of-bag votes; "
        "they are NaN, and oob_score_ passes them over. More trees (n_estimators) leave fewer such rows.",
        UserWarning,
        stacklevel=4,
    )


class ForestClassifier(GrownForest):
    """Random forest (Breiman 2001) whose trees minimise the training risk of `loss`.

    Each tree sees a bootstrap sample (`bootstrap`), each node `max_features` features drawn at random, constant ones
    included as in scikit-learn. The same `random_state` gives the same forest for any `n_jobs`.
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
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.correction = correction
        self.random_state = random_state
        self.n_jobs = n_jobs


class ExtraTreesClassifier(GrownForest):
    """Extremely randomised trees (Geurts, Ernst and Wehenkel 2006) that minimise the training risk of `loss`.

    Each node draws `max_features` features and one threshold for each of them; the best of these cuts is made. Trees
    see all rows unless `bootstrap` is set.
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
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.correction = correction
        self.random_state = random_state
        self.n_jobs = n_jobs
