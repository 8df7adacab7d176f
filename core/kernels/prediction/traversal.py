"""From raw feature values to leaves and votes: `x <= threshold` goes left, a missing value goes where the node learned
it should.

Many walks are on their way at once. A pass moves each of them down by one node; the moves of a pass do not wait for
each other, so the processor overlaps their trips to memory, and no step is a branch that it could guess wrong:

    walks     | w0 | w1 | w2 | w3 | w4 |      a walk is one row in one tree
    passes        one node down each; one that is at a leaf stays there
    squeeze   | w0 | w2 | w3 |                every few passes those at a leaf (w1, w4) leave the list

A squeeze costs as much as two passes, since the place of each store depends on the walks before it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes
from core.kernels.jit import kernel
from core.kernels.prediction.packed_trees import PackedTrees, n_ballots
from core.kernels.prediction.prefetch import prefetch
from core.kernels.row_scans import has_missing

#: Walks under way at once: enough to hide the way to memory, few enough to stay in the cache of first level.
WALKS = 256
#: Passes from one squeeze to the next. The first one waits for as many as a balanced tree has levels.
_PASSES = 4
#: Bytes; nodes start at multiples of their alignment, and one of 16 bytes never crosses a line of 64.
_NEVER_CROSSES = 16
_NONE, _ONE = np.uint64(0), np.uint64(1)
_MISSING_BIT = np.uint32(1)


class Walks(NamedTuple):
    """Rows on their way down trees; arrays (walk,). Unsigned, since numba looks whether a signed index is negative."""

    numbers: NDArray[np.uint32]  # of the walks that may still go on, as are the next two
    cells: NDArray[np.uint64]  # where the row of a walk starts among the cells of X
    positions: NDArray[np.uint32]  # where a walk is
    ends: NDArray[np.uint32]  # by number of the walk: in the end its ballot


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
    walks: Walks, roots: NDArray[np.uint32], trees: tuple[int, int], rows: tuple[int, int], n_features: int
) -> int:
    """Put one walk per tree and row at its root, tree by tree; returns how many there are."""
    walk = 0
    for tree in range(trees[0], trees[1]):
        for row in range(rows[0], rows[1]):
            walks.numbers[walk] = walk
            walks.cells[walk] = row * n_features
            walks.positions[walk] = roots[tree]
            walk += 1
    return walk


@kernel
def _pass(cells: NDArray[Any], nodes: NDArray[np.void], walks: Walks, n_walks: int, any_missing: bool) -> None:
    """Move each walk down by one node. `cells`: the numbers of X."""
    crosses_lines = nodes.itemsize > _NEVER_CROSSES  # then a node may end in the next line of the cache
    for i in range(np.uint64(n_walks)):
        node = nodes[np.uint64(walks.positions[i])]
        column = np.uint32(node["column"])
        value = cells[walks.cells[i] + np.uint64(column >> _MISSING_BIT)]
        goes_left = value <= node["threshold"]
        if any_missing:
            goes_left |= (value != value) & ((column & _MISSING_BIT) == _MISSING_BIT)
        child = np.uint64(node["left"] if goes_left else node["right"])
        prefetch(nodes, child)
        if crosses_lines:
            prefetch(nodes, child + _ONE)
        walks.positions[i] = child


@kernel
def _squeeze(walks: Walks, n_walks: int, n_leaves: int) -> int:
    """Write down where walks are, and drop those at a leaf from the list; returns how many are left."""
    still = _NONE
    # invariant: the first `still` entries are those of the first i walks that go on
    for i in range(np.uint64(n_walks)):
        number, position = walks.numbers[i], walks.positions[i]
        walks.ends[number] = position
        walks.numbers[still], walks.cells[still], walks.positions[still] = number, walks.cells[i], position
        still += np.uint64(position >= n_leaves)
    return int(np.int64(still))


@kernel
def _levels_if_balanced(n_inner: int) -> int:
    levels = 0
    while n_inner > 0:
        n_inner //= 2
        levels += 1
    return levels


@kernel
def _walk(cells: NDArray[Any], trees: PackedTrees, walks: Walks, n_walks: int, any_missing: bool) -> None:
    """Move walks down, one node in each pass, until all are at leaves."""
    n_leaves = n_ballots(trees)
    n_passes = _levels_if_balanced((trees.nodes.shape[0] - n_leaves) // trees.roots.shape[0])
    while n_walks > 0:
        for _ in range(n_passes):
            _pass(cells, trees.nodes, walks, n_walks, any_missing)
        n_walks = _squeeze(walks, n_walks, n_leaves)
        n_passes = _PASSES


@kernel
def _count_votes(
    ends: NDArray[np.uint32], mixed: NDArray[np.float64], n_trees: int, rows: tuple[int, int], out: NDArray[np.float64]
) -> None:
    """Add what the leaves at `ends` (ballots, by tree) vote to out (row, class). Adding 0.0 would change no sum."""
    n_classes = out.shape[1]
    walk = 0
    for _ in range(n_trees):
        for row in range(rows[0], rows[1]):
            ballot = ends[walk]
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
    walks = Walks(
        np.empty(n_walks, np.uint32),
        np.empty(n_walks, np.uint64),
        np.empty(n_walks, np.uint32),
        np.empty(n_walks, np.uint32),
    )
    cells = X.reshape(X.size)
    any_missing = has_missing(cells)
    out[:] = 0.0
    for tree in range(0, n_trees, trees_at_once):
        some_trees = tree, min(tree + trees_at_once, n_trees)
        for row in range(0, n_rows, rows_at_once):
            some_rows = row, min(row + rows_at_once, n_rows)
            n_started = _start(walks, trees.roots, some_trees, some_rows, X.shape[1])
            _walk(cells, trees, walks, n_started, any_missing)
            _count_votes(walks.ends, trees.mixed, some_trees[1] - some_trees[0], some_rows, out)
    for row in range(n_rows):
        for k in range(out.shape[1]):
            out[row, k] /= n_trees
