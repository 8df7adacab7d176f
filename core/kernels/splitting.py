"""The best split of one node: which features are tried, which cuts of a feature, and how ties are broken.

Order of preference: larger gain, then lower feature index, then lower threshold, then missing values to the right.
Gains within TIE_TOLERANCE count as equal, so that rounding does not decide. This file knows no criterion:
`split_gain` does.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria import Criterion, Side, emptied, split_gain, with_weight
from core.kernels.features import BinnedFeatures
from core.kernels.histogram import Groups, NodeRows, gather_codes, group_rows, new_groups
from core.kernels.jit import kernel
from core.kernels.random_state import next_below

TIE_TOLERANCE = 1e-12
#: A class weight below this share of the node's is what rounding left of an empty class.
EMPTY_SHARE = 1e-12


class Split(NamedTuple):
    """A cut of one feature: codes up to last_left_code go left. feature = -1: the node has no allowed split."""

    feature: int
    gain: float  # per unit of the node's weight
    threshold: float  # infinite: all present values left, missing ones right
    last_left_code: int
    missing_goes_left: bool


NO_SPLIT = Split(-1, -np.inf, 0.0, -1, False)


class NodeTotals(NamedTuple):
    """What the scan of every feature of a node starts from."""

    n_rows: int
    n_classes: int  # classes present in the node
    impurity: float
    min_samples_leaf: int


class Scan(NamedTuple):
    """Workspaces of the moving cut. The right side of every cut is kept, because sides only ever grow."""

    groups: Groups
    codes: NDArray[Any]  # (row,)
    left: NDArray[np.float64]  # (class,)
    right: NDArray[np.float64]  # (class,)
    right_weight: NDArray[np.float64]  # (group + 1,): groups g, g + 1, ... and what stays on the right
    right_spread: NDArray[np.float64]
    right_largest: NDArray[np.float64]


@kernel
def new_scan(features: BinnedFeatures, n_rows: int, n_classes: int) -> Scan:
    """Workspaces for any node of up to `n_rows` rows."""
    n_codes = features.n_bins.max() + 1
    return Scan(
        new_groups(n_codes, n_classes),
        np.empty(n_rows, dtype=features.codes.dtype),
        np.zeros(n_classes, dtype=np.float64),
        np.zeros(n_classes, dtype=np.float64),
        np.zeros(n_codes + 1, dtype=np.float64),
        np.zeros(n_codes + 1, dtype=np.float64),
        np.zeros(n_codes + 1, dtype=np.float64),
    )


@kernel
def midpoint(below: float, above: float) -> float:
    """A threshold t with below <= t < above, half way where the numbers allow."""
    middle = below / 2.0 + above / 2.0
    if below <= middle < above:
        return middle
    return below


@kernel
def beats(gain: float, feature: int, code: int, best: Split) -> bool:
    """Whether a cut after `code` of `feature` is preferred to the best one so far."""
    if gain > best.gain + TIE_TOLERANCE:
        return True
    if gain < best.gain - TIE_TOLERANCE:
        return False
    return feature < best.feature or (feature == best.feature and code < best.last_left_code)


@kernel
def _with_group(criterion: Criterion, side: Side, groups: Groups, group: int) -> Side:
    for entry in range(groups.first[group], groups.first[group + 1]):
        side = with_weight(criterion, side, groups.classes[entry], groups.weights[entry])
    return side


@kernel
def _without_group(class_weights: NDArray[np.float64], groups: Groups, group: int) -> None:
    """Take a group's weight off the right side, leaving no dust of rounding behind."""
    for entry in range(groups.first[group], groups.first[group + 1]):
        k = groups.classes[entry]
        rest = class_weights[k] - groups.weights[entry]
        class_weights[k] = rest if rest > EMPTY_SHARE * groups.weights[entry] else 0.0


@kernel
def _fill_right_sides(criterion: Criterion, n_classes: int, n_values: int, missing_group: int, scan: Scan) -> None:
    """Build the right side of every cut from the right; missing_group = -1 when no rows stay on the right
    throughout.
    """
    side = emptied(scan.right[:n_classes])
    if missing_group >= 0:
        side = _with_group(criterion, side, scan.groups, missing_group)
    for group in range(n_values, -1, -1):
        if group < n_values:
            side = _with_group(criterion, side, scan.groups, group)
        scan.right_weight[group] = side.weight
        scan.right_spread[group] = side.spread
        scan.right_largest[group] = side.largest


