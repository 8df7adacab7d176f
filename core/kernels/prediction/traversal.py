"""Traversal of trees, from feature values to leaves and votes.

`x <= threshold` goes left; a missing value goes to the side that the node learned in training. A split of categories
sends the categories of its set to the other side than missing values, and with those all other categories.

Many walks are under way at once. A pass moves each of them down by one node. The moves of a pass do not depend on each
other, so the processor overlaps their memory accesses, and no step is a branch that it could mispredict:

    walks     | w0 | w1 | w2 | w3 | w4 |      a walk is one row in one tree
    pass          one node down each; a walk that is at a leaf stays there
    compact   | w0 | w2 | w3 |                every few passes, walks that are at a leaf (w1, w4) are removed

A compaction costs as much as two passes, since the destination of each store depends on the walks before it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.growth.category_sets import contains, set_bounds
from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes
from core.kernels.jit import chosen_by_type, inner_kernel, kernel
from core.kernels.prediction.packed_trees import Layout, PackedCategoryTrees, PackedTrees, n_outputs
from core.kernels.prediction.prefetch import prefetch
from core.kernels.row_scans import has_missing

#: Walks under way at once: enough to hide the latency of memory, few enough for the L1 cache.
WALKS = 256
#: Passes between two compactions. The first compaction comes after as many passes as a balanced tree has levels.
_PASSES_PER_COMPACTION = 4
#: Largest node in bytes that never crosses a cache line of 64 bytes; nodes start at multiples of their alignment.
_MAX_ALIGNED_SIZE = 16
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_MISSING_BIT = np.uint32(1)


class Walks(NamedTuple):
    """Rows on their way down trees; arrays (walk,).

    The arrays are unsigned, since numba checks whether signed indices are negative.
    """

    numbers: NDArray[np.uint32]  # number of each active walk; `cells` and `positions` are in the same order
    cells: NDArray[np.uint64]  # index of the first cell of the walk's row in X
    positions: NDArray[np.uint32]  # current node
    final_positions: NDArray[np.uint32]  # by number of the walk; in the end the number of its output


@inner_kernel
def _leaf_of_row(X: NDArray[Any], row: int, nodes: TreeNodes, bounds: NDArray[np.int64]) -> int:
    """Return the leaf of one row. `bounds` (node, 2) are those of the sets of categories, see `set_bounds`."""
    node = 0
    while nodes.feature[node] != NO_FEATURE:
        value = X[row, nodes.feature[node]]
        if np.isnan(nodes.threshold[node]):
            is_in_set = contains(nodes.category_blocks, bounds[node, 0], bounds[node, 1], value)
            goes_left = is_in_set != (nodes.missing_go_to_left[node] != 0)
        else:
            goes_left = nodes.missing_go_to_left[node] != 0 if np.isnan(value) else value <= nodes.threshold[node]
        node = node + 1 if goes_left else nodes.link[node]
    return node


@kernel
def find_leaves(X: NDArray[Any], nodes: TreeNodes, leaves: NDArray[np.int32]) -> None:
    """Fill leaves (row,) of one tree. X (row, feature) is float32 or float64, in C order and writeable."""
    bounds = set_bounds(nodes)
    for row in range(X.shape[0]):
        leaves[row] = _leaf_of_row(X, row, nodes, bounds)


@inner_kernel
def _start_walks(
    walks: Walks, roots: NDArray[np.uint32], trees: tuple[int, int], rows: tuple[int, int], n_features: int
) -> int:
    """Put one walk per tree and row at its root, tree by tree; return the number of walks."""
    walk = 0
    for tree in range(trees[0], trees[1]):
        for row in range(rows[0], rows[1]):
            walks.numbers[walk] = walk
            walks.cells[walk] = row * n_features
            walks.positions[walk] = roots[tree]
            walk += 1
    return walk


@inner_kernel
def _advance_walks(cells: NDArray[Any], nodes: NDArray[np.void], walks: Walks, n_walks: int, any_missing: bool) -> None:
    """Move each walk down by one node. `cells` (row * feature,) are the numbers of X."""
    crosses_lines = nodes.itemsize > _MAX_ALIGNED_SIZE  # a node may end in the next cache line
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


@inner_kernel
def _advance_through_categories(cells: NDArray[Any], trees: PackedCategoryTrees, walks: Walks, n_walks: int) -> None:
    """Move each walk down by one node, which may split categories; a missing value is in no set."""
    nodes = trees.nodes
    for i in range(np.uint64(n_walks)):
        node = nodes[np.uint64(walks.positions[i])]
        column, set_number = np.uint32(node["column"]), np.uint64(node["set"])
        value = cells[walks.cells[i] + np.uint64(column >> _MISSING_BIT)]
        missing_goes_left = (column & _MISSING_BIT) == _MISSING_BIT
        if set_number > _ZERO:
            first, end = trees.set_starts[set_number], trees.set_starts[set_number + _ONE]
            goes_left = contains(trees.blocks, first, end, value) != missing_goes_left
        else:
            goes_left = (value <= node["threshold"]) | ((value != value) & missing_goes_left)
        child = np.uint64(node["left"] if goes_left else node["right"])
        prefetch(nodes, child)
        walks.positions[i] = child


def _advance(cells: NDArray[Any], trees: Layout, walks: Walks, n_walks: int, any_missing: bool) -> None:
    """Move each walk down by one node, in either layout; chosen at compile time by the type of `trees`."""
    if isinstance(trees, PackedCategoryTrees):
        _advance_through_categories(cells, trees, walks, n_walks)
    else:
        _advance_walks(cells, trees.nodes, walks, n_walks, any_missing)


@chosen_by_type(_advance)
def _choose_advance(cells: Any, trees: Any, walks: Any, n_walks: Any, any_missing: Any) -> Any:
    return _through_categories if trees.instance_class is PackedCategoryTrees else _through_numbers


def _through_categories(
    cells: NDArray[Any], trees: PackedCategoryTrees, walks: Walks, n_walks: int, any_missing: bool
) -> None:
    _advance_through_categories(cells, trees, walks, n_walks)


def _through_numbers(cells: NDArray[Any], trees: PackedTrees, walks: Walks, n_walks: int, any_missing: bool) -> None:
    _advance_walks(cells, trees.nodes, walks, n_walks, any_missing)


@inner_kernel
def _compact_walks(walks: Walks, n_walks: int, n_leaves: int) -> int:
    """Record the positions of the walks and remove those at a leaf from the list; return the number left."""
    n_active = _ZERO
    # invariant: the first `n_active` entries are those of the first i walks that are not at a leaf
    for i in range(np.uint64(n_walks)):
        number, position = walks.numbers[i], walks.positions[i]
        walks.final_positions[number] = position
        walks.numbers[n_active], walks.cells[n_active], walks.positions[n_active] = number, walks.cells[i], position
        n_active += np.uint64(position >= n_leaves)
    return int(np.int64(n_active))


@inner_kernel
def _levels_if_balanced(n_inner: int) -> int:
    """Return the number of levels of a balanced tree with `n_inner` inner nodes."""
    levels = 0
    while n_inner > 0:
        n_inner //= 2
        levels += 1
    return levels


@inner_kernel
def _walk(cells: NDArray[Any], trees: Layout, walks: Walks, n_walks: int, any_missing: bool) -> None:
    """Move the walks down, one node per pass, until all of them are at leaves."""
    n_leaves = n_outputs(trees)
    n_passes = _levels_if_balanced((trees.nodes.shape[0] - n_leaves) // trees.roots.shape[0])
    while n_walks > 0:
        for _ in range(n_passes):
            _advance(cells, trees, walks, n_walks, any_missing)
        n_walks = _compact_walks(walks, n_walks, n_leaves)
        n_passes = _PASSES_PER_COMPACTION


@inner_kernel
def _count_votes(
    final_positions: NDArray[np.uint32],
    dense_outputs: NDArray[np.float64],
    n_trees: int,
    rows: tuple[int, int],
    out: NDArray[np.float64],
) -> None:
    """Add the outputs at `final_positions` (tree * row,) to out (row, class).

    A one-hot output adds to one class only, since adding 0.0 would not change the other sums.
    """
    n_classes = out.shape[1]
    walk = 0
    for _ in range(n_trees):
        for row in range(rows[0], rows[1]):
            output = final_positions[walk]
            walk += 1
            if output < n_classes:
                out[np.uint64(row), np.uint64(output)] += 1.0
            else:
                for k in range(n_classes):
                    out[row, k] += dense_outputs[output - n_classes, k]


@kernel
def mean_leaf_values(X: NDArray[Any], trees: Layout, out: NDArray[np.float64]) -> None:
    """Fill out (row, class) with the mean leaf output over trees, summed in tree order for each row.

    X (row, feature) is float32 or float64, the type of the thresholds of `trees`, in C order and writeable. Many rows
    walk through one tree after the other; few rows walk through many trees at once.
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
            n_started = _start_walks(walks, trees.roots, some_trees, some_rows, X.shape[1])
            _walk(cells, trees, walks, n_started, any_missing)
            _count_votes(walks.final_positions, trees.dense_outputs, some_trees[1] - some_trees[0], some_rows, out)
    for row in range(n_rows):
        for k in range(out.shape[1]):
            out[row, k] /= n_trees
