"""The best split of one node: which features are tried, and the cut of one of them.

`max_features` counts what is drawn, as scikit-learn does: a feature that is constant in the node uses up a draw, and
the search goes on beyond that count only until it has met one that varies.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalogue import Criterion
from core.kernels.criteria.dispatch import gain_of_children
from core.kernels.features import BinnedFeatures
from core.kernels.jit import inlined_kernel, inner_kernel, kernel
from core.kernels.random_state import next_below
from core.kernels.search.cut_ranges import count_codes, range_of_rows, range_of_sums
from core.kernels.search.entries import MOST_CELLS, EntryRoom, list_entries, new_entry_room
from core.kernels.search.node_codes import NodeRows, gather_codes
from core.kernels.search.ordering import code_of
from core.kernels.search.packed_sums import PackedRows
from core.kernels.search.random_cuts import random_cut
from core.kernels.search.scanning import NO_CUT, Cut, CutRange, NodeTotals, ScanRoom, new_scan_room, scan_cuts


class Split(NamedTuple):
    """A cut as the tree keeps it. feature = -1: the node has no allowed split."""

    feature: int
    gain: float  # per unit of the node's weight
    threshold: float  # infinite: all present values left, missing ones right
    last_left_code: int
    missing_goes_left: bool
    sees_missing: bool  # whether the node has rows where the feature is missing


NO_SPLIT = Split(-1, -np.inf, 0.0, -1, False, False)


class Found(NamedTuple):
    """What the search of a node ends with."""

    split: Split
    n_constant: int  # features now known to be constant in the node
    buffer: int  # SearchRoom.codes[buffer] are the codes of the split's feature


class SearchLimits(NamedTuple):
    """What every search of a tree obeys."""

    max_features: int
    min_samples_leaf: int  # rows, not weight
    random_cuts: bool  # one random cut per feature instead of the best one


class SearchRoom(NamedTuple):
    """Workspaces of the search, for any node of a tree.

        candidates: [ constant in this node or above | untried ... | tried ]
                      0 .. n_constant                 .. n_untried

    Features found constant move to the front and stay there for the whole subtree, which never looks at them again.
    """

    candidates: NDArray[np.int64]  # (feature,)
    codes: NDArray[Any]  # (2, row), of the best cut so far and of the feature tried
    n_by_code: NDArray[np.int32]  # (code,)
    words: NDArray[np.uint64]  # (row,), see packed_sums
    lanes: NDArray[np.int64]  # (class,): 0, 1, ...
    entries: EntryRoom
    scan: ScanRoom


@kernel
def new_search_room(features: BinnedFeatures, n_rows: int, n_classes: int) -> SearchRoom:
    """Room for any node of up to `n_rows` rows."""
    entries = new_entry_room(n_rows)
    return SearchRoom(
        np.arange(features.codes.shape[0]),
        np.empty((2, n_rows), dtype=features.codes.dtype),
        np.zeros(MOST_CELLS + 1, dtype=np.int32),
        np.empty(n_rows, dtype=np.uint64),
        np.arange(n_classes),
        entries,
        new_scan_room(entries.keys.shape[0], n_classes),
    )


@inner_kernel
def midpoint(below: float, above: float) -> float:
    """A threshold t with below <= t < above, half way where the numbers allow."""
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
    least: int,
    keys: NDArray[np.int64],
    codes: NDArray[Any],
    n_by_code: NDArray[np.int32],
) -> CutRange:
    """Which cuts leave `least` rows on both sides, when the first `n_scanned` entries start on the right."""
    if not is_summed:
        return range_of_rows(keys, n_scanned, n_rows, lowest, least, missing_goes_left)
    n_codes = highest - lowest + 1
    count_codes(codes, n_rows, lowest, n_codes, n_by_code)
    n_missing = int(n_by_code[n_codes - 1]) if n_missing_entries > 0 else 0
    return range_of_sums(n_by_code, n_codes, n_missing, lowest, least, missing_goes_left)


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
    least: int,
    room: SearchRoom,
    best: Cut,
) -> Cut:
    """The best of `best` and all cuts of the feature with these `codes` which leave `least` rows on both sides.

    Missing values have the highest code of all. They stay on the right first, then on the left.
    """
    entries = room.entries
    n_entries, is_summed = list_entries(codes, node, totals.class_weights.shape[0], lowest, highest, entries)
    classes = entries.classes if is_summed else node.classes
    weights = entries.weights if is_summed else node.weights
    n_scanned = n_entries
    for missing_goes_left in (False, True):
        cuts = CutRange(lowest, missing_code, missing_goes_left)
        if least > 1:
            n_missing_entries = n_entries - n_scanned if missing_goes_left else int(highest == missing_code)
            cuts = _allowed_cuts(
                totals.n_rows,
                n_missing_entries,
                n_scanned,
                is_summed,
                lowest,
                highest,
                missing_goes_left,
                least,
                entries.keys,
                codes,
                room.n_by_code,
            )
        best = scan_cuts(
            criterion, totals, feature, lowest, entries.keys, n_scanned, classes, weights, cuts, room.scan, best
        )
        if highest != missing_code:
            break
        while n_scanned > 0 and code_of(entries.keys[n_scanned - 1]) == missing_code:
            n_scanned -= 1
    return best


@inner_kernel
def split_of(criterion: Criterion, totals: NodeTotals, features: BinnedFeatures, cut: Cut, sees_missing: bool) -> Split:
    """The split that makes `cut`: without a threshold of its own, half way to the next value present in the node, and
    infinite after the last one.
    """
    threshold = cut.threshold
    if np.isnan(threshold):
        offset, n_bins = features.bin_offsets[cut.feature], features.n_bins[cut.feature]
        threshold = np.inf
        if cut.next_code < n_bins:
            low, high = features.bin_low, features.bin_high
            threshold = midpoint(high[offset + cut.last_left_code], low[offset + cut.next_code])
    gain = gain_of_children(criterion, totals.impurity, cut.children, totals.weight)
    return Split(cut.feature, gain, threshold, cut.last_left_code, cut.missing_goes_left, sees_missing)


@inlined_kernel
def _cut_of_feature(
    criterion: Criterion,
    totals: NodeTotals,
    features: BinnedFeatures,
    feature: int,
    codes: NDArray[Any],
    lowest: int,
    highest: int,
    node: NodeRows,
    packed: PackedRows,
    limits: SearchLimits,
    random_state: NDArray[np.uint64],
    room: SearchRoom,
    best: Cut,
) -> Cut:
    """The better of `best` and the feature's best cut, or one at random."""
    least = limits.min_samples_leaf
    if limits.random_cuts:
        return random_cut(
            criterion, totals, features, feature, codes, lowest, highest, node, packed, least, random_state, room.scan,
            best,
        )  # fmt: skip
    missing_code = features.n_bins[feature]
    return best_cut(criterion, totals, feature, codes, lowest, highest, missing_code, node, least, room, best)


