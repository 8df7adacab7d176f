"""Growth of one tree, depth first or best first.

Depth first, a node's rows are still in the cache when its children read them, and features found constant stay known
in the subtree. Best first makes the split that lowers the training risk most, wherever it is, until there are
`max_leaf_nodes` leaves.
"""

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria import Criterion
from core.kernels.features import BinnedFeatures
from core.kernels.growing_node import (
    GrowthLimits,
    Pending,
    new_growth_room,
    open_node,
    split_node,
)
from core.kernels.jit import kernel
from core.kernels.partition import TreeRows
from core.kernels.random_state import next_word
from core.kernels.tree_nodes import TreeNodes, in_preorder, new_nodes, resized

FIRST_CAPACITY = 256
_STACK_COLUMNS = 6


class Grown(NamedTuple):
    """The nodes, and whether growth ran to its end."""

    nodes: TreeNodes
    finished: bool


class Stack(NamedTuple):
    """Pending nodes, one a row; the top is the last one in use."""

    numbers: NDArray[np.int64]  # (pending, start | stop | depth | parent | is_left | n_constant)
    seeds: NDArray[np.uint64]  # (pending,)


@kernel
def _push(stack: Stack, size: int, pending: Pending) -> Stack:
    """Put `pending` on top; returns the stack, moved to larger arrays when it was full."""
    if size == stack.seeds.shape[0]:
        larger = Stack(np.empty((2 * size, _STACK_COLUMNS), dtype=np.int64), np.empty(2 * size, dtype=np.uint64))
        larger.numbers[:size] = stack.numbers
        larger.seeds[:size] = stack.seeds
        stack = larger
    row = stack.numbers[size]
    row[0], row[1], row[2] = pending.start, pending.stop, pending.depth
    row[3], row[4], row[5] = pending.parent, pending.is_left, pending.n_constant
    stack.seeds[size] = pending.seed
    return stack


@kernel
def _top(stack: Stack, size: int) -> Pending:
    row = stack.numbers[size - 1]
    return Pending(row[0], row[1], row[2], row[3], row[4], row[5], stack.seeds[size - 1])


@kernel
def _root(n_rows: int, random_state: NDArray[np.uint64]) -> Pending:
    return Pending(0, n_rows, 0, -1, 0, 0, next_word(random_state))


@kernel
def grow_depth_first(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    n_classes: int,
    criterion: Criterion,
    limits: GrowthLimits,
    random_state: NDArray[np.uint64],
    stop_flag: NDArray[np.uint8],
) -> Grown:
    """Grow one tree on rows of positive weight. Reorders `tree_rows`, advances `random_state`.

    `stop_flag` (1,) is read at every node: once it is not zero, growth returns with finished = False.
    """
    n_rows, tree_weight = tree_rows.rows.shape[0], tree_rows.weights.sum()
    room = new_growth_room(features, n_rows, n_classes)
    nodes, n_nodes = new_nodes(FIRST_CAPACITY, n_classes), 0
    stack = Stack(np.empty((64, _STACK_COLUMNS), dtype=np.int64), np.empty(64, dtype=np.uint64))
    stack, size = _push(stack, 0, _root(n_rows, random_state)), 1
    while size > 0 and stop_flag[0] == 0:
        pending = _top(stack, size)
        size -= 1
        if n_nodes == nodes.feature.shape[0]:
            nodes = resized(nodes, n_nodes, 2 * n_nodes)
        node, n_nodes = n_nodes, n_nodes + 1
        opened = open_node(criterion, features, tree_rows, pending, limits, tree_weight, nodes, node, room)
        if opened.split.feature < 0:
            continue
        left, right = split_node(features, tree_rows, pending, opened, nodes, node, room)
        # Left on top of right: nodes are numbered in preorder.
        stack = _push(stack, size, right)
        stack = _push(stack, size + 1, left)
        size += 2
    return Grown(resized(nodes, n_nodes, n_nodes), size == 0)


@kernel
def grow_best_first(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    n_classes: int,
    criterion: Criterion,
    limits: GrowthLimits,
    random_state: NDArray[np.uint64],
    stop_flag: NDArray[np.uint8],
) -> Grown:
    """The same with at most limits.max_leaf_nodes leaves. Among splits of equal decrease, the older node goes first."""
    n_rows, tree_weight = tree_rows.rows.shape[0], tree_rows.weights.sum()
    room = new_growth_room(features, n_rows, n_classes)
    capacity = 2 * min(limits.max_leaf_nodes, n_rows)
    nodes = new_nodes(capacity, n_classes)
    root = _root(n_rows, random_state)
    waiting = [root]
    opened = [open_node(criterion, features, tree_rows, root, limits, tree_weight, nodes, 0, room)]
    states = [room.random_state[0]]
    queue = [(-opened[0].decrease, 0)]
    n_leaves = 1
    while len(queue) > 0 and n_leaves < limits.max_leaf_nodes and stop_flag[0] == 0:
        node = heapq.heappop(queue)[1]
        if opened[node].split.feature < 0:
            continue
        room.random_state[0] = states[node]
        for child in split_node(features, tree_rows, waiting[node], opened[node], nodes, node, room):
            # what is known constant in one subtree is forgotten when growth goes on in another
            child = Pending(child.start, child.stop, child.depth, node, child.is_left, 0, child.seed)
            number = len(waiting)
            waiting.append(child)
            opened.append(open_node(criterion, features, tree_rows, child, limits, tree_weight, nodes, number, room))
            states.append(room.random_state[0])
            heapq.heappush(queue, (-opened[number].decrease, number))
        n_leaves += 1
    return Grown(in_preorder(resized(nodes, len(waiting), len(waiting))), stop_flag[0] == 0)
