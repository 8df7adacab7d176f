"""One node of a growing tree: what is recorded of it, how it may be split, and how its rows move to its children."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalogue import Criterion
from core.kernels.criteria.dispatch import needs_all_classes, node_impurity, risk_decrease
from core.kernels.features import BinnedFeatures
from core.kernels.growth.partition import SpareRows, TreeRows, new_spare_rows, partition
from core.kernels.growth.tree_nodes import LEAF, NO_FEATURE, GrowingNodes, new_growing_nodes
from core.kernels.jit import inlined_kernel, inner_kernel, kernel
from core.kernels.random_state import next_word
from core.kernels.search.node_codes import NodeRows, mark_up_to
from core.kernels.search.packed_sums import PackedRows, packed_rows, sum_words
from core.kernels.search.scanning import NodeTotals
from core.kernels.search.splitting import NO_SPLIT, SearchLimits, SearchRoom, Split, best_split, new_search_room

#: Gains are compared with min_risk_decrease up to this much rounding.
GAIN_TOLERANCE = 1e-12
_STACK_COLUMNS = 6


class GrowthLimits(NamedTuple):
    """When to stop, and how splits are searched."""

    max_depth: int
    max_leaf_nodes: int  # 0 = no limit
    min_risk_decrease: float
    search: SearchLimits


class Pending(NamedTuple):
    """A node that waits: its rows, its place in the tree, how many features are known constant in it, and the state of
    its own random stream.
    """

    start: int
    stop: int
    depth: int
    parent: int
    is_left: int
    n_constant: int
    seed: np.uint64


class Opened(NamedTuple):
    """A recorded node: the split it may make, or NO_SPLIT, and by how much that lowers the training risk."""

    split: Split
    decrease: float
    n_constant: int
    buffer: int  # until another node is opened, SearchRoom.codes[buffer] are the codes of the split's feature


CLOSED = Opened(NO_SPLIT, 0.0, 0, 0)


class PresentClasses(NamedTuple):
    """The classes of one node: class number at `numbers`, their weights beside it; `position` is the way back."""

    numbers: NDArray[np.int64]
    weights: NDArray[np.float64]
    position: NDArray[np.uint16]


class Stack(NamedTuple):
    """Pending nodes, one a row; the top is the last one in use."""

    numbers: NDArray[np.int64]  # (pending, start | stop | depth | parent | is_left | n_constant)
    seeds: NDArray[np.uint64]  # (pending,)


class GrowthRoom(NamedTuple):
    """Buffers that one thread reuses at every node and for every tree. `nodes` and `stack` have room for the largest
    tree there can be; what no tree fills costs no memory.
    """

    nodes: GrowingNodes
    stack: Stack

    words: NDArray[np.uint64]  # (row,), of the whole tree, see packed_sums
    spare: SpareRows
    positions: NDArray[np.uint16]  # (row,), place of the row's class among those of its node
    class_weights: NDArray[np.float64]
    present: PresentClasses
    random_state: NDArray[np.uint64]
    search: SearchRoom


@kernel
def new_growth_room(features: BinnedFeatures, n_rows: int, n_classes: int) -> GrowthRoom:
    """Room for trees on at most `n_rows` rows."""
    return GrowthRoom(
        new_growing_nodes(2 * n_rows, n_classes),
        Stack(np.empty((n_rows + 1, _STACK_COLUMNS), dtype=np.int64), np.empty(n_rows + 1, dtype=np.uint64)),
        np.empty(n_rows, dtype=np.uint64),
        new_spare_rows(n_rows),
        np.empty(n_rows, dtype=np.uint16),
        np.zeros(n_classes, dtype=np.float64),
        PresentClasses(
            np.zeros(n_classes, dtype=np.int64),
            np.zeros(n_classes, dtype=np.float64),
            np.zeros(n_classes, dtype=np.uint16),
        ),
        np.zeros(1, dtype=np.uint64),
        new_search_room(features, n_rows, n_classes),
    )


@inner_kernel
def _sum_by_class(
    labels: NDArray[np.uint16],
    weights: NDArray[np.float64],
    class_weights: NDArray[np.float64],
    of_odd_rows: NDArray[np.float64],
) -> None:
    """Odd rows have sums of their own, so that a row need not wait for the sum of the one before it."""
    n_rows = labels.shape[0]
    class_weights[:] = 0.0
    of_odd_rows[:] = 0.0
    for i in range(0, n_rows - 1, 2):
        class_weights[labels[i]] += weights[i]
        of_odd_rows[labels[i + 1]] += weights[i + 1]
    if n_rows % 2 == 1:
        class_weights[labels[n_rows - 1]] += weights[n_rows - 1]
    for k in range(class_weights.shape[0]):
        class_weights[k] += of_odd_rows[k]


@inner_kernel
def _classes_present(class_weights: NDArray[np.float64], found: PresentClasses, all_classes: bool) -> int:
    """List the classes that occur, or all of them; returns how many are listed."""
    n_listed = 0
    for k in range(class_weights.shape[0]):
        # without a branch: which classes are there is a coin toss; what is not listed is written over
        found.numbers[n_listed] = k
        found.weights[n_listed] = class_weights[k]
        found.position[k] = n_listed
        n_listed += int(all_classes or class_weights[k] > 0.0)
    return n_listed


@inner_kernel
def _positions(labels: NDArray[np.uint16], position: NDArray[np.uint16], positions: NDArray[np.uint16]) -> None:
    for i in range(labels.shape[0]):
        positions[i] = position[labels[i]]


@inner_kernel
def _record_leaf(
    nodes: GrowingNodes, node: int, pending: Pending, class_weights: NDArray[np.float64], impurity: float
) -> float:
    """Write a node as a leaf and link it to its parent; returns its weight."""
    if pending.parent >= 0:
        if pending.is_left:
            nodes.children_left[pending.parent] = node
        else:
            nodes.children_right[pending.parent] = node
    nodes.children_left[node], nodes.children_right[node], nodes.feature[node] = LEAF, LEAF, NO_FEATURE
    nodes.threshold[node], nodes.missing_go_to_left[node] = 0.0, 0
    weight = 0.0
    for k in range(class_weights.shape[0]):
        weight += class_weights[k]
        nodes.class_weights[node, k] = class_weights[k]
    nodes.impurity[node] = impurity
    nodes.n_node_samples[node] = pending.stop - pending.start
    nodes.weighted_n_node_samples[node] = weight
    return weight


@inner_kernel
def _may_split(pending: Pending, class_weights: NDArray[np.float64], limits: GrowthLimits) -> bool:
    n_rows = pending.stop - pending.start
    n_present = 0
    for k in range(class_weights.shape[0]):
        n_present += int(class_weights[k] > 0.0)
    return n_present > 1 and pending.depth < limits.max_depth and n_rows >= 2 * limits.search.min_samples_leaf


@inlined_kernel
def _weigh_classes(tree_rows: TreeRows, packed: PackedRows, start: int, stop: int, room: GrowthRoom) -> None:
    """Fill room.class_weights for rows[start:stop]."""
    if packed.n_fitting > 0:
        words = packed.words[start:stop]
        sum_words(PackedRows(words, packed.lanes, packed.n_fitting, packed.n_bits), room.class_weights)
    else:
        labels, weights = tree_rows.labels[start:stop], tree_rows.weights[start:stop]
        _sum_by_class(labels, weights, room.class_weights, room.search.scan.workspace)


@inlined_kernel
def _rows_to_search(
    tree_rows: TreeRows, packed: PackedRows, start: int, stop: int, n_listed: int, random_cuts: bool, room: GrowthRoom
) -> tuple[NodeRows, PackedRows]:
    """rows[start:stop] with the first `n_listed` of room.present as their classes. Where a tree is packed, labels and
    weights did not move with its rows and mean nothing.
    """
    rows, classes, weights = tree_rows.rows[start:stop], tree_rows.labels[start:stop], tree_rows.weights[start:stop]
    if packed.n_fitting > 0:
        words, lanes = packed.words[start:stop], room.present.numbers[:n_listed]
        return NodeRows(rows, classes, weights), PackedRows(words, lanes, packed.n_fitting, packed.n_bits)
    if n_listed < room.class_weights.shape[0]:
        positions = room.positions[: stop - start]
        _positions(classes, room.present.position, positions)
        classes = positions
    lanes = room.search.lanes[:n_listed]
    return NodeRows(rows, classes, weights), packed_rows(classes, weights, room.search.words, lanes, random_cuts)


@inlined_kernel
def open_node(
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
    """Record a node as a leaf, and find the split that lowers the training risk by more than the least decrease."""
    start, stop = pending.start, pending.stop
    class_weights, present = room.class_weights, room.present
    _weigh_classes(tree_rows, packed, start, stop, room)
    n_listed = _classes_present(class_weights, present, needs_all_classes(criterion))
    impurity = node_impurity(criterion, present.weights[:n_listed], room.search.scan.workspace[:n_listed])
    weight = _record_leaf(nodes, node, pending, class_weights, impurity)
    room.random_state[0] = pending.seed
    if not _may_split(pending, class_weights, limits):
        return CLOSED
    rows, words = _rows_to_search(tree_rows, packed, start, stop, n_listed, limits.search.random_cuts, room)
    split, n_constant, buffer = best_split(
        criterion,
        NodeTotals(stop - start, weight, present.weights[:n_listed], impurity),
        features,
        rows,
        words,
        limits.search,
        pending.n_constant,
        room.random_state,
        room.search,
    )
    decrease = risk_decrease(criterion, split.gain, weight / tree_weight) if split.feature >= 0 else 0.0
    if decrease <= limits.min_risk_decrease + GAIN_TOLERANCE:
        return CLOSED
    return Opened(split, decrease, n_constant, buffer)


@inlined_kernel
def split_node(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    packed: PackedRows,
    pending: Pending,
    opened: Opened,
    nodes: GrowingNodes,
    node: int,
    room: GrowthRoom,
) -> tuple[Pending, Pending]:
    """Make `node` an inner one and order its rows left | right; returns its children.

    Where the node saw no missing value, later ones follow the larger child.
    """
    start, stop, split = pending.start, pending.stop, opened.split
    codes, missing_code = room.search.codes[opened.buffer], features.n_bins[split.feature]
    left_too = missing_code if split.missing_goes_left else split.last_left_code
    goes_left = room.search.scan.taken
    cut = start + mark_up_to(codes, stop - start, split.last_left_code, left_too, goes_left)
    partition(goes_left, tree_rows, packed, start, stop, room.spare)
    nodes.feature[node] = split.feature
    nodes.threshold[node] = split.threshold
    missing_goes_left = split.missing_goes_left if split.sees_missing else cut - start >= stop - cut
    nodes.missing_go_to_left[node] = np.uint8(missing_goes_left)
    depth, n_constant = pending.depth + 1, opened.n_constant
    left_seed, right_seed = next_word(room.random_state), next_word(room.random_state)
    return (
        Pending(start, cut, depth, node, 1, n_constant, left_seed),
        Pending(cut, stop, depth, node, 0, n_constant, right_seed),
    )
