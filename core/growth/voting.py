"""Votes of trees on rows, computed on a layout of the trees that is made for prediction.

The layout is made at the first prediction and cached outside of the estimator, so that artifacts, copies and
`get_params` do not contain it.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from core.class_votes import winning_classes
from core.growth.tree_structure import Trees
from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes
from core.kernels.prediction.packed_trees import (
    CATEGORY_NODE_DTYPES,
    NODE_DTYPES,
    FilledCounts,
    Layout,
    PackedCategoryTrees,
    PackedTrees,
    pack,
    pack_with_categories,
    write_output_nodes,
)
from core.kernels.prediction.traversal import mean_leaf_values
from core.kernels.row_layout import as_kernel_rows
from core.monitoring import raise_if_stopped, stop_flag_of_block, stop_point

#: Function from class distributions (distribution, class) to the votes of leaves that have them, same shape.
Vote = Callable[[NDArray[np.float64]], NDArray[np.float64]]

#: Bytes of the rows that are passed through all trees as one block, which stays in the processor's cache meanwhile.
_BYTES_PER_BLOCK = 512 * 1024
#: Minimum number of rows of a block; with fewer, loading the trees would dominate.
_MIN_ROWS_PER_BLOCK = 64
#: Steps of the walks of one block: within a fraction of a second, a prediction reacts to a request to stop.
_STEPS_PER_BLOCK = 2**26
#: Steps of one row in one tree, beside one for each class of its vote.
_STEPS_PER_WALK = 16
#: Minimum number of rows for which a thread is started.
_MIN_ROWS_PER_THREAD = 256
#: Entries of the class distributions whose votes are computed at a time.
_ENTRIES_AT_ONCE = 2**20


class _CachedLayouts(NamedTuple):
    """Layouts of `trees` by type of the rows; they are replaced after a new fit, which makes new trees."""

    trees: Any
    by_dtype: dict[np.dtype[Any], Layout]


_CACHED: WeakKeyDictionary[Any, _CachedLayouts] = WeakKeyDictionary()


def cached_packed_trees(owner: Any, trees: Trees, vote: Vote, dtype: np.dtype[Any]) -> Layout:
    """Return the layout of the trees of `owner` for rows of type `dtype`, which is made once per fit."""
    return cached_layout(owner, trees, dtype, lambda: packed_trees(trees, vote, dtype))


def cached_layout(owner: Any, trees: Any, dtype: np.dtype[Any], make: Callable[[], Layout]) -> Layout:
    """Return the layout that `make` makes of the trees of `owner`, once per fit and type of the rows.

    It is cached as long as `owner` exists. Concurrent threads may each make one; these layouts are equal.
    """
    cached = _CACHED.get(owner)
    if cached is None or cached.trees is not trees:
        cached = _CACHED[owner] = _CachedLayouts(trees, {})
    layout = cached.by_dtype.get(dtype)
    if layout is None:
        layout = cached.by_dtype[dtype] = make()
    return layout


def prediction_layouts(owner: Any) -> tuple[Layout, ...]:
    """Return the layouts that were made of the trees of an estimator so far, which hold memory beside it."""
    cached = _CACHED.get(owner)
    return () if cached is None else tuple(cached.by_dtype.values())


def packed_trees(trees: Trees, vote: Vote, dtype: np.dtype[Any]) -> Layout:
    """Return the prediction layout of `trees` for rows of type `dtype`."""
    outputs: list[_LeafOutputs] = []
    n_dense = 0
    for nodes in trees:
        stop_point()
        outputs.append(_leaf_outputs(nodes, vote, n_dense))
        n_dense += len(outputs[-1].dense)
    dense = np.concatenate([one.dense for one in outputs])
    return make_layout(trees, [one.numbers for one in outputs], dense, dtype)


def make_layout(
    trees: Trees, output_numbers: Sequence[NDArray[np.int64]], dense: NDArray[np.float64], dtype: np.dtype[Any]
) -> Layout:
    """Return `trees` for rows of type `dtype`, with the outputs `output_numbers` (tree)(link of a leaf,).

    `dense` (output that is not one-hot, class) are those that are no votes for one class.
    """
    n_inner = sum(int(np.count_nonzero(nodes.feature != NO_FEATURE)) for nodes in trees)
    layout = _empty_layout(trees, dense.shape[1] + len(dense) + n_inner, dense, dtype)
    used = FilledCounts(*write_output_nodes(layout))
    for nodes, numbers in zip(trees, output_numbers, strict=True):
        stop_point()
        exact = nodes._replace(threshold=rounded_down(nodes.threshold, dtype))
        if isinstance(layout, PackedCategoryTrees):
            used = FilledCounts(*pack_with_categories(exact, numbers, layout, used))
        else:
            used = FilledCounts(*pack(exact, numbers, layout, used))
    return layout


def _empty_layout(trees: Trees, n_nodes: int, dense: NDArray[np.float64], dtype: np.dtype[Any]) -> Layout:
    roots = np.empty(len(trees), np.uint32)
    if not any(len(nodes.category_nodes) for nodes in trees):
        return PackedTrees(np.empty(n_nodes, NODE_DTYPES[dtype]), roots, dense)
    sizes = np.concatenate([nodes.category_set_sizes for nodes in trees])
    starts = np.concatenate([[0, 0], np.cumsum(sizes, dtype=np.int64)])
    blocks = np.concatenate([nodes.category_blocks for nodes in trees])
    return PackedCategoryTrees(np.zeros(n_nodes, CATEGORY_NODE_DTYPES[dtype]), roots, dense, starts, blocks)


class _LeafOutputs(NamedTuple):
    """Outputs of the leaves of one tree.

    Output k is a whole vote for class k; a leaf with any other vote has a dense output of its own.
    """

    numbers: NDArray[np.int64]  # (distribution,), number of the output; 0 if no leaf has the distribution
    dense: NDArray[np.float64]  # (dense output, class)


def _leaf_outputs(nodes: TreeNodes, vote: Vote, n_dense: int) -> _LeafOutputs:
    """Return the outputs of a tree that follows others with `n_dense` dense outputs.

    Votes are computed for distributions that some leaf has, and for a limited number of them at a time: a table of all
    pure distributions would have the square of the number of classes as its size.
    """
    n_classes = nodes.impure_distributions.shape[1]
    linked = np.flatnonzero(np.bincount(nodes.link[nodes.feature == NO_FEATURE]))
    numbers = np.zeros(n_classes + len(nodes.impure_distributions), dtype=np.int64)
    dense = [np.empty((0, n_classes))]
    at_once = max(1, _ENTRIES_AT_ONCE // n_classes)
    for first in range(0, len(linked), at_once):
        links = linked[first : first + at_once]
        votes = vote(_distributions(nodes, links))
        is_whole = (np.count_nonzero(votes, axis=1) == 1) & (votes.max(axis=1) == 1.0)
        next_dense = n_classes + n_dense + sum(map(len, dense))
        numbers[links] = np.where(is_whole, winning_classes(votes), next_dense + np.cumsum(~is_whole) - 1)
        dense.append(votes[~is_whole])
    return _LeafOutputs(numbers, np.concatenate(dense))


def _distributions(nodes: TreeNodes, links: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the class distributions that the links of leaves refer to, (link, class)."""
    n_classes = nodes.impure_distributions.shape[1]
    rows = np.zeros((len(links), n_classes))
    is_pure = links < n_classes
    rows[np.flatnonzero(is_pure), links[is_pure]] = 1.0
    rows[~is_pure] = nodes.impure_distributions[links[~is_pure] - n_classes]
    return rows


