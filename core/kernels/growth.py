"""Depth-first growth of one tree, and when a node stays a leaf."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria import Criterion, node_impurity, risk_decrease
from core.kernels.features import BinnedFeatures
from core.kernels.histogram import NodeRows
from core.kernels.jit import kernel
from core.kernels.partition import TreeRows, partition
from core.kernels.splitting import NodeTotals, Scan, Split, best_split, new_scan
from core.kernels.tree_nodes import TreeNodes, new_nodes, resized

#: Gains are compared with min_risk_decrease up to this much rounding.
GAIN_TOLERANCE = 1e-12
FIRST_CAPACITY = 256


class GrowthLimits(NamedTuple):
    """When to stop, and how many features a node may try."""

    max_depth: int
    min_samples_leaf: int  # rows, not weight
    min_risk_decrease: float
    max_features: int


class Pending(NamedTuple):
    """A node that waits on the stack: its rows, its place in the tree, and how many features are known constant in
    it.
    """

    start: int
    stop: int
    depth: int
    parent: int
    is_left: int
    n_constant: int


class Grown(NamedTuple):
    """The nodes, and whether growth ran to its end."""

    nodes: TreeNodes
    finished: bool


class PresentClasses(NamedTuple):
    """The classes of one node: class number at `numbers`, their weights beside it; `position` is the way back."""

    n_present: int
    numbers: NDArray[np.int64]
    weights: NDArray[np.float64]
    position: NDArray[np.int32]


@kernel
def _push(stack: NDArray[np.int64], size: int, pending: Pending) -> NDArray[np.int64]:
    """Put `pending` on top; returns the stack, moved to a larger array when it was full."""
    if size == stack.shape[0]:
        larger = np.empty((2 * size, stack.shape[1]), dtype=np.int64)
        larger[:size] = stack
        stack = larger
    stack[size, 0], stack[size, 1], stack[size, 2] = pending.start, pending.stop, pending.depth
    stack[size, 3], stack[size, 4], stack[size, 5] = pending.parent, pending.is_left, pending.n_constant
    return stack


@kernel
def _top(stack: NDArray[np.int64], size: int) -> Pending:
    row = stack[size - 1]
    return Pending(row[0], row[1], row[2], row[3], row[4], row[5])


@kernel
def _classes_present(
    labels: NDArray[np.int32], weights: NDArray[np.float64], all_weights: NDArray[np.float64], found: PresentClasses
) -> PresentClasses:
    """Sum the weights by class into `all_weights` (class,) and list the classes that occur."""
    all_weights[:] = 0.0
    for i in range(labels.shape[0]):
        all_weights[labels[i]] += weights[i]
    n_present = 0
    for k in range(all_weights.shape[0]):
        if all_weights[k] > 0.0:
            found.numbers[n_present] = k
            found.weights[n_present] = all_weights[k]
            found.position[k] = n_present
            n_present += 1
    return PresentClasses(n_present, found.numbers, found.weights, found.position)


@kernel
def _record_node(nodes: TreeNodes, node: int, pending: Pending, present: PresentClasses, impurity: float) -> float:
    """Write a node as a leaf and link it to its parent; returns its weight."""
    if pending.parent >= 0:
        if pending.is_left:
            nodes.children_left[pending.parent] = node
        else:
            nodes.children_right[pending.parent] = node
    weight = float(present.weights[: present.n_present].sum())
    for j in range(present.n_present):
        nodes.value[node, present.numbers[j]] = present.weights[j] / weight
    nodes.impurity[node] = impurity
    nodes.n_node_samples[node] = pending.stop - pending.start
    nodes.weighted_n_node_samples[node] = weight
    return weight


@kernel
def _record_split(nodes: TreeNodes, node: int, split: Split, n_left: int, n_right: int, saw_missing: bool) -> None:
    """Make a node an inner one. Where it saw no missing value, later ones follow the larger child."""
    nodes.feature[node] = split.feature
    nodes.threshold[node] = split.threshold
    goes_left = split.missing_goes_left if saw_missing else n_left >= n_right
    nodes.missing_go_to_left[node] = np.uint8(goes_left)


@kernel
def _sees_missing(features: BinnedFeatures, feature: int, rows: NDArray[np.int32]) -> bool:
    codes = features.codes[feature]
    missing_code = features.n_bins[feature]
    for i in range(rows.shape[0]):  # noqa: SIM110 - plain loops are what numba compiles best
        if codes[rows[i]] == missing_code:
            return True
    return False


class Workspace(NamedTuple):
    """Buffers that one growth reuses at every node; `positions` is each row's place among its node's classes."""

    spare: TreeRows
    positions: NDArray[np.int32]
    class_weights: NDArray[np.float64]
    present: PresentClasses
    scan: Scan
    candidates: NDArray[np.int64]


@kernel
def _new_workspace(features: BinnedFeatures, n_rows: int, n_classes: int) -> Workspace:
    return Workspace(
        TreeRows(
            np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.float64)
        ),
        np.empty(n_rows, dtype=np.int32),
        np.zeros(n_classes, dtype=np.float64),
        PresentClasses(
            0,
            np.zeros(n_classes, dtype=np.int64),
            np.zeros(n_classes, dtype=np.float64),
            np.zeros(n_classes, dtype=np.int32),
        ),
        new_scan(features, n_rows, n_classes),
        np.arange(features.codes.shape[0]),
    )


@kernel
def _may_split(pending: Pending, n_present: int, limits: GrowthLimits) -> bool:
    n_rows = pending.stop - pending.start
    return n_present > 1 and pending.depth < limits.max_depth and n_rows >= 2 * limits.min_samples_leaf


@kernel
def _find_split(
    criterion: Criterion,
    features: BinnedFeatures,
    tree_rows: TreeRows,
    pending: Pending,
    present: PresentClasses,
    impurity: float,
    limits: GrowthLimits,
    random_state: NDArray[np.uint64],
    work: Workspace,
) -> tuple[Split, int]:
    """The best split of a node, and how many features are now known to be constant in it."""
    start, stop = pending.start, pending.stop
    for i in range(start, stop):
        work.positions[i] = present.position[tree_rows.labels[i]]
    return best_split(
        criterion,
        NodeTotals(stop - start, present.n_present, impurity, limits.min_samples_leaf),
        features,
        NodeRows(tree_rows.rows[start:stop], work.positions[start:stop], tree_rows.weights[start:stop]),
        limits.max_features,
        work.candidates,
        pending.n_constant,
        random_state,
        work.scan,
    )


@kernel
def _apply_split(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    pending: Pending,
    split: Split,
    nodes: TreeNodes,
    node: int,
    spare: TreeRows,
) -> int:
    """Make `node` an inner one and order its rows left | right; returns where the right ones start."""
    start, stop = pending.start, pending.stop
    saw_missing = _sees_missing(features, split.feature, tree_rows.rows[start:stop])
    cut = partition(
        features.codes[split.feature],
        split.last_left_code,
        features.n_bins[split.feature],
        split.missing_goes_left,
        tree_rows,
        start,
        stop,
        spare,
    )
    _record_split(nodes, node, split, cut - start, stop - cut, saw_missing)
    return cut


@kernel
def grow(
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
    n_rows = tree_rows.rows.shape[0]
    work = _new_workspace(features, n_rows, n_classes)
    nodes, n_nodes = new_nodes(FIRST_CAPACITY, n_classes), 0
    stack, size = _push(np.empty((64, 6), dtype=np.int64), 0, Pending(0, n_rows, 0, -1, 0, 0)), 1
    tree_weight = tree_rows.weights.sum()
    least_decrease = limits.min_risk_decrease + GAIN_TOLERANCE
    while size > 0 and stop_flag[0] == 0:
        pending = _top(stack, size)
        size -= 1
        if n_nodes == nodes.feature.shape[0]:
            nodes = resized(nodes, n_nodes, 2 * n_nodes)
        node, n_nodes = n_nodes, n_nodes + 1
        span = slice(pending.start, pending.stop)
        present = _classes_present(tree_rows.labels[span], tree_rows.weights[span], work.class_weights, work.present)
        impurity = node_impurity(criterion, present.weights[: present.n_present])
        weight = _record_node(nodes, node, pending, present, impurity)
        if not _may_split(pending, present.n_present, limits):
            continue
        split, n_constant = _find_split(
            criterion, features, tree_rows, pending, present, impurity, limits, random_state, work
        )
        if split.feature < 0 or risk_decrease(criterion, split.gain, weight / tree_weight) <= least_decrease:
            continue
        cut = _apply_split(features, tree_rows, pending, split, nodes, node, work.spare)
        # Left on top of right: nodes are numbered in preorder.
        stack = _push(stack, size, Pending(cut, pending.stop, pending.depth + 1, node, 0, n_constant))
        stack = _push(stack, size + 1, Pending(pending.start, cut, pending.depth + 1, node, 1, n_constant))
        size += 2
    return Grown(resized(nodes, n_nodes, n_nodes), size == 0)
