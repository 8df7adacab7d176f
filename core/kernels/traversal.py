"""From raw feature values to leaves and votes: `x <= threshold` goes left, a missing value goes where the node learned
it should.

Many walks are on their way at once. A pass moves each of them down by one node; the moves of a pass do not wait for
each other, so the processor overlaps their trips to memory, and no step is a branch that it could guess wrong:

    walks     | w0 | w1 | w2 | w3 | w4 |      a walk is one row in one tree
    pass          one node down each
    still on  | w0 | w2 | w3 |                those at a leaf (w1, w4) are squeezed out of the list
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel
from core.kernels.packed_trees import PackedTrees
from core.kernels.prefetch import prefetch
from core.kernels.row_scans import has_missing
from core.kernels.tree_nodes import NO_FEATURE, TreeNodes

#: Walks under way at once: enough to hide the way to memory, few enough to stay in the cache of first level.
WALKS = 512
#: Bytes; nodes start at multiples of their alignment, and one of 16 bytes never crosses a line of 64.
_NEVER_CROSSES = 16
_NONE = np.uint64(0)
_MISSING_BIT, _NO_BIT = np.uint32(1), np.uint32(0)


class Walks(NamedTuple):
    """Rows on their way down trees; arrays (walk,). Unsigned, since numba looks whether a signed index is negative."""

    cells: NDArray[np.uint64]  # where the row of a walk starts among the cells of X
    ends: NDArray[np.int32]  # where a walk is, in the end ~ballot
    active: NDArray[np.uint32]  # numbers of the walks that have not reached a leaf


@kernel
def _leaf_of_row(X: NDArray[Any], row: int, nodes: TreeNodes) -> int:
    node = 0
    while nodes.feature[node] != NO_FEATURE:
        value = X[row, nodes.feature[node]]
        goes_left = nodes.missing_go_to_left[node] != 0 if np.isnan(value) else value <= nodes.threshold[node]
        node = node + 1 if goes_left else nodes.link[node]
    return node


@kernel
def find_leaves(X: NDArray[Any], nodes: TreeNodes, leaves: NDArray[np.int32]) -> None:
    """Fill leaves (row,) of one tree. X: float32 or float64 (row, feature), C order, writeable."""
    for row in range(X.shape[0]):
        leaves[row] = _leaf_of_row(X, row, nodes)


@kernel
def _start(
    walks: Walks, roots: NDArray[np.int32], trees: tuple[int, int], rows: tuple[int, int], n_features: int
) -> int:
    """Put one walk per tree and row at its root, tree by tree; returns how many are active (a root may be a leaf)."""
    walk, n_active = 0, 0
    for tree in range(trees[0], trees[1]):
        for row in range(rows[0], rows[1]):
            walks.cells[walk] = row * n_features
            walks.ends[walk] = roots[tree]
            walks.active[n_active] = walk
            n_active += roots[tree] >= 0
            walk += 1
    return n_active


@kernel
def _walk(cells: NDArray[Any], nodes: NDArray[np.void], walks: Walks, n_active: int, any_missing: bool) -> None:
    """Move the active walks down, one node in each pass, until all are at leaves. `cells`: the numbers of X."""
    crosses_lines = nodes.itemsize > _NEVER_CROSSES  # then a node may end in the next line of the cache
    while n_active > 0:
        still = _NONE
        for i in range(np.uint64(n_active)):
            walk = np.uint64(walks.active[i])
            node = nodes[np.uint64(np.uint32(walks.ends[walk]))]
            column = np.uint32(node["column"])
            value = cells[walks.cells[walk] + np.uint64(column >> _MISSING_BIT)]
            goes_left = value <= node["threshold"]
            if any_missing:
                goes_left |= (value != value) & ((column & _MISSING_BIT) != _NO_BIT)
            child = node["left"] if goes_left else node["right"]
            prefetch(nodes, child)
            if crosses_lines:
                prefetch(nodes, child + 1)
            walks.ends[walk] = child
            # invariant: active[:still] are the walks among the first i that go on
            walks.active[still] = walk
            still += np.uint64(child >= 0)
        n_active = int(np.int64(still))


@kernel
def _count_votes(
    ends: NDArray[np.int32], mixed: NDArray[np.float64], n_trees: int, rows: tuple[int, int], out: NDArray[np.float64]
) -> None:
    """Add what the leaves at `ends` (tree by tree) vote to out (row, class). Adding 0.0 would change no sum."""
    n_classes = out.shape[1]
    walk = 0
    for _ in range(n_trees):
        for row in range(rows[0], rows[1]):
            ballot = np.uint32(~ends[walk])
            walk += 1
            if ballot < n_classes:
                out[np.uint64(row), np.uint64(ballot)] += 1.0
            else:
                for k in range(n_classes):
                    out[row, k] += mixed[ballot - n_classes, k]


@kernel
def mean_leaf_values(X: NDArray[Any], trees: PackedTrees, out: NDArray[np.float64]) -> None:
    """Fill out (row, class) with the mean leaf vote over trees, summed in tree order for every row.

    X: float32 or float64 (row, feature) as the thresholds of `trees`, C order, writeable. Many rows walk through one
    tree after the other; few rows walk through many trees at once.
    """
    n_rows, n_trees = out.shape[0], trees.roots.shape[0]
    trees_at_once = min(max(1, WALKS // n_rows), n_trees)
    rows_at_once = min(WALKS, n_rows)
    n_walks = trees_at_once * rows_at_once
    walks = Walks(np.empty(n_walks, np.uint64), np.empty(n_walks, np.int32), np.empty(n_walks, np.uint32))
    cells = X.reshape(X.size)
    any_missing = has_missing(cells)
    out[:] = 0.0
    for tree in range(0, n_trees, trees_at_once):
        some_trees = tree, min(tree + trees_at_once, n_trees)
        for row in range(0, n_rows, rows_at_once):
            some_rows = row, min(row + rows_at_once, n_rows)
            n_active = _start(walks, trees.roots, some_trees, some_rows, X.shape[1])
            _walk(cells, trees.nodes, walks, n_active, any_missing)
            _count_votes(walks.ends, trees.mixed, some_trees[1] - some_trees[0], some_rows, out)
    for row in range(n_rows):
        for k in range(out.shape[1]):
            out[row, k] /= n_trees
