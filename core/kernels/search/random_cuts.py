"""Random cuts of a feature for extremely randomized trees (Geurts, Ernst and Wehenkel 2006)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalog import Criterion
from core.kernels.criteria.dispatch import combine_risks, make_side, pair_gain, side_risk, splits_into_risks
from core.kernels.features import BinnedFeatures
from core.kernels.jit import inlined_kernel, inner_kernel
from core.kernels.random_state import next_unit
from core.kernels.search.node_codes import NodeRows, count_up_to
from core.kernels.search.packed_sums import PackedRows, sum_up_to
from core.kernels.search.scanning import TIE_TOLERANCE, ClassWeights, Cut, NodeTotals, ScanWorkspace, beats


@inner_kernel
def draw_threshold(low: float, high: float, random_state: NDArray[np.uint64]) -> float:
    """Return a number drawn uniformly from [low, high)."""
    fraction = next_unit(random_state)
    threshold = low * (1.0 - fraction) + high * fraction
    return threshold if low <= threshold < high else low


@inner_kernel
def last_code_below(bin_low: NDArray[np.float64], lowest: int, highest: int, threshold: float) -> int:
    """Return the last code in [lowest, highest) whose bin starts at or below `threshold`; that of `lowest` does."""
    # invariant: the code is in [first, first + n_left); no branch, since the processor could not predict the half
    first, n_left = np.uint64(lowest), np.uint64(highest - lowest)
    while n_left > 1:
        half = n_left >> np.uint64(1)
        first += half * np.uint64(bin_low[first + half] <= threshold)
        n_left -= half
    return int(np.int64(first))


@inner_kernel
def _highest_present(codes: NDArray[Any], n_rows: int, lowest: int, missing_code: int) -> int:
    """Return the highest of the first `n_rows` codes that is not `missing_code`."""
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
    also_left: int,
    sides: ClassWeights,
) -> None:
    """Fill `sides` (side * class,), left before right.

    Rows with the code `also_left` go left, too. The loop has no branch, since the processor could not predict it.
    """
    n_classes = sides.shape[0] // 2
    sides[:] = 0.0
    for i in range(classes.shape[0]):
        code = np.int64(codes[i])
        goes_right = int(code > last_left_code) & int(code != also_left)
        sides[goes_right * n_classes + classes[i]] += weights[i]


@inner_kernel
def cut_objective(criterion: Criterion, left: ClassWeights, right: ClassWeights, scratch: ClassWeights) -> float:
    """Return the objective of a cut, from the class weights (class,) of both sides."""
    left_side, right_side = make_side(criterion, left, scratch), make_side(criterion, right, scratch)
    if not splits_into_risks(criterion):
        return -pair_gain(criterion, left, left_side.weight, right, right_side.weight)
    return combine_risks(
        criterion,
        left_side.weight,
        side_risk(criterion, left_side, left),
        right_side.weight,
        side_risk(criterion, right_side, right),
    )


@inlined_kernel
def _fill_sides(
    codes: NDArray[Any],
    node: NodeRows,
    packed: PackedRows,
    class_weights: ClassWeights,
    last_left_code: int,
    also_left: int,
    sides: ClassWeights,
) -> None:
    """Fill `sides` as `_sum_sides` does, from the words if rows are packed."""
    if packed.n_fitting > 0:
        n_classes = class_weights.shape[0]
        sum_up_to(codes, packed, last_left_code, also_left, sides[:n_classes])
        for k in range(n_classes):
            sides[n_classes + k] = class_weights[k] - sides[k]
    else:
        _sum_sides(codes, node.classes, node.weights, last_left_code, also_left, sides)


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
    workspace: ScanWorkspace,
    best: Cut,
) -> Cut:
    """Return the better of `best` and a random cut of the feature.

    The threshold is drawn uniformly between the lowest and the highest value in the node (the lower ends of their
    bins). If there are only one value and missing ones, the cut separates these. Missing values go to the side where
    the objective is lower. Of packed rows, only `packed` is read.
    """
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
    return better_side_for_missing(
        criterion, totals, feature, codes, missing_code, has_missing, last_left_code, threshold, node, packed,
        min_samples_leaf, workspace, best,
    )  # fmt: skip


@inner_kernel
def better_side_for_missing(
    criterion: Criterion,
    totals: NodeTotals,
    feature: int,
    codes: NDArray[Any],
    missing_code: int,
    has_missing: bool,
    last_left_code: int,
    threshold: float,
    node: NodeRows,
    packed: PackedRows,
    min_samples_leaf: int,
    workspace: ScanWorkspace,
    best: Cut,
) -> Cut:
    """Return the better of `best` and the cut after `last_left_code`, with missing values on the better side."""
    n_classes = totals.class_weights.shape[0]
    sides = workspace.sides[: 2 * n_classes]
    left, right = sides[:n_classes], sides[n_classes:]
    for missing_goes_left in (False, True):
        also_left = missing_code if missing_goes_left else last_left_code
        _fill_sides(codes, node, packed, totals.class_weights, last_left_code, also_left, sides)
        n_left = 1  # at least, if no value is missing: both sides have a code
        if has_missing or min_samples_leaf > 1:
            n_left = count_up_to(codes, totals.n_rows, last_left_code, also_left)
        if min(n_left, totals.n_rows - n_left) >= max(min_samples_leaf, 1):
            objective = cut_objective(criterion, left, right, workspace.scratch[:n_classes])
            if beats(objective, feature, last_left_code, best, TIE_TOLERANCE * totals.weight):
                best = Cut(feature, objective, last_left_code, -1, missing_goes_left, threshold)
        if not has_missing:
            break
    return best
