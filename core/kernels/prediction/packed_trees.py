"""Layout of trees for prediction: all that a walk reads at one node is contiguous in memory.

    nodes     | output 0 | output 1 | ... | inner node | inner node | ...
    a node    | threshold | column << 1 | left | right |    16 bytes for float32 rows, 24 for float64 rows
                                          position of a child in `nodes`

A leaf is represented by the number of its output: numbers 0 .. n_classes - 1 are the one-hot outputs of the classes,
n_classes + i is row i of `dense_outputs`. All leaves with the same output share one node, which is its own child, so
that a walk that has arrived stays there when it is moved on with the others. If all leaves are pure, the layout thus
needs memory only for inner nodes, 8 or 12 bytes per node of the tree, and for one node per class. Each leaf that is not
pure needs a further node and 8 bytes per class.

The low bit beside the column is 1 if missing values go left. The inner nodes of a tree are in preorder, with the child
that has more training rows first, so that the more likely walk stays in one cache line.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes
from core.kernels.jit import kernel

_LINKS = [("column", np.uint32), ("left", np.uint32), ("right", np.uint32)]
#: Type of a node for each type of the rows.
NODE_DTYPES = {
    width: np.dtype([("threshold", width), *_LINKS], align=True) for width in (np.dtype("f4"), np.dtype("f8"))
}


class PackedTrees(NamedTuple):
    """Trees in the layout above. Positions count through all trees."""

    nodes: NDArray[np.void]  # (output or inner node,), one of NODE_DTYPES
    roots: NDArray[np.uint32]  # (tree,), position of the root; of a tree that is one leaf, the number of its output
    dense_outputs: NDArray[np.float64]  # (output that is not one-hot, class)


class FilledCounts(NamedTuple):
    """Number of filled entries in the arrays of PackedTrees."""

    nodes: int
    roots: int


@kernel
def n_outputs(trees: PackedTrees) -> int:
    """Return the number of nodes that represent outputs; they come first."""
    return int(trees.dense_outputs.shape[0] + trees.dense_outputs.shape[1])


@kernel
def write_output_nodes(out: PackedTrees) -> FilledCounts:
    """Fill the nodes that represent outputs; return the filled counts."""
    for output in range(n_outputs(out)):
        leaf = out.nodes[output]
        leaf["threshold"], leaf["column"], leaf["left"], leaf["right"] = 0.0, 0, output, output
    return FilledCounts(n_outputs(out), 0)


@kernel
def _count_inner(tree: TreeNodes, counts: NDArray[np.int32]) -> None:
    """Fill counts (node,) with the number of inner nodes at and below each node; children come later."""
    for node in range(counts.shape[0] - 1, -1, -1):
        counts[node] = 0
        if tree.feature[node] != NO_FEATURE:
            counts[node] = 1 + counts[node + 1] + counts[tree.link[node]]


@kernel
def _place(tree: TreeNodes, first: int, counts: NDArray[np.int32], positions: NDArray[np.int64]) -> None:
    """Fill positions (node,) of the inner nodes, in preorder from `first` on.

    The child with more training rows comes first.
    """
    positions[0] = first
    for node in range(counts.shape[0]):
        if counts[node] > 0:
            near, far = node + 1, int(tree.link[node])
            if tree.n_node_samples[far] > tree.n_node_samples[near]:
                near, far = far, near
            positions[near] = positions[node] + 1
            positions[far] = positions[node] + 1 + counts[near]


@kernel
def pack(tree: TreeNodes, output_numbers: NDArray[np.int64], out: PackedTrees, filled: FilledCounts) -> FilledCounts:
    """Append a tree to `out`, which must have space for it; return the filled counts.

    Thresholds must be representable in the type of `out`'s thresholds. output_numbers (link of a leaf,) holds the
    number of the output of the leaves with each link.
    """
    n_nodes = tree.feature.shape[0]
    counts, positions = np.empty(n_nodes, dtype=np.int32), np.empty(n_nodes, dtype=np.int64)
    _count_inner(tree, counts)
    _place(tree, filled.nodes, counts, positions)
    for node in range(n_nodes):
        if counts[node] == 0:
            positions[node] = output_numbers[tree.link[node]]
    out.roots[filled.roots] = positions[0]
    for node in range(n_nodes):
        if counts[node] > 0:
            packed = out.nodes[positions[node]]
            packed["threshold"] = tree.threshold[node]
            packed["column"] = tree.feature[node] << 1 | tree.missing_go_to_left[node]
            packed["left"] = positions[node + 1]
            packed["right"] = positions[tree.link[node]]
    return FilledCounts(filled.nodes + counts[0], filled.roots + 1)
