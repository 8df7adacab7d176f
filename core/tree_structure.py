"""Grown trees as users see them: scikit-learn's names over flat arrays."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.traversal import find_leaves
from core.kernels.tree_nodes import LEAF, TreeNodes


class TreeArrays(NamedTuple):
    """One or many trees in one set of arrays: tree t owns nodes offsets[t]:offsets[t + 1]."""

    nodes: TreeNodes
    offsets: NDArray[np.int64]  # (tree + 1,)


class Tree:
    """One tree under scikit-learn's attribute names; arrays are views, a leaf has children -1 and feature -2."""

    def __init__(self, nodes: TreeNodes, n_features: int) -> None:
        self.n_features = n_features
        self._nodes = nodes
        self.children_left = nodes.children_left
        self.children_right = nodes.children_right
        self.feature = nodes.feature
        self.threshold = nodes.threshold
        self.missing_go_to_left = nodes.missing_go_to_left
        self.impurity = nodes.impurity
        self.n_node_samples = nodes.n_node_samples
        self.weighted_n_node_samples = nodes.weighted_n_node_samples
        #: (node, 1, class): the weighted class distribution of the node
        self.value = nodes.value[:, np.newaxis, :]

    @property
    def node_count(self) -> int:
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        return int(np.count_nonzero(self.children_left == LEAF))

    @property
    def n_outputs(self) -> int:
        return 1

    @property
    def n_classes(self) -> NDArray[np.int64]:
        """(1,): the number of classes."""
        return np.array([self.value.shape[2]], dtype=np.int64)

    @property
    def max_depth(self) -> int:
        """Edges from the root to the deepest leaf. Parents come before their children, so one pass is enough."""
        depth = np.zeros(self.node_count, dtype=np.int64)
        for node in np.flatnonzero(self.children_left != LEAF):
            depth[[self.children_left[node], self.children_right[node]]] = depth[node] + 1
        return int(depth.max())

    def apply(self, X: NDArray[Any]) -> NDArray[np.int32]:
        """Leaf of each row of X (row, feature), int32 (row,)."""
        leaves: NDArray[np.int32] = leaves_of(np.array(X, order="C"), single_tree(self._nodes))[:, 0]
        return leaves

    def compute_feature_importances(self, normalize: bool = True) -> NDArray[np.float64]:
        """Impurity decrease by feature as a share of the tree's total, (feature,); all zero for a lone root."""
        inner = np.flatnonzero(self.children_left != LEAF)
        mass = self.weighted_n_node_samples * self.impurity
        decrease = mass[inner] - mass[self.children_left[inner]] - mass[self.children_right[inner]]
        importances = np.bincount(self.feature[inner], weights=decrease, minlength=self.n_features)
        scale = importances.sum() if normalize else self.weighted_n_node_samples[0]
        return np.asarray(importances / scale if scale > 0 else importances, dtype=np.float64)


def single_tree(nodes: TreeNodes) -> TreeArrays:
    """The arrays of one tree."""
    return TreeArrays(nodes, np.array([0, len(nodes.feature)], dtype=np.int64))


def concatenated(trees: Sequence[TreeNodes]) -> TreeArrays:
    """Many trees in one set of arrays, in the given order."""
    offsets = np.concatenate([[0], np.cumsum([len(tree.feature) for tree in trees])]).astype(np.int64)
    columns: list[Any] = [np.concatenate(column) for column in zip(*trees, strict=True)]
    return TreeArrays(TreeNodes(*columns), offsets)


def nodes_of(trees: TreeArrays, tree: int) -> TreeNodes:
    """The nodes of one tree, as views."""
    first, last = trees.offsets[tree], trees.offsets[tree + 1]
    views: list[Any] = [array[first:last] for array in trees.nodes]
    return TreeNodes(*views)


def weighed_in(unit: float, trees: TreeArrays) -> TreeArrays:
    """Trees grown on weights in units of `unit`, with their nodes' weights as the caller counts them."""
    weights = trees.nodes.weighted_n_node_samples * unit
    return trees._replace(nodes=trees.nodes._replace(weighted_n_node_samples=weights))


def leaves_of(X: NDArray[Any], trees: TreeArrays) -> NDArray[np.int32]:
    """Leaf of each row in each tree, int32 (row, tree)."""
    leaves = np.empty((X.shape[0], len(trees.offsets) - 1), dtype=np.int32)
    find_leaves(X, trees.nodes, trees.offsets, leaves)
    return leaves
