"""Trees laid out for prediction alone: what a walk reads at one node lies in one piece.

    nodes     | ballot 0 | ballot 1 | ... | inner node | inner node | ...
    a node    | threshold | column << 1 | left | right |    16 bytes for float32 rows, 24 for float64 rows
                                          position of a child in `nodes`

A leaf is known by what it votes for, its ballot: 0 .. n_classes - 1 is one whole vote for that class, n_classes + i is
row i of `mixed`. All leaves with the same ballot share one node, whose children are itself: a walk that has arrived may
be moved on with the others, and stays. Trees grown until their leaves are pure thus need memory for inner nodes alone,
8 or 12 bytes per node of the tree (plus a node and 8 bytes per class for a leaf that is not pure, and a node for each
class).

The low bit beside the column is 1 where a missing value goes left. A tree's inner nodes follow each other in preorder,
the child with more training rows first: the likelier walk stays in one line of the cache.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes
from core.kernels.jit import kernel

_LINKS = [("column", np.uint32), ("left", np.uint32), ("right", np.uint32)]
#: One node, by the width of the rows that walk it.
NODE_DTYPES = {
    width: np.dtype([("threshold", width), *_LINKS], align=True) for width in (np.dtype("f4"), np.dtype("f8"))
}


class PackedTrees(NamedTuple):
    """Trees as drawn above. Positions count through all trees."""

    nodes: NDArray[np.void]  # (ballot + inner node,) one of NODE_DTYPES
    roots: NDArray[np.uint32]  # (tree,): position of the root, the ballot of a tree that is one leaf
    mixed: NDArray[np.float64]  # (leaf that is not one whole vote, class)


class Used(NamedTuple):
    """How many entries of each array of PackedTrees are filled."""

    nodes: int
    roots: int


@kernel
def n_ballots(trees: PackedTrees) -> int:
    """How many nodes are leaves; they come first."""
    return int(trees.mixed.shape[0] + trees.mixed.shape[1])


@kernel
def put_ballots(out: PackedTrees) -> Used:
    """Fill the nodes that are leaves; returns what is used then."""
    for ballot in range(n_ballots(out)):
        leaf = out.nodes[ballot]
        leaf["threshold"], leaf["column"], leaf["left"], leaf["right"] = 0.0, 0, ballot, ballot
    return Used(n_ballots(out), 0)


@kernel
def _count_inner(tree: TreeNodes, counts: NDArray[np.int32]) -> None:
    """Fill counts (node,) with the number of inner nodes at and below each node; children come later."""
    for node in range(counts.shape[0] - 1, -1, -1):
        counts[node] = 0
        if tree.feature[node] != NO_FEATURE:
            counts[node] = 1 + counts[node + 1] + counts[tree.link[node]]


@kernel
def _place(tree: TreeNodes, first: int, counts: NDArray[np.int32], positions: NDArray[np.int64]) -> None:
    """Fill positions of the inner nodes: preorder from `first` on, the child with more training rows first."""
    positions[0] = first
    for node in range(counts.shape[0]):
        if counts[node] > 0:
            near, far = node + 1, int(tree.link[node])
            if tree.n_node_samples[far] > tree.n_node_samples[near]:
                near, far = far, near
            positions[near] = positions[node] + 1
            positions[far] = positions[node] + 1 + counts[near]


@kernel
def pack(tree: TreeNodes, ballots: NDArray[np.int64], out: PackedTrees, used: Used) -> Used:
    """Append a tree to `out`, which has room for it; returns what is used then. Thresholds must be exact in the width
    of `out`'s; ballots: (distribution,), what leaves of each of the tree's distributions vote for.
    """
    n_nodes = tree.feature.shape[0]
    counts, positions = np.empty(n_nodes, dtype=np.int32), np.empty(n_nodes, dtype=np.int64)
    _count_inner(tree, counts)
    _place(tree, used.nodes, counts, positions)
    for node in range(n_nodes):
        if counts[node] == 0:
            positions[node] = ballots[tree.link[node]]
    out.roots[used.roots] = positions[0]
    for node in range(n_nodes):
        if counts[node] > 0:
            packed = out.nodes[positions[node]]
            packed["threshold"] = tree.threshold[node]
            packed["column"] = tree.feature[node] << 1 | tree.missing_go_to_left[node]
            packed["left"] = positions[node + 1]
            packed["right"] = positions[tree.link[node]]
    return Used(used.nodes + counts[0], used.roots + 1)
