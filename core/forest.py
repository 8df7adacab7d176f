"""A forest: trees on bootstrap samples, grown in threads, voting with their leaves' class distributions."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from core.estimator import (
    LARGEST_COUNT,
    ClassWeights,
    GrownClassifier,
    Jobs,
    LossChoice,
    MaxBins,
    MaxDepth,
    MaxFeatures,
    MinRiskDecrease,
    MinSamplesLeaf,
    RandomState,
    thread_count,
)
from core.growing import GrowthProblem, Progress, bootstrap_weights, grow_in_threads, grow_tree
from core.kernels.criteria import Criterion
from core.kernels.tree_nodes import TreeNodes
from core.parameters import Bounds, Help
from core.randomness import SeedTree
from core.tree import TreeClassifier
from core.tree_structure import TreeArrays, concatenated, nodes_of, single_tree


class ForestClassifier(GrownClassifier):
    """Random forest (Breiman 2001) whose trees minimise the training risk of `loss`.

    Each tree sees a bootstrap sample (`bootstrap`), each node `max_features` features drawn among those that vary in
    it. The same `random_state` gives the same forest for any `n_jobs`.
    """

    def __init__(
        self,
        *,
        n_estimators: Annotated[int, Bounds(ge=1, le=LARGEST_COUNT), Help("Number of trees.")] = 100,
        loss: LossChoice = "gini",
        max_depth: MaxDepth = None,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_risk_decrease: MinRiskDecrease = 0.0,
        max_features: MaxFeatures = "sqrt",
        max_bins: MaxBins = 256,
        bootstrap: Annotated[bool, Help("Grow each tree on rows drawn with replacement.")] = True,
        class_weight: ClassWeights = None,
        random_state: RandomState = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_risk_decrease = min_risk_decrease
        self.max_features = max_features
        self.max_bins = max_bins
        self.bootstrap = bootstrap
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def estimators_(self) -> list[TreeClassifier]:
        """The trees as fitted classifiers, over views of the forest's arrays."""
        check_is_fitted(self)
        return [self._as_classifier(t) for t in range(len(self.trees_.offsets) - 1)]

    def _as_classifier(self, tree: int) -> TreeClassifier:
        shared = TreeClassifier().get_params().keys() & self.get_params(deep=False).keys()
        classifier = TreeClassifier(**{name: getattr(self, name) for name in shared})
        classifier.trees_ = single_tree(nodes_of(self.trees_, tree))
        classifier.classes_, classifier.loss_ = self.classes_, self.loss_
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
    ) -> TreeArrays:
        def grow_one(state: NDArray[np.uint64]) -> TreeNodes:
            sampled = bootstrap_weights(weights, state) if self.bootstrap else weights
            return grow_tree(problem, sampled, criterion, state, progress)

        states = seeds.kernel_states(self._n_trees())
        return concatenated(grow_in_threads(grow_one, states, thread_count(self.n_jobs)))