@inner_kernel
def _draw(n_known: int, n_constant: int, n_untried: int, at_random: bool, random_state: NDArray[np.uint64]) -> int:
    """Place of a feature among the candidates that are not known constant, -1 for one that is.

    Known constants are drawn like the others; which of them it was makes no difference.
    """
    if not at_random:
        return n_untried - 1
    drawn = next_below(random_state, n_known + n_untried - n_constant)
    return n_constant + drawn - n_known if drawn >= n_known else -1


@inner_kernel
def _swap(candidates: NDArray[np.int64], one: int, other: int) -> None:
    candidates[one], candidates[other] = candidates[other], candidates[one]


@inlined_kernel
def best_split(
    criterion: Criterion,
    totals: NodeTotals,
    features: BinnedFeatures,
    node: NodeRows,
    packed: PackedRows,
    limits: SearchLimits,
    n_constant: int,
    random_state: NDArray[np.uint64],
    room: SearchRoom,
) -> Found:
    """The best split among the features drawn."""
    candidates, best, sees_missing, free_buffer = room.candidates, NO_CUT, False, 0
    n_known, n_untried, n_drawn, n_varying = n_constant, candidates.shape[0], 0, 0
    at_random = limits.max_features < n_untried
    while n_untried > n_constant and (n_drawn < limits.max_features or n_varying == 0):
        n_drawn += 1
        place = _draw(n_known, n_constant, n_untried, at_random, random_state)
        if place < 0:
            n_known -= 1
            continue
        feature = candidates[place]
        codes = room.codes[free_buffer]
        lowest, highest = gather_codes(features, feature, node.rows, codes)
        if lowest == highest:
            _swap(candidates, place, n_constant)
            n_constant += 1
            continue
        n_untried -= 1
        _swap(candidates, place, n_untried)
        n_varying += 1
        best = _cut_of_feature(
            criterion, totals, features, feature, codes, lowest, highest, node, packed, limits, random_state, room, best
        )
        if best.feature == feature:
            sees_missing = highest == features.n_bins[feature]
            free_buffer = 1 - free_buffer
    split = NO_SPLIT if best.feature < 0 else split_of(criterion, totals, features, best, sees_missing)
    return Found(split, n_constant, 1 - free_buffer)
