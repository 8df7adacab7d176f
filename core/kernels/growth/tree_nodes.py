"""A grown tree as flat arrays, which prediction reads and the artifact stores unchanged.

Nodes are in preorder, so that a left child follows its parent, and only leaves store their class distribution. One link
per node holds the rest of the structure; a leaf that contains only one class needs no further numbers:

    node     |  0 |  1 |  2 |  3 |  4 |
    feature  |  4 | -2 |  7 | -2 | -2 |     -2: a leaf
    link     |  2 |  3 |  4 | 11 |  0 |     with 10 classes: node 1 contains only class 3, node 4 only class 0,
                                            node 3 is row 11 - 10 = 1 of `impure_distributions`
             0 -+- 1
                +- 2 -+- 3                  inner nodes: the left child is the next node, the right child is the link
                      +- 4

The class distribution of an inner node follows from the leaves below it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel

LEAF = -1  #: children_left and children_right of a leaf
NO_FEATURE = -2  #: feature of a leaf


class TreeNodes(NamedTuple):
    """Nodes in preorder: the root is 0, a left subtree precedes its right sibling. Arrays are (node,) unless stated."""

    feature: NDArray[np.int32]
    link: NDArray[np.int32]  # right child or class distribution, see above
    threshold: NDArray[np.float64]  # NaN for a split of categories
    missing_go_to_left: NDArray[np.uint8]
    impurity: NDArray[np.float64]
    n_node_samples: NDArray[np.int32]
    weighted_n_node_samples: NDArray[np.float64]
    impure_distributions: NDArray[
        np.float64
    ]  # (leaf with several classes, class), weighted class distributions, rows sum to 1
    category_nodes: NDArray[np.int32]  # (split of categories,), ascending, see `category_sets`
    category_set_sizes: NDArray[np.int32]  # (split of categories,), number of blocks of its set
    category_blocks: NDArray[np.uint64]  # (block,)


class GrowingNodes(NamedTuple):
    """Nodes of a growing tree in any order; arrays may be longer than the number of nodes.

    All arrays are (node,), except for class_weights.
    """

    children_left: NDArray[np.int32]
    children_right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_go_to_left: NDArray[np.uint8]
    class_weights: NDArray[np.float64]  # (node, class)
    impurity: NDArray[np.float64]
    n_node_samples: NDArray[np.int32]
    weighted_n_node_samples: NDArray[np.float64]


def new_growing_nodes(capacity: int, n_classes: int) -> GrowingNodes:
    """Return uninitialized arrays for `capacity` nodes."""
    return GrowingNodes(
        np.empty(capacity, dtype=np.int32),
        np.empty(capacity, dtype=np.int32),
        np.empty(capacity, dtype=np.int32),
        np.empty(capacity, dtype=np.float64),
        np.empty(capacity, dtype=np.uint8),
        np.empty((capacity, n_classes), dtype=np.float64),
        np.empty(capacity, dtype=np.float64),
        np.empty(capacity, dtype=np.int32),
        np.empty(capacity, dtype=np.float64),
    )


def _new_tree(n_nodes: int, n_impure: int, n_classes: int) -> TreeNodes:
    """Return uninitialized arrays of a tree."""
    return TreeNodes(
        np.empty(n_nodes, dtype=np.int32),
        np.empty(n_nodes, dtype=np.int32),
        np.empty(n_nodes, dtype=np.float64),
        np.empty(n_nodes, dtype=np.uint8),
        np.empty(n_nodes, dtype=np.float64),
        np.empty(n_nodes, dtype=np.int32),
        np.empty(n_nodes, dtype=np.float64),
        np.empty((n_impure, n_classes), dtype=np.float64),
        np.empty(0, dtype=np.int32),
        np.empty(0, dtype=np.int32),
        np.empty(0, dtype=np.uint64),
    )


@inner_kernel
def _only_class(class_weights: NDArray[np.float64]) -> int:
    """Return the only class that has weight, or -1 if several classes have weight."""
    only = -1
    for k in range(class_weights.shape[0]):
        if class_weights[k] > 0.0:
            if only >= 0:
                return -1
            only = k
    return only


@kernel
def _list_in_preorder(
    nodes: GrowingNodes,
    old_number: NDArray[np.int32],
    new_number: NDArray[np.int32],
    stack: NDArray[np.int32],
) -> int:
    """Fill the maps between node numbers and preorder, old_number and new_number (node,).

    Returns the number of leaves with several classes. `stack` (node + 1,) is overwritten.
    """
    size, n_impure = min(1, old_number.shape[0]), 0
    stack[0] = 0
    for place in range(old_number.shape[0]):
        size -= 1
        old = stack[size]
        old_number[place], new_number[old] = old, place
        if nodes.children_left[old] != LEAF:
            stack[size], stack[size + 1] = nodes.children_right[old], nodes.children_left[old]
            size += 2
        elif _only_class(nodes.class_weights[old]) < 0:
            n_impure += 1
    return n_impure


@inner_kernel
def _copy_node(source: GrowingNodes, old: int, target: TreeNodes, new: int) -> None:
    """Copy node `old` of `source` to node `new` of `target`, except for its link."""
    target.feature[new] = source.feature[old]
    target.threshold[new] = source.threshold[old]
    target.missing_go_to_left[new] = source.missing_go_to_left[old]
    target.impurity[new] = source.impurity[old]
    target.n_node_samples[new] = source.n_node_samples[old]
    target.weighted_n_node_samples[new] = source.weighted_n_node_samples[old]


@inner_kernel
def _store_distribution(class_weights: NDArray[np.float64], target: TreeNodes, leaf: int, n_impure: int) -> int:
    """Link a leaf to its class distribution.

    Returns the number of rows of `impure_distributions` that are filled afterwards.
    """
    only = _only_class(class_weights)
    if only >= 0:
        target.link[leaf] = only
        return n_impure
    target.link[leaf] = class_weights.shape[0] + n_impure
    for k in range(class_weights.shape[0]):
        target.impure_distributions[n_impure, k] = class_weights[k] / target.weighted_n_node_samples[leaf]
    return n_impure + 1


@kernel
def _copy_nodes(
    source: GrowingNodes, old_number: NDArray[np.int32], new_number: NDArray[np.int32], target: TreeNodes
) -> None:
    """Fill `target` with the nodes old_number (node,) of `source`, whose numbers in it are new_number (node,)."""
    n_stored = 0
    for new in range(old_number.shape[0]):
        old = old_number[new]
        _copy_node(source, old, target, new)
        if source.children_left[old] != LEAF:
            target.link[new] = new_number[source.children_right[old]]
        else:
            n_stored = _store_distribution(source.class_weights[old], target, new, n_stored)


def compact_nodes(nodes: GrowingNodes, n_nodes: int) -> TreeNodes:
    """Return the first `n_nodes` nodes in preorder, in arrays of exactly the size that is needed.

    They must form a whole tree with node 0 as its root.
    """
    old_number, new_number = np.empty(n_nodes, dtype=np.int32), np.empty(n_nodes, dtype=np.int32)
    n_impure = _list_in_preorder(nodes, old_number, new_number, np.empty(n_nodes + 1, dtype=np.int32))
    tree = _new_tree(n_nodes, n_impure, nodes.class_weights.shape[1])
    _copy_nodes(nodes, old_number, new_number, tree)
    return tree


@kernel
def class_distributions(nodes: TreeNodes) -> NDArray[np.float64]:
    """Return the weighted class distribution of each node, (node, class); rows sum to 1."""
    n_nodes, n_classes = nodes.feature.shape[0], nodes.impure_distributions.shape[1]
    value = np.zeros((n_nodes, n_classes), dtype=np.float64)
    for node in range(n_nodes - 1, -1, -1):
        link = nodes.link[node]
        if nodes.feature[node] != NO_FEATURE:
            left, right = node + 1, link
            total = nodes.weighted_n_node_samples[left] + nodes.weighted_n_node_samples[right]
            left_fraction = (
                nodes.weighted_n_node_samples[left] / total
            )  # divided first, since products of tiny weights could underflow
            for k in range(n_classes):
                value[node, k] = value[left, k] * left_fraction + value[right, k] * (1.0 - left_fraction)
        elif link < n_classes:
            value[node, link] = 1.0
        else:
            value[node] = nodes.impure_distributions[link - n_classes]
    return value
