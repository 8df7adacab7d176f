"""Growth of one tree, depth first or best first.

In depth-first order, the rows of a node are still in the cache when its children read them, and features that are
constant in a node are known to be constant in its subtree. In best-first order, the split that decreases the training
risk most is made next, wherever it is, until there are `max_leaf_nodes` leaves.

Each node draws from a random stream of its own, so that several calls can grow parts of one tree in any order.
"""

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalog import Criterion
from core.kernels.features import BinnedFeatures
from core.kernels.growth.growth_workspace import GrowthLimits, GrowthWorkspace, Stack
from core.kernels.growth.nodes import (
    CandidateSplit,
    PendingNode,
    split_node,
    start_node,
)
from core.kernels.growth.partition import TreeRows
from core.kernels.growth.tree_nodes import GrowingNodes
from core.kernels.jit import inlined_kernel, inner_kernel, kernel
from core.kernels.random_state import next_word
from core.kernels.search.node_codes import gather_codes
from core.kernels.search.packed_sums import PackedRows, bits_per_class, pack_weights

#: Decreases are ranked in multiples of 2**-40, about 1e-12, so that rounding does not decide between equal ones.
#: Decreases are often multiples of a power of two, as ranks are, and so are not at the border of two ranks.
_RANKS_PER_UNIT = 2.0**40


class TreePart(NamedTuple):
    """Part of a tree that one call grows: a whole tree, or the subtree of the pending node at position 0 of the stack.

    Pending nodes with a number of rows in the range of the deferred ones are not grown, but stored at the end of the
    stack.
    """

    is_subtree: bool
    tree_weight: float  # of the whole tree that a subtree belongs to
    fewest_deferred_rows: int
    most_deferred_rows: int


#: All nodes of a tree.
WHOLE_TREE = TreePart(False, 0.0, 0, -1)


class GrowthResult(NamedTuple):
    """Number of nodes in workspace.nodes, and whether growth was completed; an incomplete tree must not be used.

    Kernels return the fields of this tuple.
    """

    n_nodes: int
    finished: bool
    n_deferred: int  # the last positions of the stack hold these pending nodes
    tree_weight: float


#: Fields of a `GrowthResult`.
GrowthFields = tuple[int, bool, int, float]


@inner_kernel
def write_pending(stack: Stack, position: int, pending: PendingNode) -> None:
    """Store a pending node at a position of the stack."""
    row = stack.numbers[position]
    row[0], row[1], row[2] = pending.start, pending.stop, pending.depth
    row[3], row[4], row[5] = pending.parent, pending.is_left, pending.n_constant
    stack.seeds[position] = pending.seed


@inner_kernel
def read_pending(stack: Stack, position: int) -> PendingNode:
    """Return the pending node at a position of the stack."""
    row = stack.numbers[position]
    return PendingNode(row[0], row[1], row[2], row[3], row[4], row[5], stack.seeds[position])


@inner_kernel
def _new_root(n_rows: int, random_state: NDArray[np.uint64]) -> PendingNode:
    """Return the root, whose seed is drawn from `random_state`."""
    return PendingNode(0, n_rows, 0, -1, 0, 0, next_word(random_state))


@inner_kernel
def _reset_feature_order(workspace: GrowthWorkspace) -> None:
    """Reset the order in which the previous tree left the features."""
    for f in range(workspace.search.feature_order.shape[0]):
        workspace.search.feature_order[f] = f


@inner_kernel
def _total(weights: NDArray[np.float64]) -> float:
    """Return the sum of the weights, added in their order."""
    total = 0.0
    for i in range(weights.shape[0]):
        total += weights[i]
    return total


@inner_kernel
def _pack(tree_rows: TreeRows, words: NDArray[np.uint64] | None, n_classes: int) -> int:
    """Fill `words` (row,), if there are any; return how many can be summed, 0 if rows cannot be packed."""
    if words is None:
        return 0
    return pack_weights(tree_rows.labels, tree_rows.weights, n_classes, words)


@inlined_kernel
def _packed_rows(
    tree_rows: TreeRows, words: NDArray[np.uint64] | None, n_fitting: int, lanes: NDArray[np.int64]
) -> PackedRows | None:
    """Return the words of the tree, of which `n_fitting` can be summed; None for best cuts."""
    if words is None:
        return None
    return PackedRows(words[: tree_rows.rows.shape[0]], lanes, n_fitting, bits_per_class(lanes.shape[0]))


@inlined_kernel
def _grow_depth_first(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    criterion: Criterion,
    limits: GrowthLimits,
    random_state: NDArray[np.uint64],
    stop_flag: NDArray[np.uint8],
    workspace: GrowthWorkspace,
    part: TreePart,
) -> GrowthFields:
    """Grow a part of a tree without reference counting."""
    nodes, stack = workspace.nodes, workspace.stack
    tree_weight = part.tree_weight if part.is_subtree else _total(tree_rows.weights)
    words, lanes = workspace.words, workspace.search.lanes
    packed = _packed_rows(tree_rows, words, _pack(tree_rows, words, lanes.shape[0]), lanes)
    _reset_feature_order(workspace)
    if not part.is_subtree:
        write_pending(stack, 0, _new_root(tree_rows.rows.shape[0], random_state))
    n_nodes, size, n_deferred = 0, 1, 0
    while size > 0 and stop_flag[0] == 0:
        size -= 1
        pending = read_pending(stack, size)
        if part.fewest_deferred_rows <= pending.stop - pending.start <= part.most_deferred_rows:
            n_deferred += 1
            write_pending(stack, stack.seeds.shape[0] - n_deferred, pending)
            continue
        node, n_nodes = n_nodes, n_nodes + 1
        candidate = start_node(
            criterion, features, tree_rows, packed, pending, limits, tree_weight, nodes, node, stop_flag, workspace
        )
        if candidate.split.feature >= 0:
            left, right = split_node(features, tree_rows, packed, pending, candidate, nodes, node, workspace)
            # The left child is on top, so that nodes are numbered in preorder.
            write_pending(stack, size, right)
            write_pending(stack, size + 1, left)
            size += 2
    return n_nodes, size == 0 and stop_flag[0] == 0, n_deferred, tree_weight


