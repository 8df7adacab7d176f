"""The best split of one node: which features are tried, which cuts of a feature, and how ties are broken.

Order of preference: larger gain, then lower feature index, then lower threshold, then missing values to the right. Gains
within TIE_TOLERANCE count as equal, so that rounding does not decide. This file knows no criterion: `split_gain` does.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria import Criterion, split_gain
from core.kernels.features import BinnedFeatures
from core.kernels.histogram import Histogram, NodeRows, clear_histogram, fill_histogram, is_constant
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

    class_weights: NDArray[np.float64]  # (class present in the node,)
    impurity: float
    min_samples_leaf: int


class Scan(NamedTuple):
    """Class weights on the two sides of the moving cut; workspaces of shape (class,)."""

    left: NDArray[np.float64]
    right: NDArray[np.float64]


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
def _refresh_right(parent: NDArray[np.float64], scan: Scan) -> tuple[float, float]:
    """right = parent - left, without the dust that subtraction leaves; returns the weights of both sides."""
    left_weight = 0.0
    right_weight = 0.0
    for k in range(parent.shape[0]):
        rest = parent[k] - scan.left[k]
        if rest <= EMPTY_SHARE * parent[k]:
            rest = 0.0
        scan.right[k] = rest
        left_weight += scan.left[k]
        right_weight += rest
    return left_weight, right_weight


@kernel
def scan_cuts(
    criterion: Criterion,
    totals: NodeTotals,
    feature: int,
    histogram: Histogram,
    n_values: int,
    missing_code: int,
    missing_goes_left: bool,
    n_rows: int,
    scan: Scan,
    best: Split,
) -> Split:
    """The best of `best` and all cuts of one feature, with the missing rows kept on one side.

    Cuts lie between neighbouring present values; with missing rows on the right there is one more, after the last value.
    `threshold` of the result is not filled in.
    """
    n_missing = histogram.counts[missing_code]
    n_left = n_missing if missing_goes_left else 0
    n_cuts = n_values if n_missing > 0 and not missing_goes_left else n_values - 1
    n_classes = totals.class_weights.shape[0]
    left, right = scan.left[:n_classes], scan.right[:n_classes]
    for k in range(n_classes):
        left[k] = histogram.class_weights[missing_code, k] if missing_goes_left else 0.0
    for position in range(n_cuts):
        code = histogram.present[position]
        n_left += histogram.counts[code]
        for k in range(n_classes):
            left[k] += histogram.class_weights[code, k]
        if n_left < totals.min_samples_leaf or n_rows - n_left < totals.min_samples_leaf:
            continue
        left_weight, right_weight = _refresh_right(totals.class_weights, scan)
        gain = split_gain(criterion, totals.impurity, left, left_weight, right, right_weight)
        if beats(gain, feature, code, best):
            best = Split(feature, gain, 0.0, code, missing_goes_left)
    return best


@kernel
def best_cut_of_feature(
    criterion: Criterion,
    totals: NodeTotals,
    feature: int,
    codes: NDArray[Any],
    n_bins: int,
    node: NodeRows,
    histogram: Histogram,
    scan: Scan,
    best: Split,
) -> Split:
    """The best of `best` and all cuts of one feature that varies in the node, with its threshold left to the caller."""
    n_rows = node.rows.shape[0]
    n_present = fill_histogram(codes, node, n_bins + 1, histogram)
    has_missing = histogram.counts[n_bins] > 0
    n_values = n_present - np.int64(has_missing)
    best = scan_cuts(criterion, totals, feature, histogram, n_values, n_bins, False, n_rows, scan, best)
    if has_missing:
        best = scan_cuts(criterion, totals, feature, histogram, n_values, n_bins, True, n_rows, scan, best)
    clear_histogram(histogram, n_present, totals.class_weights.shape[0])
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
        threshold = midpoint(
            features.bin_high[offset + split.last_left_code], features.bin_low[offset + next_code]
        )
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
    histogram: Histogram,
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
        if is_constant(features.codes[feature], node):
            candidates[position] = candidates[n_constant]
            candidates[n_constant] = feature
            n_constant += 1
            continue
        n_untried -= 1
        candidates[position] = candidates[n_untried]
        candidates[n_untried] = feature
        n_tried += 1
        best = best_cut_of_feature(
            criterion,
            totals,
            feature,
            features.codes[feature],
            features.n_bins[feature],
            node,
            histogram,
            scan,
            best,
        )
    if best.feature >= 0:
        best = threshold_of(features, best, node)
    return best, n_constant
