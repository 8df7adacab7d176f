"""Classifier that consists of one decision tree."""

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from core.forests.grown_classifier import GrownClassifier
from core.growth.growing import grow_tree, thread_count
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
from core.growth.growth_problem import GrowthProblem
from core.growth.leaf_paths import decision_paths, leaves_of_trees
from core.growth.tree_structure import Tree, Trees
from core.kernels.criteria.catalog import Criterion
from core.monitoring import Progress
from core.randomness import SeedTree
from core.validation.categories import FROM_DTYPE, CategoricalFeatures
from core.validation.training_data import prediction_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

#: Values of `tree_` that users have read. They are kept outside of the estimators, so that copies and artifacts of an
#: estimator do not contain them.
_TREES_READ: WeakKeyDictionary[Any, Tree] = WeakKeyDictionary()


class TreeClassifier(GrownClassifier):
    """Decision tree whose splits minimize the training risk of `loss`.

    A node becomes a leaf if no split lowers the risk by more than `min_risk_decrease`; for conservative losses this is
    the early stopping of Wilton and Ye 2024, Theorem 5. The fitted tree, `tree_`, has scikit-learn's attribute names.
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
        categorical_features: CategoricalFeatures = FROM_DTYPE,
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
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.correction = correction
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def tree_(self) -> Tree:
        """Fitted tree. It is the same object until the next fit, so that its arrays are computed once."""
        self._check_is_fitted("trees_")
        tree = _TREES_READ.get(self)
        if tree is None or not tree.has_nodes(self.trees_[0]):
            correct = None if self.correction_ is None else self.correction_.values
            tree = _TREES_READ[self] = Tree(self.trees_[0], self.n_features_in_, correct, self.n_categories_)
        return tree

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf of each row of X, int64 (row,), as a node number of `tree_`."""
        self._check_is_fitted("trees_")
        return leaves_of_trees(self.trees_, prediction_rows(self, X))[:, 0]

    def decision_path(self, X: Any) -> "csr_matrix":
        """Return the nodes that each row of X passes, from the root to its leaf, as a sparse indicator (row, node)."""
        self._check_is_fitted("trees_")
        return decision_paths(self.trees_, prediction_rows(self, X))[0]

    def get_depth(self) -> int:
        """Return the number of edges from the root to the deepest leaf."""
        self._check_is_fitted("trees_")
        return Tree(self.trees_[0], self.n_features_in_).max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
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
        state, n_threads = seeds.kernel_states(1)[0], thread_count(self.n_jobs)
        return (grow_tree(problem, weights, criterion, state, progress, n_threads),)
