"""Out-of-bag votes: what the trees that never saw a row say about it (Breiman 1996, "Out-of-bag estimation").

A tree's sample is drawn again from the state it was drawn from, so nothing is kept per tree and row. Memory is that of
the votes, and of the left-out rows of one tree per thread.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.growth.growing import bootstrap_weights
from core.growth.tree_structure import Trees
from core.growth.voting import Vote, packed_trees, packed_votes
from core.kernels.prediction.packed_trees import PackedTrees
from core.monitoring import raise_if_stopped

#: Rows gathered at a time: the copies stay small beside the training rows.
_ROWS_PER_GATHER = 2**12


class Bootstrap(NamedTuple):
    """All that is needed to draw the samples of a forest again."""

    weights: NDArray[np.float64]  # (row,); rows of weight zero are never drawn
    states: NDArray[np.uint64]  # (tree, 1), as they were before the trees drew from them


class OutOfBagVotes(NamedTuple):
    """One row per row of X."""

    mean: NDArray[np.float64]  # (row, class), mean leaf vote over the trees that left the row out; NaN without one
    n_trees: NDArray[np.int64]  # (row,), how many trees left the row out


class _TreeVotes(NamedTuple):
    rows: NDArray[np.int64]
    votes: NDArray[np.float64]  # (row, class)


def rows_left_out(bootstrap: Bootstrap, tree: int) -> NDArray[np.int64]:
    """Numbers of the rows that the tree's sample lacks, ascending; a row of weight zero is lacking in all."""
    drawn = bootstrap_weights(bootstrap.weights, bootstrap.states[tree].copy())
    return np.flatnonzero(drawn == 0)


def out_of_bag_votes(
    X: NDArray[Any],
    trees: Trees,
    vote: Vote,
    bootstrap: Bootstrap,
    n_threads: int = 1,
    stop_flag: NDArray[np.uint8] | None = None,
) -> OutOfBagVotes:
    """Votes on the rows of X (row, feature), float32 or float64; `vote` says what leaves add.

    Sums run in tree order whatever the threads do.

    Raises FitStopped when `stop_flag` (1,) is set.
    """
    contiguous = np.ascontiguousarray(X)
    total = np.zeros((len(X), trees[0].mixed.shape[1]), dtype=np.float64)
    n_trees = np.zeros(len(X), dtype=np.int64)

    def votes_of(tree: int) -> _TreeVotes:
        raise_if_stopped(stop_flag)
        rows = rows_left_out(bootstrap, tree)
        packed = packed_trees((trees[tree],), vote, contiguous.dtype)
        return _TreeVotes(rows, _votes_of_tree(contiguous, rows, packed))

    with ThreadPoolExecutor(n_threads) as pool:
        for one in _a_few_at_a_time(pool, votes_of, len(bootstrap.states), n_threads):
            total[one.rows] += one.votes
            n_trees[one.rows] += 1
    n_votes = np.broadcast_to(n_trees[:, np.newaxis], total.shape)
    mean = np.divide(total, n_votes, out=np.full_like(total, np.nan), where=n_votes > 0)
    return OutOfBagVotes(mean, n_trees)


def accuracy(left_out: OutOfBagVotes, codes: NDArray[np.int32], weights: NDArray[np.float64]) -> float:
    """Share by weight of the rows that the votes get right, ties to the lower class; rows without votes are passed
    over. NaN when no row of positive weight has votes.
    """
    counted = (left_out.n_trees > 0) & (weights > 0)
    if not counted.any():
        return float("nan")
    correct = left_out.mean[counted].argmax(axis=1) == codes[counted]
    return float(np.average(correct, weights=weights[counted]))


def _a_few_at_a_time(pool: ThreadPoolExecutor, votes_of: Any, n_trees: int, n_threads: int) -> Iterator[_TreeVotes]:
    """In tree order, and never more results at once than threads."""
    for first in range(0, n_trees, n_threads):
        yield from pool.map(votes_of, range(first, min(first + n_threads, n_trees)))


def _votes_of_tree(X: NDArray[Any], rows: NDArray[np.int64], tree: PackedTrees) -> NDArray[np.float64]:
    """Vote of one tree on each of `rows`, (row, class)."""
    out = np.empty((len(rows), tree.mixed.shape[1]), dtype=np.float64)
    for first in range(0, len(rows), _ROWS_PER_GATHER):
        block = slice(first, first + _ROWS_PER_GATHER)
        out[block] = packed_votes(np.take(X, rows[block], axis=0), tree)
    return out
