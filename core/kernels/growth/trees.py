"""Growth of one tree, depth first or best first.

Depth first, a node's rows are still in the cache when its children read them, and features found constant stay known
in the subtree. Best first makes the split that lowers the training risk most, wherever it is, until there are
`max_leaf_nodes` leaves.
"""

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalogue import Criterion
from core.kernels.features import BinnedFeatures
from core.kernels.growth.nodes import (
    GrowthLimits,
    GrowthRoom,
    Opened,
    Pending,
    Stack,
    open_node,
    split_node,
)
from core.kernels.growth.partition import TreeRows
from core.kernels.growth.tree_nodes import GrowingNodes, TreeNodes, grown_tree
from core.kernels.jit import inlined_kernel, inner_kernel, kernel
from core.kernels.random_state import next_word
from core.kernels.search.node_codes import gather_codes
from core.kernels.search.packed_sums import PackedRows, packed_rows

#: Decreases are ranked in multiples of 2**-40, about 1e-12, so that rounding does not decide which of two equal ones
#: goes first. Equal shares of rows are often halves of halves: a power of two keeps those off the borders.
_RANKS_PER_UNIT = 2.0**40


class Grown(NamedTuple):
    """The nodes, and whether growth ran to its end; a tree that has not is of no use."""

    nodes: TreeNodes
    finished: bool


@inner_kernel
def _put(stack: Stack, place: int, pending: Pending) -> None:
    row = stack.numbers[place]
    row[0], row[1], row[2] = pending.start, pending.stop, pending.depth
    row[3], row[4], row[5] = pending.parent, pending.is_left, pending.n_constant
    stack.seeds[place] = pending.seed


@inner_kernel
def _taken(stack: Stack, place: int) -> Pending:
    row = stack.numbers[place]
    return Pending(row[0], row[1], row[2], row[3], row[4], row[5], stack.seeds[place])


@inner_kernel
def _root(n_rows: int, random_state: NDArray[np.uint64]) -> Pending:
    return Pending(0, n_rows, 0, -1, 0, 0, next_word(random_state))


@inner_kernel
def _restart(room: GrowthRoom) -> None:
    """Forget the order in which another tree left the features."""
    for f in range(room.search.candidates.shape[0]):
        room.search.candidates[f] = f


@inlined_kernel
def _pack(tree_rows: TreeRows, limits: GrowthLimits, room: GrowthRoom) -> PackedRows:
    """The rows of the tree packed for random cuts, where they fit."""
    return packed_rows(tree_rows.labels, tree_rows.weights, room.words, room.search.lanes, limits.search.random_cuts)


@inner_kernel
def _grow_nodes(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    packed: PackedRows,
    criterion: Criterion,
    limits: GrowthLimits,
    tree_weight: float,
    root: Pending,
    stop_flag: NDArray[np.uint8],
    room: GrowthRoom,
) -> tuple[int, bool]:
    """Fill room.nodes; returns their number, and whether growth ran to its end."""
    nodes, stack = room.nodes, room.stack
    _restart(room)
    _put(stack, 0, root)
    n_nodes, size = 0, 1
    while size > 0 and stop_flag[0] == 0:
        size -= 1
        pending = _taken(stack, size)
        node, n_nodes = n_nodes, n_nodes + 1
        opened = open_node(criterion, features, tree_rows, packed, pending, limits, tree_weight, nodes, node, room)
        if opened.split.feature >= 0:
            left, right = split_node(features, tree_rows, packed, pending, opened, nodes, node, room)
            # Left on top of right: nodes are numbered in preorder.
            _put(stack, size, right)
            _put(stack, size + 1, left)
            size += 2
    return n_nodes, size == 0


@kernel
def grow_depth_first(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    criterion: Criterion,
    limits: GrowthLimits,
    random_state: NDArray[np.uint64],
    stop_flag: NDArray[np.uint8],
    room: GrowthRoom,
) -> Grown:
    """Grow one tree on rows of positive weight. Reorders `tree_rows`, advances `random_state`.

    `stop_flag` (1,) is read at every node: once it is not zero, growth returns with finished = False.
    """
    root = _root(tree_rows.rows.shape[0], random_state)
    tree_weight, packed = tree_rows.weights.sum(), _pack(tree_rows, limits, room)
    n_nodes, finished = _grow_nodes(features, tree_rows, packed, criterion, limits, tree_weight, root, stop_flag, room)
    return Grown(grown_tree(room.nodes, n_nodes if finished else 0), finished)


@inner_kernel
def _opened(
    criterion: Criterion,
    features: BinnedFeatures,
    tree_rows: TreeRows,
    packed: PackedRows,
    pending: Pending,
    limits: GrowthLimits,
    tree_weight: float,
    nodes: GrowingNodes,
    node: int,
    room: GrowthRoom,
) -> Opened:
    """`open_node` as a function of its own, since growth best first asks for it in two places."""
    return open_node(criterion, features, tree_rows, packed, pending, limits, tree_weight, nodes, node, room)


@inner_kernel
def _split(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    packed: PackedRows,
    pending: Pending,
    opened: Opened,
    nodes: GrowingNodes,
    node: int,
    room: GrowthRoom,
) -> tuple[Pending, Pending]:
    """`split_node` without counting references, which growth best first does for its lists. Other nodes were opened
    meanwhile: the codes are fetched again.
    """
    rows = tree_rows.rows[pending.start : pending.stop]
    gather_codes(features, opened.split.feature, rows, room.search.codes[opened.buffer])
    return split_node(features, tree_rows, packed, pending, opened, nodes, node, room)


@inner_kernel
def _place_in_queue(opened: Opened, number: int) -> tuple[float, int]:
    return -np.floor(opened.decrease * _RANKS_PER_UNIT + 0.5), number


@kernel
def grow_best_first(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    criterion: Criterion,
    limits: GrowthLimits,
    random_state: NDArray[np.uint64],
    stop_flag: NDArray[np.uint8],
    room: GrowthRoom,
) -> Grown:
    """The same with at most limits.max_leaf_nodes leaves. Of splits that lower the risk alike, the older node's goes
    first.
    """
    root = _root(tree_rows.rows.shape[0], random_state)
    tree_weight, nodes = tree_rows.weights.sum(), room.nodes
    packed = _pack(tree_rows, limits, room)
    _restart(room)
    waiting = [root]
    number = len(waiting) - 1  # no literal 0, for which all of it would be compiled once more
    opened = [_opened(criterion, features, tree_rows, packed, root, limits, tree_weight, nodes, number, room)]
    states = [room.random_state[0]]
    queue = [_place_in_queue(opened[0], 0)]
    n_leaves = 1
    while len(queue) > 0 and n_leaves < limits.max_leaf_nodes and stop_flag[0] == 0:
        node = heapq.heappop(queue)[1]
        if opened[node].split.feature < 0:
            continue
        room.random_state[0] = states[node]
        for child in _split(features, tree_rows, packed, waiting[node], opened[node], nodes, node, room):
            # what is known constant in one subtree is forgotten when growth goes on in another
            child = Pending(child.start, child.stop, child.depth, node, child.is_left, 0, child.seed)
            number = len(waiting)
            waiting.append(child)
            opened.append(
                _opened(criterion, features, tree_rows, packed, child, limits, tree_weight, nodes, number, room)
            )
            states.append(room.random_state[0])
            heapq.heappush(queue, _place_in_queue(opened[number], number))
        n_leaves += 1
    return Grown(grown_tree(nodes, len(waiting)), stop_flag[0] == 0)
