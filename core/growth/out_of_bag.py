"""Out-of-bag votes: votes of the trees whose bootstrap sample does not contain a row (Breiman 1996, "Out-of-bag
estimation").

The sample of a tree is drawn again from the initial state of its random stream, so that nothing is stored per tree and
row. Memory is needed for the votes, and for the out-of-bag rows of one tree per thread.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.class_votes import winning_classes
from core.groups import Groups, bootstrap_row_counts
from core.growth.tree_structure import Trees
from core.growth.voting import Vote, packed_trees, packed_votes
from core.kernels.prediction.packed_trees import Layout
from core.monitoring import raise_if_stopped
from core.validation.labels import Codes

#: Number of rows copied at a time, so that the copies are small compared to the training rows.
ROWS_PER_GATHER = 2**12


class Bootstrap(NamedTuple):
    """Input from which the bootstrap samples of a forest can be drawn again."""

    weights: NDArray[np.float64]  # (row,); rows of weight zero are never drawn
    states: NDArray[np.uint64]  # (tree, 1), before the trees have drawn from them
    groups: Groups | None = None  # that are drawn instead of rows

    def of_trees(self, trees: slice) -> "Bootstrap":
        """Return the samples of some of the trees."""
        return self._replace(states=self.states[trees])


class OutOfBagVotes(NamedTuple):
    """Out-of-bag votes of each row of X."""

    mean: NDArray[np.float64]  # (row, class), mean leaf vote of the trees that leave the row out; NaN if there are none
    n_trees: NDArray[np.int64]  # (row,), number of trees that leave the row out


class _TreeVotes(NamedTuple):
    rows: NDArray[np.int64]
    votes: NDArray[np.float64]  # (row, class)


def rows_left_out(bootstrap: Bootstrap, tree: int) -> NDArray[np.int64]:
    """Return the rows that the bootstrap sample of a tree does not contain, ascending: rows that were not drawn, or
    whose group was not drawn. A row of weight zero without such a group is always left out.
    """
    counts = bootstrap_row_counts(bootstrap.weights, bootstrap.groups, bootstrap.states[tree].copy())
    return np.flatnonzero(counts == 0)


def out_of_bag_votes(
    X: NDArray[Any],
    trees: Trees,
    vote: Vote,
    bootstrap: Bootstrap,
    n_threads: int = 1,
    stop_flag: NDArray[np.uint8] | None = None,
    numbers: NDArray[np.int64] | None = None,
) -> OutOfBagVotes:
    """Return the out-of-bag votes on the rows of X (row, feature), float32 or float64.

    `vote` maps the class distributions of leaves to their votes. Votes are added in the order of the trees, so that the
    result does not depend on `n_threads`. Raises FitStopped when `stop_flag` (1,) is set.

    numbers: numbers of the rows of X among those that samples are drawn from, ascending; None for all of these.
    """
    contiguous = np.ascontiguousarray(X)
    total = np.zeros((len(X), trees[0].impure_distributions.shape[1]), dtype=np.float64)
    n_trees = np.zeros(len(X), dtype=np.int64)

    def tree_votes(tree: int) -> _TreeVotes:
        raise_if_stopped(stop_flag)
        rows = _positions(rows_left_out(bootstrap, tree), numbers)
        packed = packed_trees((trees[tree],), vote, contiguous.dtype)
        return _TreeVotes(rows, _votes_on_rows(contiguous, rows, packed))

    with ThreadPoolExecutor(n_threads) as pool:
        for one in _in_batches(pool, tree_votes, len(bootstrap.states), n_threads):
            total[one.rows] += one.votes
            n_trees[one.rows] += 1
    return mean_votes(total, n_trees)


def _positions(rows: NDArray[np.int64], numbers: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return where in `numbers` those of `rows` are that are among them; both are ascending."""
    return rows if numbers is None else np.flatnonzero(np.isin(numbers, rows, assume_unique=True))


def merge_votes(parts: Sequence[OutOfBagVotes]) -> OutOfBagVotes:
    """Return the votes of all trees of a forest from those of its parts."""
    total = sum(np.nan_to_num(part.mean) * part.n_trees[:, np.newaxis] for part in parts)
    return mean_votes(np.asarray(total), np.asarray(sum(part.n_trees for part in parts)))


def mean_votes(total: NDArray[np.float64], n_trees: NDArray[np.int64]) -> OutOfBagVotes:
    """Return the votes of trees from their sums total (row, class) over n_trees (row,)."""
    n_votes = np.broadcast_to(n_trees[:, np.newaxis], total.shape)
    mean = np.divide(total, n_votes, out=np.full_like(total, np.nan), where=n_votes > 0)
    return OutOfBagVotes(mean, n_trees)


def accuracy(votes: OutOfBagVotes, codes: Codes, weights: NDArray[np.float64]) -> float:
    """Return the weighted accuracy of the votes; ties go to the lower class.

    Rows without votes are ignored; the accuracy is NaN if no row of positive weight has votes.
    """
    counted = (votes.n_trees > 0) & (weights > 0)
    if not counted.any():
        return float("nan")
    correct = winning_classes(votes.mean[counted]) == codes[counted]
    return float(np.average(correct, weights=weights[counted]))


def _in_batches(pool: ThreadPoolExecutor, tree_votes: Any, n_trees: int, n_threads: int) -> Iterator[_TreeVotes]:
    """Yield the votes of each tree in order, with at most `n_threads` results in memory."""
    for first in range(0, n_trees, n_threads):
        yield from pool.map(tree_votes, range(first, min(first + n_threads, n_trees)))


def _votes_on_rows(X: NDArray[Any], rows: NDArray[np.int64], tree: Layout) -> NDArray[np.float64]:
    """Return the votes of one tree on `rows`, (row, class)."""
    out = np.empty((len(rows), tree.dense_outputs.shape[1]), dtype=np.float64)
    for first in range(0, len(rows), ROWS_PER_GATHER):
        block = slice(first, first + ROWS_PER_GATHER)
        out[block] = packed_votes(np.take(X, rows[block], axis=0), tree)
    return out
