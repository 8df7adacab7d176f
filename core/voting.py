"""Votes of many trees over their prediction layout, which is made when rows first ask for it and kept beside the
estimator, never in it: artefacts, copies and `get_params` know nothing of it.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from core.kernels.packed_trees import NODE_DTYPES, PackedTrees, Used, count_mixed, pack
from core.kernels.traversal import mean_leaf_values
from core.kernels.tree_nodes import LEAF, TreeNodes
from core.tree_structure import Trees

#: From the class distributions of nodes (node, class) to what leaves with them add to a prediction, same shape.
Vote = Callable[[NDArray[np.float64]], NDArray[np.float64]]

#: Bytes of the rows that pass through all trees together: they stay in the cache while the trees come by.
_BYTES_PER_BLOCK = 512 * 1024
#: Fewest rows of a block: below, a tree would be fetched for too few of them.
_FEWEST_ROWS = 64
#: Fewest rows worth the start of a thread.
_ROWS_PER_THREAD = 256


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
    n_inner = sum(int(np.count_nonzero(nodes.children_left != LEAF)) for nodes in trees)
    n_mixed = sum(count_mixed(nodes.children_left, _leaf_votes(nodes, vote)) for nodes in trees)
    packed = PackedTrees(
        np.empty(n_inner, NODE_DTYPES[width]),
        np.empty(len(trees), np.int32),
        np.empty((n_mixed, trees[0].value.shape[1])),
    )
    used = Used(0, 0, 0)
    for nodes in trees:
        exact = nodes._replace(threshold=rounded_down(nodes.threshold, width))
        used = pack(exact, _leaf_votes(nodes, vote), packed, used)
    return packed


def _leaf_votes(nodes: TreeNodes, vote: Vote) -> NDArray[np.float64]:
    """What each leaf of a tree adds, (node, class), as kernels take it."""
    return np.require(vote(nodes.value), np.float64, ["C", "W"])


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
