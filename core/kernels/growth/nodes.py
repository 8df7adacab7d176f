"""One node of a growing tree: its record, the search for its split, and the assignment of its rows to its children."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalog import Criterion
from core.kernels.criteria.dispatch import needs_all_classes, node_impurity, risk_decrease
from core.kernels.features import BinnedFeatures
from core.kernels.growth.growth_workspace import GrowthLimits, GrowthWorkspace
from core.kernels.growth.node_classes import fill_positions, list_present_classes, sum_by_class
from core.kernels.growth.partition import TreeRows
from core.kernels.growth.row_order import order_by_category, order_rows
from core.kernels.growth.tree_nodes import LEAF, NO_FEATURE, GrowingNodes
from core.kernels.jit import inlined_kernel, inner_kernel
from core.kernels.random_state import next_word
from core.kernels.search.node_codes import NodeRows
from core.kernels.search.packed_sums import PackedRows, packed_rows, sum_words
from core.kernels.search.scanning import NodeTotals
from core.kernels.search.splitting import NO_SPLIT, Split, best_split

#: Rounding error that is allowed for in the comparison with min_risk_decrease.
GAIN_TOLERANCE = 1e-12


class PendingNode(NamedTuple):
    """Node that has not been started: its rows, its place in the tree, and the seed of its own random stream.

    `n_constant` features are known to be constant in it.
    """

    start: int
    stop: int
    depth: int
    parent: int
    is_left: int
    n_constant: int
    seed: np.uint64


class CandidateSplit(NamedTuple):
    """Split that a recorded node may make, or NO_SPLIT, and the resulting decrease of the training risk."""

    split: Split
    decrease: float
    n_constant: int
    buffer: int  # SearchWorkspace.codes[buffer] holds the codes of the split's feature until the next node is started
    n_left: int  # number of rows that go left if the rows are already ordered left | right, otherwise -1


NO_CANDIDATE = CandidateSplit(NO_SPLIT, 0.0, 0, 0, -1)


@inner_kernel
def _record_leaf(
    nodes: GrowingNodes, node: int, pending: PendingNode, class_weights: NDArray[np.float64], impurity: float
) -> float:
    """Record a node as a leaf and link it to its parent; return its weight."""
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
def _may_split(pending: PendingNode, class_weights: NDArray[np.float64], limits: GrowthLimits) -> bool:
    """Return whether a node has several classes and the limits allow its split."""
    n_rows = pending.stop - pending.start
    n_present = 0
    for k in range(class_weights.shape[0]):
        n_present += int(class_weights[k] > 0.0)
    return n_present > 1 and pending.depth < limits.max_depth and n_rows >= 2 * limits.search.min_samples_leaf


@inlined_kernel
def _sum_class_weights(
    tree_rows: TreeRows, packed: PackedRows | None, start: int, stop: int, workspace: GrowthWorkspace
) -> None:
    """Fill workspace.class_weights with the sums over rows[start:stop]."""
    if packed is not None and packed.n_fitting > 0:
        words = packed.words[start:stop]
        sum_words(PackedRows(words, packed.lanes, packed.n_fitting, packed.n_bits), workspace.class_weights)
    else:
        labels, weights = tree_rows.labels[start:stop], tree_rows.weights[start:stop]
        sum_by_class(labels, weights, workspace.class_weights, workspace.search.scan.scratch)


@inlined_kernel
def _node_rows(
    tree_rows: TreeRows,
    packed: PackedRows | None,
    start: int,
    stop: int,
    n_listed: int,
    workspace: GrowthWorkspace,
) -> tuple[NodeRows, PackedRows | None]:
    """Return rows[start:stop] for the split search, with the first `n_listed` of workspace.present as classes.

    If a tree is packed, its labels and weights were not moved with its rows and must not be read.
    """
    rows, classes, weights = tree_rows.rows[start:stop], tree_rows.labels[start:stop], tree_rows.weights[start:stop]
    if packed is not None and packed.n_fitting > 0:
        words, lanes = packed.words[start:stop], workspace.present.numbers[:n_listed]
        return NodeRows(rows, classes, weights), PackedRows(words, lanes, packed.n_fitting, packed.n_bits)
    if n_listed < workspace.class_weights.shape[0]:
        positions = workspace.positions[: stop - start]
        fill_positions(classes, workspace.present.position, positions)
        classes = positions
    lanes = workspace.search.lanes[:n_listed]
    return NodeRows(rows, classes, weights), packed_rows(classes, weights, workspace.search.words, lanes)


@inlined_kernel
def start_node(
    criterion: Criterion,
    features: BinnedFeatures,
    tree_rows: TreeRows,
    packed: PackedRows | None,
    pending: PendingNode,
    limits: GrowthLimits,
    tree_weight: float,
    nodes: GrowingNodes,
    node: int,
    stop_flag: NDArray[np.uint8],
    workspace: GrowthWorkspace,
) -> CandidateSplit:
    """Record a node as a leaf and search for its split.

    The result is NO_CANDIDATE unless the split decreases the training risk by more than min_risk_decrease. Once
    `stop_flag` (1,) is set, it must not be used.
    """
    start, stop = pending.start, pending.stop
    class_weights, present = workspace.class_weights, workspace.present
    _sum_class_weights(tree_rows, packed, start, stop, workspace)
    n_listed = list_present_classes(class_weights, present, needs_all_classes(criterion))
    impurity = node_impurity(criterion, present.weights[:n_listed], workspace.search.scan.scratch[:n_listed])
    weight = _record_leaf(nodes, node, pending, class_weights, impurity)
    workspace.random_state[0] = pending.seed
    if not _may_split(pending, class_weights, limits):
        return NO_CANDIDATE
    rows, words = _node_rows(tree_rows, packed, start, stop, n_listed, workspace)
    split, n_constant, buffer = best_split(
        criterion,
        NodeTotals(stop - start, weight, present.weights[:n_listed], impurity),
        features,
        rows,
        words,
        limits.search,
        pending.n_constant,
        workspace.random_state,
        stop_flag,
        workspace.search,
    )
    decrease = risk_decrease(criterion, split.gain, weight / tree_weight) if split.feature >= 0 else 0.0
    if decrease <= limits.min_risk_decrease + GAIN_TOLERANCE:
        return NO_CANDIDATE
    n_left = -1
    if features.is_categorical[split.feature] != 0:
        n_left = order_by_category(features, tree_rows, packed, start, stop, split, buffer, workspace)
    return CandidateSplit(split, decrease, n_constant, buffer, n_left)


@inlined_kernel
def split_node(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    packed: PackedRows | None,
    pending: PendingNode,
    candidate: CandidateSplit,
    nodes: GrowingNodes,
    node: int,
    workspace: GrowthWorkspace,
) -> tuple[PendingNode, PendingNode]:
    """Make `node` an inner node and order its rows left | right; return its children.

    If the feature was not missing in the node, missing values in predictions follow the larger child.
    """
    start, stop, split = pending.start, pending.stop, candidate.split
    n_left = candidate.n_left
    if n_left < 0:
        codes = workspace.search.codes[candidate.buffer]
        n_left = order_rows(features, tree_rows, packed, start, stop, split, codes, workspace)
    cut = start + n_left
    nodes.feature[node] = split.feature
    nodes.threshold[node] = split.threshold
    missing_goes_left = split.missing_goes_left if split.sees_missing else cut - start >= stop - cut
    nodes.missing_go_to_left[node] = np.uint8(missing_goes_left)
    depth, n_constant = pending.depth + 1, candidate.n_constant
    left_seed, right_seed = next_word(workspace.random_state), next_word(workspace.random_state)
    return (
        PendingNode(start, cut, depth, node, 1, n_constant, left_seed),
        PendingNode(cut, stop, depth, node, 0, n_constant, right_seed),
    )
