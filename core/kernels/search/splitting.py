"""Split search of one node: which features are tried, and the best cut among them.

`max_features` limits the number of features drawn, as in scikit-learn: a feature that is constant in the node counts as
a draw. The search continues beyond this limit only until it has found a feature that varies.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalog import Criterion
from core.kernels.criteria.dispatch import gain_from_objective
from core.kernels.features import BinnedFeatures
from core.kernels.jit import inlined_kernel, inner_kernel
from core.kernels.random_state import next_below
from core.kernels.search.categorical_cuts import try_categorical
from core.kernels.search.cut_ranges import count_codes, cut_range_from_counts, cut_range_from_rows
from core.kernels.search.entries import list_entries
from core.kernels.search.node_codes import NodeRows, gather_codes
from core.kernels.search.ordering import key_code
from core.kernels.search.packed_sums import PackedRows
from core.kernels.search.random_cuts import random_cut
from core.kernels.search.scanning import NO_CUT, Cut, CutRange, NodeTotals, scan_cuts
from core.kernels.search.search_workspace import SearchLimits, SearchWorkspace


class Split(NamedTuple):
    """A cut as it is stored in the tree. feature = -1: the node has no allowed split."""

    feature: int
    gain: float  # per unit of the node's weight
    threshold: float  # infinite: present values go left, missing ones right; NaN for a categorical feature
    last_left_code: int  # of a categorical feature, the rank of a category
    missing_goes_left: bool
    sees_missing: bool  # whether the feature is missing in some rows of the node


NO_SPLIT = Split(-1, -np.inf, 0.0, -1, False, False)


class SearchResult(NamedTuple):
    """Result of the split search of a node."""

    split: Split
    n_constant: int  # number of features known to be constant in the node
    buffer: int  # SearchWorkspace.codes[buffer] holds the codes of the split's feature


@inner_kernel
def midpoint(below: float, above: float) -> float:
    """Return a threshold t with below <= t < above, the midpoint if floating-point numbers allow."""
    middle = below / 2.0 + above / 2.0
    if below <= middle < above:
        return middle
    return below


@inner_kernel
def _allowed_cuts(
    n_rows: int,
    n_missing_entries: int,
    n_scanned: int,
    is_summed: bool,
    lowest: int,
    highest: int,
    missing_goes_left: bool,
    min_rows: int,
    keys: NDArray[np.int64],
    codes: NDArray[Any],
    rows_per_code: NDArray[np.int32],
) -> CutRange:
    """Return the range of the cuts that leave `min_rows` rows on both sides.

    The first `n_scanned` entries start on the right.
    """
    if not is_summed:
        return cut_range_from_rows(keys, n_scanned, n_rows, lowest, min_rows, missing_goes_left)
    n_codes = highest - lowest + 1
    count_codes(codes, n_rows, lowest, n_codes, rows_per_code)
    n_missing = int(rows_per_code[n_codes - 1]) if n_missing_entries > 0 else 0
    return cut_range_from_counts(rows_per_code, n_codes, n_missing, lowest, min_rows, missing_goes_left)


@inlined_kernel
def best_cut(
    criterion: Criterion,
    totals: NodeTotals,
    feature: int,
    codes: NDArray[Any],
    lowest: int,
    highest: int,
    missing_code: int,
    node: NodeRows,
    min_rows: int,
    workspace: SearchWorkspace,
    best: Cut,
) -> Cut:
    """Return the best of `best` and all cuts of the feature that leave `min_rows` rows on both sides.

    The code of missing values is the highest of all. They stay on the right first, then on the left.
    """
    entries = workspace.entries
    n_entries, is_summed = list_entries(codes, node, totals.class_weights.shape[0], lowest, highest, entries)
    classes = entries.classes if is_summed else node.classes
    weights = entries.weights if is_summed else node.weights
    n_scanned = n_entries
    for missing_goes_left in (False, True):
        cuts = CutRange(lowest, missing_code, missing_goes_left)
        if min_rows > 1:
            n_missing_entries = n_entries - n_scanned if missing_goes_left else int(highest == missing_code)
            cuts = _allowed_cuts(
                totals.n_rows,
                n_missing_entries,
                n_scanned,
                is_summed,
                lowest,
                highest,
                missing_goes_left,
                min_rows,
                entries.keys,
                codes,
                workspace.rows_per_code,
            )
        best = scan_cuts(
            criterion, totals, feature, lowest, entries.keys, n_scanned, classes, weights, cuts, workspace.scan, best
        )
        if highest != missing_code:
            break
        while n_scanned > 0 and key_code(entries.keys[n_scanned - 1]) == missing_code:
            n_scanned -= 1
    return best


@inner_kernel
def make_split(
    criterion: Criterion, totals: NodeTotals, features: BinnedFeatures, cut: Cut, sees_missing: bool
) -> Split:
    """Return the split that makes `cut`.

    A cut of numbers without a threshold gets the midpoint to the next value in the node, or infinity after the last
    value.
    """
    threshold = cut.threshold
    if np.isnan(threshold) and features.is_categorical[cut.feature] == 0:
        offset, n_bins = features.bin_offsets[cut.feature], features.n_bins[cut.feature]
        threshold = np.inf
        if cut.next_code < n_bins:
            low, high = features.bin_low, features.bin_high
            threshold = midpoint(high[offset + cut.last_left_code], low[offset + cut.next_code])
    gain = gain_from_objective(criterion, totals.impurity, cut.objective, totals.weight)
    return Split(cut.feature, gain, threshold, cut.last_left_code, cut.missing_goes_left, sees_missing)


@inlined_kernel
def _try_feature(
    criterion: Criterion,
    totals: NodeTotals,
    features: BinnedFeatures,
    feature: int,
    codes: NDArray[Any],
    buffer: int,
    lowest: int,
    highest: int,
    node: NodeRows,
    packed: PackedRows | None,
    limits: SearchLimits,
    random_state: NDArray[np.uint64],
    workspace: SearchWorkspace,
    best: Cut,
) -> Cut:
    """Return the better of `best` and the feature's best or random cut.

    `codes` is row `buffer` of workspace.codes.
    """
    min_rows = limits.min_samples_leaf
    if features.is_categorical[feature] != 0:
        return try_categorical(
            criterion, totals, feature, buffer, lowest, highest, features.n_bins[feature], node, packed, limits,
            random_state, workspace, best,
        )  # fmt: skip
    if packed is not None:
        return random_cut(
            criterion, totals, features, feature, codes, lowest, highest, node, packed, min_rows, random_state,
            workspace.scan, best,
        )  # fmt: skip
    missing_code = features.n_bins[feature]
    return best_cut(criterion, totals, feature, codes, lowest, highest, missing_code, node, min_rows, workspace, best)


@inner_kernel
def _draw(n_known: int, n_constant: int, n_untried: int, at_random: bool, random_state: NDArray[np.uint64]) -> int:
    """Return the position in the feature order of the next feature to try, or -1 for a constant feature.

    Features that were known as constant before are drawn like the others; which of them was drawn makes no difference.
    """
    if not at_random:
        return n_untried - 1
    drawn = next_below(random_state, n_known + n_untried - n_constant)
    return n_constant + drawn - n_known if drawn >= n_known else -1


@inner_kernel
def _swap(feature_order: NDArray[np.int64], one: int, other: int) -> None:
    feature_order[one], feature_order[other] = feature_order[other], feature_order[one]


@inlined_kernel
def best_split(
    criterion: Criterion,
    totals: NodeTotals,
    features: BinnedFeatures,
    node: NodeRows,
    packed: PackedRows | None,
    limits: SearchLimits,
    n_constant: int,
    random_state: NDArray[np.uint64],
    stop_flag: NDArray[np.uint8],
    workspace: SearchWorkspace,
) -> SearchResult:
    """Return the best split among the features drawn.

    `stop_flag` (1,) is read at each feature. If it is not zero, the result must not be used.
    """
    feature_order, best, sees_missing, free_buffer = workspace.feature_order, NO_CUT, False, 0
    n_known, n_untried, n_drawn, n_varying = n_constant, feature_order.shape[0], 0, 0
    at_random = limits.max_features < n_untried
    while n_untried > n_constant and (n_drawn < limits.max_features or n_varying == 0) and stop_flag[0] == 0:
        n_drawn += 1
        position = _draw(n_known, n_constant, n_untried, at_random, random_state)
        if position < 0:
            n_known -= 1
            continue
        feature = feature_order[position]
        codes = workspace.codes[free_buffer]
        lowest, highest = gather_codes(features, feature, node.rows, codes)
        if lowest == highest:
            _swap(feature_order, position, n_constant)
            n_constant += 1
            continue
        n_untried -= 1
        _swap(feature_order, position, n_untried)
        n_varying += 1
        best = _try_feature(
            criterion,
            totals,
            features,
            feature,
            codes,
            free_buffer,
            lowest,
            highest,
            node,
            packed,
            limits,
            random_state,
            workspace,
            best,
        )
        if best.feature == feature:
            sees_missing = highest == features.n_bins[feature]
            free_buffer = 1 - free_buffer
    split = NO_SPLIT if best.feature < 0 else make_split(criterion, totals, features, best, sees_missing)
    return SearchResult(split, n_constant, 1 - free_buffer)
