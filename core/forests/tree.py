"""One decision tree."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from core.forests.grown_classifier import GrownClassifier
from core.growth.growing import GrowthProblem, grow_tree
from core.growth.growth_parameters import (
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
from core.growth.tree_structure import Tree, Trees
from core.kernels.criteria.catalogue import Criterion
from core.monitoring import Progress
from core.randomness import SeedTree

#: Trees that users have looked at: beside their estimators, never in them, so that copies and artefacts know nothing of
#: them.
_SHOWN: WeakKeyDictionary[Any, Tree] = WeakKeyDictionary()


class TreeClassifier(GrownClassifier):
    """A decision tree whose splits minimise the training risk of `loss`.

    Growth stops where no split lowers the risk by more than `min_risk_decrease`; for conservative losses that is the
    early stopping of Wilton and Ye 2024, Theorem 5. The fitted tree is `tree_`, with scikit-learn's attribute names.
    """

    def __init__(
        self,
        *,
        loss: LossChoice = "gini",
        max_depth: MaxDepth = None,
        max_leaf_nodes: MaxLeafNodes = None,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_risk_decrease: MinRiskDecrease = 0.0,
        max_features: MaxFeatures = None,
        splitter: Splitter = "best",
        max_bins: MaxBins = 256,
        class_weight: ClassWeights = None,
        correction: CorrectionChoice = None,
        random_state: RandomState = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.loss = loss
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_risk_decrease = min_risk_decrease
        self.max_features = max_features
        self.splitter = splitter
        self.max_bins = max_bins
        self.class_weight = class_weight
        self.correction = correction
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def tree_(self) -> Tree:
        """The fitted tree; the same object until another fit, which keeps what users asked of it."""
        self._check_is_fitted("trees_")
        shown = _SHOWN.get(self)
        if shown is None or not shown.shows(self.trees_[0]):
            corrected = None if self.correction_ is None else self.correction_.values
            shown = _SHOWN[self] = Tree(self.trees_[0], self.n_features_in_, corrected)
        return shown

    def get_depth(self) -> int:
        """Edges from the root to the deepest leaf."""
        self._check_is_fitted("trees_")
        return Tree(self.trees_[0], self.n_features_in_).max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        self._check_is_fitted("trees_")
        return Tree(self.trees_[0], self.n_features_in_).n_leaves

    def _n_trees(self) -> int:
        return 1

    def _grow(
        self,
        problem: GrowthProblem,
        weights: NDArray[np.float64],
        criterion: Criterion,
        seeds: SeedTree,
        progress: Progress,
    ) -> Trees:
        return (grow_tree(problem, weights, criterion, seeds.kernel_states(1)[0], progress),)
