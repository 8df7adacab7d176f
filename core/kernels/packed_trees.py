"""Trees laid out for prediction alone: what a walk reads at one node lies in one piece.

Only inner nodes are kept; a leaf is a negative number in its parent and says what the leaf votes for:

    nodes     | threshold | column << 1 | left | right |   16 bytes for float32 rows, 24 for float64 rows
                                           |       |
              >= 0: position in `nodes` ---+-------+--- < 0: ~ballot of a leaf
    ballot    0 .. n_classes - 1: one whole vote for that class;  n_classes + i: row i of `mixed`

The low bit beside the column is 1 where a missing value goes left. A tree's nodes follow each other in preorder, the
child with more training rows first: the likelier walk stays in one line of the cache. Leaves of trees grown until they
are pure need no memory, and neither do leaves take part in a walk: half the nodes of a tree are leaves, so the layout
takes 8 or 12 bytes per node of the tree (plus 8 per class for a leaf that is not pure).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel
from core.kernels.tree_nodes import NO_FEATURE, TreeNodes

_LINKS = [("column", np.int32), ("left", np.int32), ("right", np.int32)]
#: One inner node, by the width of the rows that walk it.
NODE_DTYPES = {
    width: np.dtype([("threshold", width), *_LINKS], align=True) for width in (np.dtype("f4"), np.dtype("f8"))
}


class PackedTrees(NamedTuple):
    """Trees as drawn above. Positions count through all trees."""

    nodes: NDArray[np.void]  # (inner node,) one of NODE_DTYPES
    roots: NDArray[np.int32]  # (tree,): position of the root, or ~ballot of a tree that is one leaf
    mixed: NDArray[np.float64]  # (leaf that is not one whole vote, class)


class Used(NamedTuple):
    """How many entries of each array of PackedTrees are filled."""

    nodes: int
    roots: int
    mixed: int


@kernel
def _sole_class(leaf_vote: NDArray[np.float64]) -> int:
    """The class that gets exactly one whole vote while the others get none, or -1."""
    sole = -1
    for k in range(leaf_vote.shape[0]):
        if leaf_vote[k] != 0.0:
            if sole >= 0 or leaf_vote[k] != 1.0:
                return -1
            sole = k
    return sole


@kernel
def count_mixed(leaf_votes: NDArray[np.float64]) -> int:
    """How many votes are for more than one class, or not exactly one vote. leaf_votes: (distribution, class)."""
    count = 0
    for i in range(leaf_votes.shape[0]):
        count += int(_sole_class(leaf_votes[i]) < 0)
    return count


@kernel
def _count_inner(tree: TreeNodes, counts: NDArray[np.int32]) -> None:
    """Fill counts (node,) with the number of inner nodes at and below each node; children come later."""
    for node in range(counts.shape[0] - 1, -1, -1):
        counts[node] = 0
        if tree.feature[node] != NO_FEATURE:
            counts[node] = 1 + counts[node + 1] + counts[tree.link[node]]


@kernel
def _place(tree: TreeNodes, first: int, counts: NDArray[np.int32], positions: NDArray[np.int32]) -> None:
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
def _list_ballots(
    leaf_votes: NDArray[np.float64], ballots: NDArray[np.int32], mixed: NDArray[np.float64], n_mixed: int
) -> int:
    """Fill ballots (distribution,) and append to `mixed`; returns its rows used so far."""
    for i in range(leaf_votes.shape[0]):
        ballots[i] = _sole_class(leaf_votes[i])
        if ballots[i] < 0:
            mixed[n_mixed] = leaf_votes[i]
            ballots[i] = leaf_votes.shape[1] + n_mixed
            n_mixed += 1
    return n_mixed


@kernel
def pack(tree: TreeNodes, leaf_votes: NDArray[np.float64], out: PackedTrees, used: Used) -> Used:
    """Append a tree to `out`, which has room for it; returns what is used then. Thresholds must be exact in the width
    of `out`'s; leaf_votes: (distribution, class), what leaves of each of the tree's distributions vote for.
    """
    n_nodes = tree.feature.shape[0]
    counts, positions = np.empty(n_nodes, dtype=np.int32), np.empty(n_nodes, dtype=np.int32)
    _count_inner(tree, counts)
    _place(tree, used.nodes, counts, positions)
    ballots = np.empty(leaf_votes.shape[0], dtype=np.int32)
    n_mixed = _list_ballots(leaf_votes, ballots, out.mixed, used.mixed)
    for node in range(n_nodes):
        if counts[node] == 0:
            positions[node] = ~ballots[tree.link[node]]
    out.roots[used.roots] = positions[0]
    for node in range(n_nodes):
        if counts[node] > 0:
            packed = out.nodes[positions[node]]
            packed["threshold"] = tree.threshold[node]
            packed["column"] = tree.feature[node] << 1 | tree.missing_go_to_left[node]
            packed["left"] = positions[node + 1]
            packed["right"] = positions[tree.link[node]]
    return Used(used.nodes + counts[0], used.roots + 1, n_mixed)
