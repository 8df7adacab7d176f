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

Trees with splits of categories have a layout of their own, so that all others keep theirs. Its nodes have one more
link: the number of the set of categories, where 0 is the empty set of a split of numbers.

    a node    | threshold or NaN | column << 1 | left | right | set |
    blocks    | set 1 | set 2 | ...         as in `category_sets`, from set_starts[set] to set_starts[set + 1]
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes
from core.kernels.jit import inner_kernel, kernel

_LINKS = [("column", np.uint32), ("left", np.uint32), ("right", np.uint32)]
#: Type of a node for each type of the rows.
NODE_DTYPES = {
    width: np.dtype([("threshold", width), *_LINKS], align=True) for width in (np.dtype("f4"), np.dtype("f8"))
}
#: Type of a node of trees with splits of categories, likewise.
CATEGORY_NODE_DTYPES = {
    width: np.dtype([("threshold", width), *_LINKS, ("set", np.uint32)], align=True) for width in NODE_DTYPES
}


class PackedTrees(NamedTuple):
    """Trees in the layout above. Positions count through all trees."""

    nodes: NDArray[np.void]  # (output or inner node,), one of NODE_DTYPES
    roots: NDArray[np.uint32]  # (tree,), position of the root; of a tree that is one leaf, the number of its output
    dense_outputs: NDArray[np.float64]  # (output that is not one-hot, class)


class PackedCategoryTrees(NamedTuple):
    """Trees of which some split categories, in the layout above."""

    nodes: NDArray[np.void]  # (output or inner node,), one of CATEGORY_NODE_DTYPES
    roots: NDArray[np.uint32]  # (tree,)
    dense_outputs: NDArray[np.float64]  # (output that is not one-hot, class)
    set_starts: NDArray[np.int64]  # (set + 1,)
    blocks: NDArray[np.uint64]  # (block,)


#: Trees in either layout.
Layout = PackedTrees | PackedCategoryTrees


class FilledCounts(NamedTuple):
    """Number of filled entries in the arrays of a layout. Set 0 is filled from the start.

    Kernels return the fields of this tuple.
    """

    nodes: int
    roots: int
    sets: int


#: Fields of `FilledCounts`.
FilledFields = tuple[int, int, int]


@inner_kernel
def n_outputs(trees: Layout) -> int:
    """Return the number of nodes that represent outputs; they come first."""
    return int(trees.dense_outputs.shape[0] + trees.dense_outputs.shape[1])


@kernel
def write_output_nodes(out: Layout) -> FilledFields:
    """Fill the nodes that represent outputs; return the filled counts."""
    for output in range(n_outputs(out)):
        leaf = out.nodes[output]
        leaf["threshold"], leaf["column"], leaf["left"], leaf["right"] = 0.0, 0, output, output
    return n_outputs(out), 0, 1


@inner_kernel
def _count_inner(tree: TreeNodes, counts: NDArray[np.int32]) -> None:
    """Fill counts (node,) with the number of inner nodes at and below each node; children come later."""
    for node in range(counts.shape[0] - 1, -1, -1):
        counts[node] = 0
        if tree.feature[node] != NO_FEATURE:
            counts[node] = 1 + counts[node + 1] + counts[tree.link[node]]


@inner_kernel
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
def _write_nodes(
    tree: TreeNodes, output_numbers: NDArray[np.int64], out: Layout, filled: FilledCounts, positions: NDArray[np.int64]
) -> FilledFields:
    """Append a tree to `out` without sets of categories; fills positions (node,)."""
    n_nodes = tree.feature.shape[0]
    counts = np.empty(n_nodes, dtype=np.int32)
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
    return filled.nodes + counts[0], filled.roots + 1, filled.sets


@kernel
def pack(tree: TreeNodes, output_numbers: NDArray[np.int64], out: PackedTrees, filled: FilledCounts) -> FilledFields:
    """Append a tree to `out`, which must have space for it; return the filled counts.

    Thresholds must be representable in the type of `out`'s thresholds. output_numbers (link of a leaf,) holds the
    number of the output of the leaves with each link.
    """
    return _write_nodes(tree, output_numbers, out, filled, np.empty(tree.feature.shape[0], dtype=np.int64))


@kernel
def pack_with_categories(
    tree: TreeNodes, output_numbers: NDArray[np.int64], out: PackedCategoryTrees, filled: FilledCounts
) -> FilledFields:
    """Append a tree to a layout that has the blocks of all sets and the set 0 in all nodes; else the same as `pack`."""
    positions = np.empty(tree.feature.shape[0], dtype=np.int64)
    n_nodes, n_roots, n_sets_before = _write_nodes(tree, output_numbers, out, filled, positions)
    n_sets = tree.category_nodes.shape[0]
    for i in range(n_sets):
        out.nodes[positions[tree.category_nodes[i]]]["set"] = n_sets_before + i
    return n_nodes, n_roots, n_sets_before + n_sets
