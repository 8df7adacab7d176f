"""Grown trees: a tuple of them as a fit keeps it, and one as users see it, under scikit-learn's names.

    trees     ( tree 0 , tree 1 , ... )
    tree 0    TreeNodes: feature | link | threshold | ...

Each tree keeps the arrays that it grew in, from growth over votes to the artefact: a deep forest is the largest thing
in memory, and nobody may need it twice. Whoever works on all of it goes tree by tree.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.growth.tree_nodes import LEAF, NO_FEATURE, TreeNodes, class_distributions
from core.kernels.prediction.traversal import find_leaves

#: What a fit keeps; a single tree is a tuple of one.
Trees = tuple[TreeNodes, ...]
#: From observed class distributions (node, class) to corrected ones, same shape.
Corrected = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class Tree:
    """One tree under scikit-learn's attribute names; a leaf has children -1 and feature -2. Arrays are views of the
    stored ones, or made when first asked for.
    """

    def __init__(self, nodes: TreeNodes, n_features: int, corrected: Corrected | None = None) -> None:
        self.n_features = n_features
        self._nodes = nodes
        self._corrected = corrected
        self.feature = nodes.feature
        self.threshold = nodes.threshold
        self.missing_go_to_left = nodes.missing_go_to_left
        self.impurity = nodes.impurity
        self.weighted_n_node_samples = nodes.weighted_n_node_samples

    def shows(self, nodes: TreeNodes) -> bool:
        """Whether this is the tree of `nodes`."""
        return self._nodes is nodes

    @cached_property
    def children_left(self) -> NDArray[np.int32]:
        """(node,): in preorder the next node."""
        return np.where(self._is_leaf(), LEAF, np.arange(1, self.node_count + 1)).astype(np.int32)

    @cached_property
    def children_right(self) -> NDArray[np.int32]:
        """(node,)."""
        return np.where(self._is_leaf(), LEAF, self._nodes.link).astype(np.int32)

    @cached_property
    def n_node_samples(self) -> NDArray[np.int64]:
        """(node,): how many rows reached the node."""
        return self._nodes.n_node_samples.astype(np.int64)

    @cached_property
    def value(self) -> NDArray[np.float64]:
        """(node, 1, class): the weighted class distribution of the node; with a correction the corrected one, whose
        entries sum to 1 and may be negative.
        """
        observed = class_distributions(self._nodes)
        return (observed if self._corrected is None else self._corrected(observed))[:, np.newaxis, :]

    def _is_leaf(self) -> NDArray[np.bool_]:
        return np.equal(self.feature, NO_FEATURE)

    @property
    def node_count(self) -> int:
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        return int(np.count_nonzero(self._is_leaf()))

    @property
    def n_outputs(self) -> int:
        return 1

    @property
    def n_classes(self) -> NDArray[np.int64]:
        """(1,): the number of classes."""
        return np.array([self._nodes.mixed.shape[1]], dtype=np.int64)

    @property
    def max_depth(self) -> int:
        """Edges from the root to the deepest leaf. Parents come before their children, so one pass is enough."""
        depth = np.zeros(self.node_count, dtype=np.int64)
        for node in np.flatnonzero(~self._is_leaf()):
            depth[[self.children_left[node], self.children_right[node]]] = depth[node] + 1
        return int(depth.max())

    def apply(self, X: NDArray[Any]) -> NDArray[np.int32]:
        """Leaf of each row of X (row, feature), int32 (row,)."""
        leaves = np.empty(len(X), dtype=np.int32)
        find_leaves(np.array(X, order="C"), self._nodes, leaves)
        return leaves

    def compute_feature_importances(self, normalize: bool = True) -> NDArray[np.float64]:
        """Impurity decrease by feature as a share of the tree's total, (feature,); all zero for a lone root."""
        inner = np.flatnonzero(~self._is_leaf())
        mass = self.weighted_n_node_samples * self.impurity
        decrease = mass[inner] - mass[self.children_left[inner]] - mass[self.children_right[inner]]
        importances = np.bincount(self.feature[inner], weights=decrease, minlength=self.n_features)
        scale = importances.sum() if normalize else self.weighted_n_node_samples[0]
        return np.asarray(importances / scale if scale > 0 else importances, dtype=np.float64)


def weigh_in(unit: float, trees: Trees) -> None:
    """Turn the weights of nodes, grown on weights in units of `unit`, into what the caller counts in; in place."""
    for nodes in trees:
        nodes.weighted_n_node_samples[:] *= unit
