"""Pruning of grown trees to larger leaves.

A split is removed, with all that is below it, if one of its children has fewer than `min_samples_leaf` training rows.
So one grown tree contains a tree for every minimum number of rows per leaf. It is not the tree that is grown with that
minimum, which would look for another split of the same node first.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.growth.out_of_bag import ROWS_PER_GATHER, Bootstrap, OutOfBagVotes, mean_votes, rows_left_out
from core.growth.tree_structure import Trees
from core.kernels.growth.pruning import nodes_after_pruning
from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes, class_distributions
from core.kernels.prediction.traversal import find_leaves
from core.monitoring import raise_if_stopped


class LeavesOfRows(NamedTuple):
    """Rows that the bootstrap sample of a tree does not contain, and the leaves of the tree that they reach."""

    rows: NDArray[np.int64]
    leaves: NDArray[np.int32]  # (row,), before pruning


def prune(nodes: TreeNodes, min_samples_leaf: int) -> TreeNodes:
    """Return the tree without splits into children of fewer than `min_samples_leaf` rows."""
    if min_samples_leaf == 1:
        return nodes
    remaining = _remaining(nodes, min_samples_leaf)
    is_kept = remaining == np.arange(len(remaining))
    is_inner = np.zeros(len(remaining), dtype=np.bool_)
    splits = np.flatnonzero(nodes.feature != NO_FEATURE)
    is_inner[splits] = is_kept[splits + 1]
    kept, sets = np.flatnonzero(is_kept), is_inner[nodes.category_nodes]
    is_split = is_inner[kept]
    links, distributions = _links_of_leaves(class_distributions(nodes)[is_kept & ~is_inner])
    new_numbers = (np.cumsum(is_kept) - 1).astype(np.int32)
    link = np.empty(len(kept), dtype=np.int32)
    link[is_split] = new_numbers[nodes.link[is_inner]]
    link[~is_split] = links
    return TreeNodes(
        feature=np.where(is_split, nodes.feature[kept], NO_FEATURE).astype(np.int32),
        link=link,
        threshold=np.where(is_split, nodes.threshold[kept], 0.0),
        missing_go_to_left=nodes.missing_go_to_left[kept] * is_split,
        impurity=nodes.impurity[kept],
        n_node_samples=nodes.n_node_samples[kept],
        weighted_n_node_samples=nodes.weighted_n_node_samples[kept],
        impure_distributions=distributions,
        category_nodes=new_numbers[nodes.category_nodes[sets]],
        category_set_sizes=nodes.category_set_sizes[sets],
        category_blocks=nodes.category_blocks[np.repeat(sets, nodes.category_set_sizes)],
    )


def _remaining(nodes: TreeNodes, min_samples_leaf: int) -> NDArray[np.int32]:
    remaining = np.empty(len(nodes.feature), dtype=np.int32)
    nodes_after_pruning(nodes, min_samples_leaf, remaining)
    return remaining


def _links_of_leaves(distributions: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the links of leaves with `distributions` (leaf, class), and those of leaves with several classes."""
    is_pure = np.count_nonzero(distributions, axis=1) == 1
    numbers = distributions.shape[1] + np.cumsum(~is_pure) - 1
    return np.where(is_pure, distributions.argmax(axis=1), numbers), distributions[~is_pure]


def leaves_of_left_out_rows(
    X: NDArray[Any], trees: Trees, bootstrap: Bootstrap, n_threads: int, stop_flag: NDArray[np.uint8]
) -> tuple[LeavesOfRows, ...]:
    """Return which rows of X (row, feature) each tree leaves out, and their leaves. Raises FitStopped."""
    contiguous = np.ascontiguousarray(X)

    def of_tree(tree: int) -> LeavesOfRows:
        raise_if_stopped(stop_flag)
        rows = rows_left_out(bootstrap, tree)
        leaves = np.empty(len(rows), dtype=np.int32)
        for first in range(0, len(rows), ROWS_PER_GATHER):
            block = slice(first, first + ROWS_PER_GATHER)
            find_leaves(np.take(contiguous, rows[block], axis=0), trees[tree], leaves[block])
        return LeavesOfRows(rows, leaves)

    with ThreadPoolExecutor(n_threads) as pool:
        return tuple(pool.map(of_tree, range(len(trees))))


def votes_of_pruned(
    trees: Trees, left_out: tuple[LeavesOfRows, ...], min_samples_leaf: int, n_rows: int
) -> OutOfBagVotes:
    """Return the out-of-bag votes of the pruned trees on `n_rows` rows; each leaf votes with its class distribution.

    Nothing is pruned: a row votes with the class distribution of the node that would be its leaf. These are the votes
    that `out_of_bag_votes` of the pruned trees returns, up to rounding.
    """
    total = np.zeros((n_rows, trees[0].impure_distributions.shape[1]))
    n_trees = np.zeros(n_rows, dtype=np.int64)
    for nodes, one in zip(trees, left_out, strict=True):
        new_leaves = _remaining(nodes, min_samples_leaf)[one.leaves]
        total[one.rows] += class_distributions(nodes)[new_leaves]
        n_trees[one.rows] += 1
    return mean_votes(total, n_trees)
