"""A grown tree as flat arrays: what growth fills, prediction reads and the artefact stores unchanged."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel

LEAF = -1  #: children_left and children_right of a leaf
NO_FEATURE = -2  #: feature of a leaf


class TreeNodes(NamedTuple):
    """Nodes in preorder: the root is 0, a left subtree comes before its right sibling. All arrays (node,) but `value`.

    A forest keeps the nodes of its trees one tree after the other; node numbers then count from the tree's own root.
    """

    children_left: NDArray[np.int32]
    children_right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_go_to_left: NDArray[np.uint8]
    value: NDArray[np.float64]  # (node, class), weighted class distribution, rows sum to 1
    impurity: NDArray[np.float64]
    n_node_samples: NDArray[np.int64]
    weighted_n_node_samples: NDArray[np.float64]


@kernel
def new_nodes(capacity: int, n_classes: int) -> TreeNodes:
    """Room for `capacity` nodes, all of them leaves."""
    return TreeNodes(
        np.full(capacity, LEAF, dtype=np.int32),
        np.full(capacity, LEAF, dtype=np.int32),
        np.full(capacity, NO_FEATURE, dtype=np.int32),
        np.zeros(capacity, dtype=np.float64),
        np.zeros(capacity, dtype=np.uint8),
        np.zeros((capacity, n_classes), dtype=np.float64),
        np.zeros(capacity, dtype=np.float64),
        np.zeros(capacity, dtype=np.int64),
        np.zeros(capacity, dtype=np.float64),
    )


@kernel
def resized(nodes: TreeNodes, n_used: int, capacity: int) -> TreeNodes:
    """A copy of the first `n_used` nodes with room for `capacity`."""
    copy = new_nodes(capacity, nodes.value.shape[1])
    copy.children_left[:n_used] = nodes.children_left[:n_used]
    copy.children_right[:n_used] = nodes.children_right[:n_used]
    copy.feature[:n_used] = nodes.feature[:n_used]
    copy.threshold[:n_used] = nodes.threshold[:n_used]
    copy.missing_go_to_left[:n_used] = nodes.missing_go_to_left[:n_used]
    copy.value[:n_used] = nodes.value[:n_used]
    copy.impurity[:n_used] = nodes.impurity[:n_used]
    copy.n_node_samples[:n_used] = nodes.n_node_samples[:n_used]
    copy.weighted_n_node_samples[:n_used] = nodes.weighted_n_node_samples[:n_used]
    return copy


@kernel
def in_preorder(nodes: TreeNodes) -> TreeNodes:
    """The same tree with its nodes numbered in preorder."""
    n_nodes = nodes.feature.shape[0]
    old_number, new_number = np.empty(n_nodes, dtype=np.int32), np.empty(n_nodes, dtype=np.int32)
    stack, size = np.zeros(n_nodes + 1, dtype=np.int32), 1
    for position in range(n_nodes):
        size -= 1
        old = stack[size]
        old_number[position], new_number[old] = old, position
        if nodes.children_left[old] != LEAF:
            stack[size], stack[size + 1] = nodes.children_right[old], nodes.children_left[old]
            size += 2
    ordered = new_nodes(n_nodes, nodes.value.shape[1])
    for position in range(n_nodes):
        old = old_number[position]
        if nodes.children_left[old] != LEAF:
            ordered.children_left[position] = new_number[nodes.children_left[old]]
            ordered.children_right[position] = new_number[nodes.children_right[old]]
        ordered.feature[position] = nodes.feature[old]
        ordered.threshold[position] = nodes.threshold[old]
        ordered.missing_go_to_left[position] = nodes.missing_go_to_left[old]
        ordered.value[position] = nodes.value[old]
        ordered.impurity[position] = nodes.impurity[old]
        ordered.n_node_samples[position] = nodes.n_node_samples[old]
        ordered.weighted_n_node_samples[position] = nodes.weighted_n_node_samples[old]
    return ordered
