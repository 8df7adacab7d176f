"""A grown tree as flat arrays: what growth leaves, prediction reads and the artefact stores unchanged.

Nodes lie in preorder, so that a left child follows its parent, and only leaves know their class distribution. One link
a node says what else there is to know; a leaf that is all of one class needs no further numbers:

    node     |  0 |  1 |  2 |  3 |  4 |
    feature  |  4 | -2 |  7 | -2 | -2 |     -2: a leaf
    link     |  2 |  3 |  4 | 11 |  0 |     with 10 classes: node 1 is all of class 3, node 4 all of class 0,
                                            node 3 is row 11 - 10 = 1 of `mixed`
             0 -+- 1
                +- 2 -+- 3                  inner nodes: the left child is the next node, the right one the link
                      +- 4

What an inner node's rows are like follows from the leaves below it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel

LEAF = -1  #: children_left and children_right of a leaf
NO_FEATURE = -2  #: feature of a leaf


class TreeNodes(NamedTuple):
    """Nodes in preorder: the root is 0, a left subtree comes before its right sibling. All arrays (node,) but one."""

    feature: NDArray[np.int32]
    link: NDArray[np.int32]  # see above
    threshold: NDArray[np.float64]
    missing_go_to_left: NDArray[np.uint8]
    impurity: NDArray[np.float64]
    n_node_samples: NDArray[np.int32]
    weighted_n_node_samples: NDArray[np.float64]
    mixed: NDArray[np.float64]  # (leaf of several classes, class), weighted class distributions, rows sum to 1


class GrowingNodes(NamedTuple):
    """Nodes of a tree that still grows, in any order; room for more than there are. All arrays (node,) but one."""

    children_left: NDArray[np.int32]
    children_right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_go_to_left: NDArray[np.uint8]
    class_weights: NDArray[np.float64]  # (node, class)
    impurity: NDArray[np.float64]
    n_node_samples: NDArray[np.int32]
    weighted_n_node_samples: NDArray[np.float64]


@kernel
def new_growing_nodes(capacity: int, n_classes: int) -> GrowingNodes:
    """Room for `capacity` nodes, still without content."""
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


@kernel
def _new_tree(n_nodes: int, n_mixed: int, n_classes: int) -> TreeNodes:
    return TreeNodes(
        np.empty(n_nodes, dtype=np.int32),
        np.empty(n_nodes, dtype=np.int32),
        np.empty(n_nodes, dtype=np.float64),
        np.empty(n_nodes, dtype=np.uint8),
        np.empty(n_nodes, dtype=np.float64),
        np.empty(n_nodes, dtype=np.int32),
        np.empty(n_nodes, dtype=np.float64),
        np.empty((n_mixed, n_classes), dtype=np.float64),
    )


@inner_kernel
def _only_class(class_weights: NDArray[np.float64]) -> int:
    """The one class that has weight, or -1 where several have."""
    only = -1
    for k in range(class_weights.shape[0]):
        if class_weights[k] > 0.0:
            if only >= 0:
                return -1
            only = k
    return only


@inner_kernel
def _list_in_preorder(
    nodes: GrowingNodes,
    old_number: NDArray[np.int32],
    new_number: NDArray[np.int32],
    stack: NDArray[np.int32],
) -> int:
    """Fill both ways between a node's number and its place in preorder; returns how many leaves are of several
    classes.
    """
    size, n_mixed = min(1, old_number.shape[0]), 0
    stack[0] = 0
    for place in range(old_number.shape[0]):
        size -= 1
        old = stack[size]
        old_number[place], new_number[old] = old, place
        if nodes.children_left[old] != LEAF:
            stack[size], stack[size + 1] = nodes.children_right[old], nodes.children_left[old]
            size += 2
        elif _only_class(nodes.class_weights[old]) < 0:
            n_mixed += 1
    return n_mixed


@inner_kernel
def _copy_node(source: GrowingNodes, old: int, target: TreeNodes, new: int) -> None:
    """Make node `new` of `target` a copy of node `old`, but for its link."""
    target.feature[new] = source.feature[old]
    target.threshold[new] = source.threshold[old]
    target.missing_go_to_left[new] = source.missing_go_to_left[old]
    target.impurity[new] = source.impurity[old]
    target.n_node_samples[new] = source.n_node_samples[old]
    target.weighted_n_node_samples[new] = source.weighted_n_node_samples[old]


@inner_kernel
def _keep_distribution(class_weights: NDArray[np.float64], target: TreeNodes, leaf: int, n_mixed: int) -> int:
    """Link a leaf to its class distribution; returns how many rows of `mixed` are filled then."""
    only = _only_class(class_weights)
    if only >= 0:
        target.link[leaf] = only
        return n_mixed
    target.link[leaf] = class_weights.shape[0] + n_mixed
    for k in range(class_weights.shape[0]):
        target.mixed[n_mixed, k] = class_weights[k] / target.weighted_n_node_samples[leaf]
    return n_mixed + 1


@kernel
def grown_tree(nodes: GrowingNodes, n_nodes: int) -> TreeNodes:
    """The first `n_nodes` nodes, which make a whole tree with node 0 as its root, in arrays no larger than needed."""
    old_number, new_number = np.empty(n_nodes, dtype=np.int32), np.empty(n_nodes, dtype=np.int32)
    n_mixed = _list_in_preorder(nodes, old_number, new_number, np.empty(n_nodes + 1, dtype=np.int32))
    tree = _new_tree(n_nodes, n_mixed, nodes.class_weights.shape[1])
    n_kept = 0
    for new in range(n_nodes):
        old = old_number[new]
        _copy_node(nodes, old, tree, new)
        if nodes.children_left[old] != LEAF:
            tree.link[new] = new_number[nodes.children_right[old]]
        else:
            n_kept = _keep_distribution(nodes.class_weights[old], tree, new, n_kept)
    return tree


@kernel
def class_distributions(nodes: TreeNodes) -> NDArray[np.float64]:
    """The weighted class distribution of every node, (node, class), rows sum to 1."""
    n_nodes, n_classes = nodes.feature.shape[0], nodes.mixed.shape[1]
    value = np.zeros((n_nodes, n_classes), dtype=np.float64)
    for node in range(n_nodes - 1, -1, -1):
        link = nodes.link[node]
        if nodes.feature[node] != NO_FEATURE:
            left, right = node + 1, link
            both = nodes.weighted_n_node_samples[left] + nodes.weighted_n_node_samples[right]
            share = nodes.weighted_n_node_samples[left] / both  # divided first: tiny weights times shares would vanish
            for k in range(n_classes):
                value[node, k] = value[left, k] * share + value[right, k] * (1.0 - share)
        elif link < n_classes:
            value[node, link] = 1.0
        else:
            value[node] = nodes.mixed[link - n_classes]
    return value