@kernel
def grow_depth_first(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    criterion: Criterion,
    limits: GrowthLimits,
    random_state: NDArray[np.uint64],
    stop_flag: NDArray[np.uint8],
    workspace: GrowthWorkspace,
    part: TreePart,
) -> GrowthFields:
    """Grow a part of a tree on rows of positive weight. Reorders `tree_rows`; a whole tree advances `random_state`.

    `stop_flag` (1,) is read at each node and at each feature of a node. If it is not zero, growth returns with
    finished = False.
    """
    return _grow_depth_first(features, tree_rows, criterion, limits, random_state, stop_flag, workspace, part)


@inner_kernel
def _start_node(
    criterion: Criterion,
    features: BinnedFeatures,
    tree_rows: TreeRows,
    n_fitting: int,
    pending: PendingNode,
    limits: GrowthLimits,
    tree_weight: float,
    nodes: GrowingNodes,
    node: int,
    stop_flag: NDArray[np.uint8],
    workspace: GrowthWorkspace,
) -> CandidateSplit:
    """Call `start_node` without inlining it, since best-first growth calls it in two places."""
    packed = _packed_rows(tree_rows, workspace.words, n_fitting, workspace.search.lanes)
    return start_node(
        criterion, features, tree_rows, packed, pending, limits, tree_weight, nodes, node, stop_flag, workspace
    )


@inner_kernel
def _split_node(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    n_fitting: int,
    pending: PendingNode,
    candidate: CandidateSplit,
    nodes: GrowingNodes,
    node: int,
    workspace: GrowthWorkspace,
) -> tuple[PendingNode, PendingNode]:
    """Call `split_node` without reference counting, which best-first growth needs for its lists.

    Unless the rows are ordered already, the codes are gathered again, since other nodes have been started in the
    meantime.
    """
    if candidate.n_left < 0:
        rows = tree_rows.rows[pending.start : pending.stop]
        gather_codes(features, candidate.split.feature, rows, workspace.search.codes[candidate.buffer])
    packed = _packed_rows(tree_rows, workspace.words, n_fitting, workspace.search.lanes)
    return split_node(features, tree_rows, packed, pending, candidate, nodes, node, workspace)


@inner_kernel
def _queue_entry(candidate: CandidateSplit, number: int) -> tuple[float, int]:
    """Return the entry of a node in the priority queue: its negative rank, then its number."""
    return -np.floor(candidate.decrease * _RANKS_PER_UNIT + 0.5), number


@kernel
def grow_best_first(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    criterion: Criterion,
    limits: GrowthLimits,
    random_state: NDArray[np.uint64],
    stop_flag: NDArray[np.uint8],
    workspace: GrowthWorkspace,
) -> GrowthFields:
    """Grow one tree with at most limits.max_leaf_nodes leaves; otherwise the same as `grow_depth_first`.

    Among splits with equal decreases, the one of the older node is made first.
    """
    root = _new_root(tree_rows.rows.shape[0], random_state)
    tree_weight, nodes = tree_rows.weights.sum(), workspace.nodes
    n_fitting = _pack(tree_rows, workspace.words, workspace.search.lanes.shape[0])
    _reset_feature_order(workspace)
    pending_nodes = [root]
    candidates = [
        _start_node(
            criterion, features, tree_rows, n_fitting, root, limits, tree_weight, nodes, 0, stop_flag, workspace
        )
    ]
    states = [workspace.random_state[0]]
    queue = [_queue_entry(candidates[0], 0)]
    n_leaves = 1
    while len(queue) > 0 and n_leaves < limits.max_leaf_nodes and stop_flag[0] == 0:
        node = heapq.heappop(queue)[1]
        if candidates[node].split.feature < 0:
            continue
        workspace.random_state[0] = states[node]
        for child in _split_node(
            features, tree_rows, n_fitting, pending_nodes[node], candidates[node], nodes, node, workspace
        ):
            # Features that are known to be constant are reset, since growth continues in another subtree.
            child = PendingNode(child.start, child.stop, child.depth, node, child.is_left, 0, child.seed)
            number = len(pending_nodes)
            pending_nodes.append(child)
            candidates.append(
                _start_node(
                    criterion,
                    features,
                    tree_rows,
                    n_fitting,
                    child,
                    limits,
                    tree_weight,
                    nodes,
                    number,
                    stop_flag,
                    workspace,
                )
            )
            states.append(workspace.random_state[0])
            heapq.heappush(queue, _queue_entry(candidates[number], number))
        n_leaves += 1
    return len(pending_nodes), stop_flag[0] == 0, 0, tree_weight
