"""Grown trees: the tuple of trees that a fit stores, and a view of one tree with scikit-learn's attribute names.

    trees     ( tree 0 , tree 1 , ... )
    tree 0    TreeNodes: feature | link | threshold | ...

A tree keeps the arrays that it was grown in, and votes and artifacts use the same arrays: a deep forest may take most
of the memory, so that it must not be copied as a whole. Code that works on a forest proceeds tree by tree.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.growth.category_sets import BLOCK_BITS
from core.kernels.growth.tree_nodes import LEAF, NO_FEATURE, TreeNodes, class_distributions
from core.kernels.prediction.traversal import find_leaves

#: Trees of a fit; a single tree is a tuple of one.
Trees = tuple[TreeNodes, ...]
#: Function from observed class distributions (node, class) to corrected ones of the same shape.
Correct = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class Tree:
    """One tree with scikit-learn's attribute names; leaves have children -1 and feature -2.

    Arrays are views of the stored ones, or computed on first access. The threshold of a split of categories is NaN;
    `category_set` and `categories_left` return its categories, for which n_categories (feature,) are counted.
    """

    def __init__(
        self,
        nodes: TreeNodes,
        n_features: int,
        correct: Correct | None = None,
        n_categories: NDArray[np.int64] | None = None,
    ) -> None:
        self.n_features = n_features
        self._n_categories = n_categories
        self._nodes = nodes
        self._correct = correct
        self.feature = nodes.feature
        self.threshold = nodes.threshold
        self.missing_go_to_left = nodes.missing_go_to_left
        self.impurity = nodes.impurity
        self.weighted_n_node_samples = nodes.weighted_n_node_samples

    def has_nodes(self, nodes: TreeNodes) -> bool:
        """Return whether this is the tree of `nodes`."""
        return self._nodes is nodes

    @cached_property
    def children_left(self) -> NDArray[np.int32]:
        """Left child of each node, (node,), which in preorder is the next node."""
        return np.where(self._is_leaf(), LEAF, np.arange(1, self.node_count + 1)).astype(np.int32)

    @cached_property
    def children_right(self) -> NDArray[np.int32]:
        """Right child of each node, (node,)."""
        return np.where(self._is_leaf(), LEAF, self._nodes.link).astype(np.int32)

    @cached_property
    def n_node_samples(self) -> NDArray[np.int64]:
        """Number of training rows in each node, (node,)."""
        return self._nodes.n_node_samples.astype(np.int64)

    @cached_property
    def value(self) -> NDArray[np.float64]:
        """Weighted class distribution of each node, (node, 1, class).

        With a correction it is the corrected distribution, whose entries sum to 1 and may be negative.
        """
        observed = class_distributions(self._nodes)
        return (observed if self._correct is None else self._correct(observed))[:, np.newaxis, :]

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
        """Number of classes, (1,)."""
        return np.array([self._nodes.impure_distributions.shape[1]], dtype=np.int64)

    @property
    def max_depth(self) -> int:
        """Number of edges from the root to the deepest leaf."""
        depth = np.zeros(self.node_count, dtype=np.int64)  # one pass suffices, as parents precede their children
        for node in np.flatnonzero(~self._is_leaf()):
            depth[[self.children_left[node], self.children_right[node]]] = depth[node] + 1
        return int(depth.max())

    def category_set(self, node: int) -> NDArray[np.int64]:
        """Return the codes of the categories that go to the other side than missing values, ascending, (category,).

        All other categories follow the missing values, also those that the node has not seen in the fit. It is empty
        for a node that does not split categories.
        """
        which = np.flatnonzero(self._nodes.category_nodes == node)
        if not len(which):
            return np.empty(0, dtype=np.int64)
        end = int(self._nodes.category_set_sizes[: which[0] + 1].sum(dtype=np.int64))
        blocks = self._nodes.category_blocks[end - int(self._nodes.category_set_sizes[which[0]]) : end]
        return category_codes(blocks)

    def categories_left(self, node: int) -> NDArray[np.int64]:
        """Return the codes of the categories that go left, ascending, (category,); empty as `category_set` is.

        Codes are the values in X, or positions in `category_values_` of the classifier.
        """
        codes = self.category_set(node)
        if not len(codes) or not self.missing_go_to_left[node]:
            return codes
        n_codes = 0 if self._n_categories is None else int(self._n_categories[self.feature[node]])
        return np.setdiff1d(np.arange(max(n_codes, codes[-1] + 1)), codes)

    def apply(self, X: NDArray[Any]) -> NDArray[np.int32]:
        """Return the leaf of each row of X (row, feature), int32 (row,). Categorical features have their codes."""
        leaves = np.empty(len(X), dtype=np.int32)
        find_leaves(np.array(X, order="C"), self._nodes, leaves)
        return leaves

    def compute_feature_importances(self, normalize: bool = True) -> NDArray[np.float64]:
        """Return the impurity decrease of each feature, (feature,), normalized to sum 1; all zero without a split."""
        inner = np.flatnonzero(~self._is_leaf())
        mass = self.weighted_n_node_samples * self.impurity
        decrease = mass[inner] - mass[self.children_left[inner]] - mass[self.children_right[inner]]
        importances = np.bincount(self.feature[inner], weights=decrease, minlength=self.n_features)
        scale = importances.sum() if normalize else self.weighted_n_node_samples[0]
        return np.asarray(importances / scale if scale > 0 else importances, dtype=np.float64)


def mean_importances(trees: Trees, n_features: int) -> NDArray[np.float64]:
    """Return the mean over the trees of the normalized impurity decrease of each feature, (feature,)."""
    return np.asarray(np.mean([Tree(nodes, n_features).compute_feature_importances() for nodes in trees], axis=0))


def category_codes(blocks: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the codes in the blocks of a set, ascending; see `core.kernels.growth.category_sets`."""
    bits = (blocks[:, np.newaxis] >> np.arange(BLOCK_BITS, dtype=np.uint64)) & np.uint64(1)
    block, bit = np.nonzero(bits)
    numbers = (blocks >> np.uint64(BLOCK_BITS)).astype(np.int64)
    return np.asarray(numbers[block] * BLOCK_BITS + bit)


def rescale_node_weights(trees: Trees, unit: float) -> None:
    """Multiply the node weights by `unit`, in place, for trees that were grown on row weights in units of `unit`."""
    for nodes in trees:
        nodes.weighted_n_node_samples[:] *= unit
