"""One random cut of a feature, as extremely randomised trees make it (Geurts, Ernst and Wehenkel 2006)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalogue import Criterion
from core.kernels.criteria.dispatch import children_risk, pair_gain, side_of, side_risk, splits_into_risks
from core.kernels.features import BinnedFeatures
from core.kernels.jit import inlined_kernel, inner_kernel
from core.kernels.random_state import next_unit
from core.kernels.search.node_codes import NodeRows, count_up_to
from core.kernels.search.packed_sums import PackedRows, sum_up_to
from core.kernels.search.scanning import TIE_TOLERANCE, ClassWeights, Cut, NodeTotals, ScanRoom, beats


@inner_kernel
def draw_threshold(low: float, high: float, random_state: NDArray[np.uint64]) -> float:
    """A number drawn evenly from [low, high)."""
    share = next_unit(random_state)
    drawn = low * (1.0 - share) + high * share
    return drawn if low <= drawn < high else low


@inner_kernel
def last_code_below(bin_low: NDArray[np.float64], lowest: int, highest: int, threshold: float) -> int:
    """The last code in [lowest, highest) whose bin starts at or below `threshold`; `lowest` does."""
    # invariant: the code is in [first, first + n_left); without a branch, as which half it is in is a coin toss
    first, n_left = np.uint64(lowest), np.uint64(highest - lowest)
    while n_left > 1:
        half = n_left >> np.uint64(1)
        first += half * np.uint64(bin_low[first + half] <= threshold)
        n_left -= half
    return int(np.int64(first))


@inner_kernel
def _highest_present(codes: NDArray[Any], n_rows: int, lowest: int, missing_code: int) -> int:
    highest = lowest
    for i in range(n_rows):
        code = int(np.int64(codes[i]))
        highest = max(highest, code if code != missing_code else lowest)
    return highest


@inner_kernel
def _sum_sides(
    codes: NDArray[Any],
    classes: NDArray[np.uint16],
    weights: NDArray[np.float64],
    last_left_code: int,
    left_too: int,
    sides: ClassWeights,
) -> None:
    """Fill `sides` (side * class,), left before right, without a branch: which side a row takes is a coin toss.

    `left_too` is a code that goes left as well.
    """
    n_classes = sides.shape[0] // 2
    sides[:] = 0.0
    for i in range(classes.shape[0]):
        code = np.int64(codes[i])
        goes_right = int(code > last_left_code) & int(code != left_too)
        sides[goes_right * n_classes + classes[i]] += weights[i]


@inner_kernel
def children_of(criterion: Criterion, left: ClassWeights, right: ClassWeights, workspace: ClassWeights) -> float:
    """What the scan minimises, from the class weights of both sides."""
    left_side, right_side = side_of(criterion, left, workspace), side_of(criterion, right, workspace)
    if not splits_into_risks(criterion):
        return -pair_gain(criterion, left, left_side.weight, right, right_side.weight)
    return children_risk(
        criterion,
        left_side.weight,
        side_risk(criterion, left_side, left),
        right_side.weight,
        side_risk(criterion, right_side, right),
    )


@inlined_kernel
def _weigh_sides(
    codes: NDArray[Any],
    node: NodeRows,
    packed: PackedRows,
    class_weights: ClassWeights,
    last_left_code: int,
    left_too: int,
    sides: ClassWeights,
) -> None:
    """Fill `sides` as `_sum_sides` does, from words where rows are packed."""
    if packed.n_fitting > 0:
        n_classes = class_weights.shape[0]
        sum_up_to(codes, packed, last_left_code, left_too, sides[:n_classes])
        for k in range(n_classes):
            sides[n_classes + k] = class_weights[k] - sides[k]
    else:
        _sum_sides(codes, node.classes, node.weights, last_left_code, left_too, sides)


@inlined_kernel
def random_cut(
    criterion: Criterion,
    totals: NodeTotals,
    features: BinnedFeatures,
    feature: int,
    codes: NDArray[Any],
    lowest: int,
    highest: int,
    node: NodeRows,
    packed: PackedRows,
    min_samples_leaf: int,
    random_state: NDArray[np.uint64],
    room: ScanRoom,
    best: Cut,
) -> Cut:
    """The better of `best` and a random cut of the feature, with missing values on the side where they do less harm.

    The threshold is drawn evenly between the lowest and the highest value present in the node (the lower ends of their
    bins); with one value and missing ones, the cut lies between these. Only `packed` is read of rows that are packed.
    """
    n_classes = totals.class_weights.shape[0]
    sides = room.sides[: 2 * n_classes]
    left, right = sides[:n_classes], sides[n_classes:]
    missing_code, offset = features.n_bins[feature], features.bin_offsets[feature]
    has_missing = highest == missing_code
    if has_missing:
        highest = _highest_present(codes, node.rows.shape[0], lowest, missing_code)
    threshold, last_left_code = np.inf, lowest
    if lowest < highest:
        bin_low = features.bin_low[offset : offset + missing_code]
        threshold = draw_threshold(bin_low[lowest], bin_low[highest], random_state)
        last_left_code = last_code_below(bin_low, lowest, highest, threshold)
        threshold = max(threshold, features.bin_high[offset + last_left_code])
    for missing_goes_left in (False, True):
        left_too = missing_code if missing_goes_left else last_left_code
        _weigh_sides(codes, node, packed, totals.class_weights, last_left_code, left_too, sides)
        n_left = 1  # or more, where no value is missing: the lowest code lies on the left, the highest on the right
        if has_missing or min_samples_leaf > 1:
            n_left = count_up_to(codes, totals.n_rows, last_left_code, left_too)
        if min(n_left, totals.n_rows - n_left) >= max(min_samples_leaf, 1):
            children = children_of(criterion, left, right, room.workspace[:n_classes])
            if beats(children, feature, last_left_code, best, TIE_TOLERANCE * totals.weight):
                best = Cut(feature, children, last_left_code, -1, missing_goes_left, threshold)
        if not has_missing:
            break
    return best
