"""A grown tree as flat arrays: what growth fills, prediction reads and the artefact stores unchanged."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel, kernel

LEAF = -1  #: children_left and children_right of a leaf
NO_FEATURE = -2  #: feature of a leaf


class TreeNodes(NamedTuple):
    """Nodes in preorder: the root is 0, a left subtree comes before its right sibling. All arrays (node,) but one."""

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
    """Room for `capacity` nodes, still without content."""
    return TreeNodes(
        np.empty(capacity, dtype=np.int32),
        np.empty(capacity, dtype=np.int32),
        np.empty(capacity, dtype=np.int32),
        np.empty(capacity, dtype=np.float64),
        np.empty(capacity, dtype=np.uint8),
        np.empty((capacity, n_classes), dtype=np.float64),
        np.empty(capacity, dtype=np.float64),
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity, dtype=np.float64),
    )


@inner_kernel
def copy_node(source: TreeNodes, old: int, target: TreeNodes, new: int) -> None:
    """Make node `new` of `target` a copy of node `old`; children keep their numbers."""
    target.children_left[new] = source.children_left[old]
    target.children_right[new] = source.children_right[old]
    target.feature[new] = source.feature[old]
    target.threshold[new] = source.threshold[old]
    target.missing_go_to_left[new] = source.missing_go_to_left[old]
    for k in range(source.value.shape[1]):
        target.value[new, k] = source.value[old, k]
    target.impurity[new] = source.impurity[old]
    target.n_node_samples[new] = source.n_node_samples[old]
    target.weighted_n_node_samples[new] = source.weighted_n_node_samples[old]


@kernel
def first_nodes(nodes: TreeNodes, n_nodes: int) -> TreeNodes:
    """A copy of the first `n_nodes` nodes."""
    copy = new_nodes(n_nodes, nodes.value.shape[1])
    for node in range(n_nodes):
        copy_node(nodes, node, copy, node)
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
        copy_node(nodes, old, ordered, position)
        if nodes.children_left[old] != LEAF:
            ordered.children_left[position] = new_number[nodes.children_left[old]]
            ordered.children_right[position] = new_number[nodes.children_right[old]]
    return ordered