@kernel
def scan_cuts(
    criterion: Criterion,
    totals: NodeTotals,
    feature: int,
    n_values: int,
    n_missing: int,
    missing_goes_left: bool,
    scan: Scan,
    best: Split,
) -> Split:
    """The best of `best` and all cuts of one feature, with the missing rows (group n_values) kept on one side.

    Cuts lie between neighbouring present values; with missing rows on the right there is one more, after the last
    value. `threshold` of the result is not filled in.
    """
    groups = scan.groups
    missing_goes_right = n_missing > 0 and not missing_goes_left
    _fill_right_sides(criterion, totals.n_classes, n_values, n_values if missing_goes_right else -1, scan)
    left = emptied(scan.left[: totals.n_classes])
    n_left = 0
    if n_missing > 0 and missing_goes_left:
        left = _with_group(criterion, left, groups, n_values)
        n_left = n_missing
    for group in range(n_values if missing_goes_right else n_values - 1):
        left = _with_group(criterion, left, groups, group)
        _without_group(scan.right, groups, group)
        n_left += groups.n_rows[group]
        if n_left < totals.min_samples_leaf:
            continue
        if totals.n_rows - n_left < totals.min_samples_leaf:
            break
        right = Side(
            scan.right[: totals.n_classes],
            scan.right_weight[group + 1],
            scan.right_spread[group + 1],
            scan.right_largest[group + 1],
        )
        gain = split_gain(criterion, totals.impurity, left, right)
        if beats(gain, feature, groups.codes[group], best):
            best = Split(feature, gain, 0.0, groups.codes[group], missing_goes_left)
    return best


@kernel
def best_cut_of_feature(
    criterion: Criterion, totals: NodeTotals, feature: int, n_bins: int, node: NodeRows, scan: Scan, best: Split
) -> Split:
    """The best of `best` and all cuts of the feature whose codes were gathered; its threshold is left to the caller."""
    groups = scan.groups
    n_groups = group_rows(scan.codes[: totals.n_rows], node, n_bins + 1, totals.n_classes, groups)
    n_missing = 0
    if groups.codes[n_groups - 1] == n_bins:
        n_missing = groups.n_rows[n_groups - 1]
        n_groups -= 1
    best = scan_cuts(criterion, totals, feature, n_groups, n_missing, False, scan, best)
    if n_missing > 0:
        best = scan_cuts(criterion, totals, feature, n_groups, n_missing, True, scan, best)
    return best


@kernel
def threshold_of(features: BinnedFeatures, split: Split, node: NodeRows) -> Split:
    """`split` with its threshold: half way to the next value present in the node, infinite after the last one."""
    codes = features.codes[split.feature]
    n_bins = features.n_bins[split.feature]
    offset = features.bin_offsets[split.feature]
    next_code = n_bins
    for i in range(node.rows.shape[0]):
        code = np.int64(codes[node.rows[i]])
        if split.last_left_code < code < next_code:
            next_code = code
    threshold = np.inf
    if next_code < n_bins:
        threshold = midpoint(features.bin_high[offset + split.last_left_code], features.bin_low[offset + next_code])
    return Split(split.feature, split.gain, threshold, split.last_left_code, split.missing_goes_left)


@kernel
def best_split(
    criterion: Criterion,
    totals: NodeTotals,
    features: BinnedFeatures,
    node: NodeRows,
    max_features: int,
    candidates: NDArray[np.int64],
    n_constant: int,
    random_state: NDArray[np.uint64],
    scan: Scan,
) -> tuple[Split, int]:
    """Try up to `max_features` features that vary in the node; returns the best split and the known constant features.

        candidates: [ constant in this node or above | untried ... | tried ]
                      0 .. n_constant                 .. n_untried

    Features found constant move to the front and stay there for the whole subtree, which never looks at them again.
    """
    best = NO_SPLIT
    n_untried = candidates.shape[0]
    n_tried = 0
    draws = max_features < candidates.shape[0]
    while n_untried > n_constant and n_tried < max_features:
        position = n_untried - 1
        if draws:
            position = n_constant + next_below(random_state, n_untried - n_constant)
        feature = candidates[position]
        if not gather_codes(features.codes[feature], node.rows, scan.codes):
            candidates[position] = candidates[n_constant]
            candidates[n_constant] = feature
            n_constant += 1
            continue
        n_untried -= 1
        candidates[position] = candidates[n_untried]
        candidates[n_untried] = feature
        n_tried += 1
        best = best_cut_of_feature(criterion, totals, feature, features.n_bins[feature], node, scan, best)
    if best.feature >= 0:
        best = threshold_of(features, best, node)
    return best, n_constant