def rounded_down(thresholds: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """Return the largest number of type `dtype` that is not above each threshold, as float64.

    For x of that type, x <= threshold has the same value before and after rounding.
    """
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(dtype)
        below = np.nextafter(nearest, np.array(-np.inf, dtype=dtype))
    return np.where(nearest > thresholds, below, nearest).astype(np.float64)


def votes(X: NDArray[Any], trees: Trees, vote: Vote, n_threads: int = 1) -> NDArray[np.float64]:
    """Return the mean leaf vote over trees, (row, class), without caching their layout."""
    return packed_votes(X, packed_trees(trees, vote, X.dtype), n_threads)


def packed_votes(X: NDArray[Any], trees: Layout, n_threads: int = 1) -> NDArray[np.float64]:
    """Return the mean leaf vote over trees, (row, class).

    X is (row, feature) of the type that `trees` were packed for, in any memory order. Rows are distributed over the
    threads, and the votes on each row are added in the order of the trees. Each block of rows is a `stop_point`.
    """
    out = np.empty((X.shape[0], trees.dense_outputs.shape[1]), dtype=np.float64)
    if X.shape[0] == 1:  # the rest takes longer than the kernel
        mean_leaf_values(as_kernel_rows(X), trees, out)
        return out
    n_threads = min(n_threads, X.shape[0] // _MIN_ROWS_PER_THREAD)
    n_rows = _rows_per_block(X, trees, n_threads)
    stop_flag = stop_flag_of_block()

    def vote_on(first: int) -> None:
        raise_if_stopped(stop_flag)
        rows = slice(first, first + n_rows)
        mean_leaf_values(as_kernel_rows(X[rows]), trees, out[rows])

    blocks = range(0, X.shape[0], n_rows)
    if n_threads <= 1:
        for first in blocks:
            vote_on(first)
        return out
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(vote_on, blocks))
    return out


def _rows_per_block(X: NDArray[Any], trees: Layout, n_threads: int) -> int:
    steps_per_row = len(trees.roots) * (_STEPS_PER_WALK + trees.dense_outputs.shape[1])
    in_cache = _BYTES_PER_BLOCK // max(1, X.shape[1] * X.itemsize)
    n_rows = max(_MIN_ROWS_PER_BLOCK, min(in_cache, _STEPS_PER_BLOCK // steps_per_row))
    return min(n_rows, -(-X.shape[0] // max(1, n_threads))) or 1
