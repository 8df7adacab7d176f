"""Votes of many trees over their prediction layout, which is made when rows first ask for it and kept beside the
estimator, never in it: artefacts, copies and `get_params` know nothing of it.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from core.growth.tree_structure import Trees
from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes
from core.kernels.prediction.packed_trees import NODE_DTYPES, PackedTrees, pack, put_ballots
from core.kernels.prediction.traversal import mean_leaf_values

#: From class distributions (distribution, class) to what leaves with them add to a prediction, same shape.
Vote = Callable[[NDArray[np.float64]], NDArray[np.float64]]

#: Bytes of the rows that pass through all trees together: they stay in the cache while the trees come by.
_BYTES_PER_BLOCK = 512 * 1024
#: Fewest rows of a block: below, a tree would be fetched for too few of them.
_FEWEST_ROWS = 64
#: Fewest rows worth the start of a thread.
_ROWS_PER_THREAD = 256


#: Numbers of class distributions that are asked for their votes together.
_NUMBERS_AT_ONCE = 2**20


class _Held(NamedTuple):
    """Layouts of `trees` by width of the rows; a new fit brings new trees, for which these count no more."""

    trees: Any
    by_width: dict[np.dtype[Any], PackedTrees]


_HELD: WeakKeyDictionary[Any, _Held] = WeakKeyDictionary()


def packed_of(owner: Any, trees: Trees, vote: Vote, width: np.dtype[Any]) -> PackedTrees:
    """The layout of the owner's trees for rows of type `width`, made once for each fit."""
    return held_layout(owner, trees, width, lambda: packed_trees(trees, vote, width))


def held_layout(owner: Any, trees: Any, width: np.dtype[Any], make: Callable[[], PackedTrees]) -> PackedTrees:
    """What `make` makes of the owner's trees, made once for each fit and width.

    Threads that ask at the same time may each make one; they are equal. Kept until the owner goes away.
    """
    held = _HELD.get(owner)
    if held is None or held.trees is not trees:
        held = _HELD[owner] = _Held(trees, {})
    packed = held.by_width.get(width)
    if packed is None:
        packed = held.by_width[width] = make()
    return packed


def packed_trees(trees: Trees, vote: Vote, width: np.dtype[Any]) -> PackedTrees:
    """The prediction layout of `trees` for rows of type `width`, filled tree by tree."""
    ballots: list[_Ballots] = []
    for nodes in trees:
        ballots.append(_ballots_of(nodes, vote, sum(len(one.mixed) for one in ballots)))
    mixed = np.concatenate([one.mixed for one in ballots])
    n_inner = sum(int(np.count_nonzero(nodes.feature != NO_FEATURE)) for nodes in trees)
    n_nodes = mixed.shape[1] + len(mixed) + n_inner
    packed = PackedTrees(np.empty(n_nodes, NODE_DTYPES[width]), np.empty(len(trees), np.uint32), mixed)
    used = put_ballots(packed)
    for nodes, one in zip(trees, ballots, strict=True):
        exact = nodes._replace(threshold=rounded_down(nodes.threshold, width))
        used = pack(exact, one.numbers, packed, used)
    return packed


class _Ballots(NamedTuple):
    """What the leaves of one tree vote for."""

    numbers: NDArray[np.int64]  # (distribution,): ballots, 0 where no leaf has the distribution
    mixed: NDArray[np.float64]  # (leaf that is not one whole vote, class)


def _ballots_of(nodes: TreeNodes, vote: Vote, n_mixed: int) -> _Ballots:
    """Ballots of a tree that follows others with `n_mixed` mixed leaves. Only distributions that some leaf has are
    looked at, and few of them at once: all of them would take the square of the number of classes.
    """
    n_classes = nodes.mixed.shape[1]
    linked = np.flatnonzero(np.bincount(nodes.link[nodes.feature == NO_FEATURE]))
    numbers = np.zeros(n_classes + len(nodes.mixed), dtype=np.int64)
    mixed = [np.empty((0, n_classes))]
    at_once = max(1, _NUMBERS_AT_ONCE // n_classes)
    for first in range(0, len(linked), at_once):
        some = linked[first : first + at_once]
        votes = vote(_distributions(nodes, some))
        is_whole = (np.count_nonzero(votes, axis=1) == 1) & (votes.max(axis=1) == 1.0)
        next_mixed = n_classes + n_mixed + sum(map(len, mixed))
        numbers[some] = np.where(is_whole, votes.argmax(axis=1), next_mixed + np.cumsum(~is_whole) - 1)
        mixed.append(votes[~is_whole])
    return _Ballots(numbers, np.concatenate(mixed))


def _distributions(nodes: TreeNodes, links: NDArray[np.int64]) -> NDArray[np.float64]:
    """Class distributions of leaves by their links, (link, class)."""
    n_classes = nodes.mixed.shape[1]
    rows = np.zeros((len(links), n_classes))
    is_pure = links < n_classes
    rows[np.flatnonzero(is_pure), links[is_pure]] = 1.0
    rows[~is_pure] = nodes.mixed[links[~is_pure] - n_classes]
    return rows


def rounded_down(thresholds: NDArray[np.float64], width: np.dtype[Any]) -> NDArray[np.float64]:
    """The largest number of type `width` that is not above each threshold, as float64.

    For x of that type, x <= threshold says the same before and after.
    """
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(width)
        below = np.nextafter(nearest, np.array(-np.inf, dtype=width))
    return np.where(nearest > thresholds, below, nearest).astype(np.float64)


def votes(X: NDArray[Any], trees: Trees, vote: Vote, n_threads: int = 1) -> NDArray[np.float64]:
    """Mean leaf vote over trees, (row, class), of trees that are asked only once."""
    return packed_votes(X, packed_trees(trees, vote, X.dtype), n_threads)


def packed_votes(X: NDArray[Any], trees: PackedTrees, n_threads: int = 1) -> NDArray[np.float64]:
    """Mean leaf vote over trees, (row, class). X: float32 or float64 (row, feature), the width of `trees`, any order.

    Threads share out the rows; each sum runs in tree order.
    """
    out = np.empty((X.shape[0], trees.mixed.shape[1]), dtype=np.float64)
    n_threads = min(n_threads, X.shape[0] // _ROWS_PER_THREAD)
    n_rows = _rows_per_block(X, n_threads)

    def vote_on(first: int) -> None:
        rows = slice(first, first + n_rows)
        mean_leaf_values(_for_kernel(X[rows]), trees, out[rows])

    blocks = range(0, X.shape[0], n_rows)
    if n_threads <= 1:
        for first in blocks:
            vote_on(first)
        return out
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(vote_on, blocks))
    return out


def _rows_per_block(X: NDArray[Any], n_threads: int) -> int:
    in_cache = max(_FEWEST_ROWS, _BYTES_PER_BLOCK // max(1, X.shape[1] * X.itemsize))
    return min(in_cache, -(-X.shape[0] // max(1, n_threads))) or 1


def _for_kernel(X: NDArray[Any]) -> NDArray[Any]:
    """C order and writeable, since numba compiles other arrays anew; a copy where X is not."""
    return X if X.flags.carray else np.array(X, order="C")
