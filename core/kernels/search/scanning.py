"""Scan of all cuts of one feature in one node for the cut with the lowest objective.

Order of preference: lower objective, then lower feature index, then lower threshold, then missing values on the right.
Objectives within a tolerance count as equal, so that rounding does not decide. The scan does not depend on the
criterion.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalog import CRITERIA, Criterion
from core.kernels.criteria.dispatch import combine_risks, pair_gain, side_risk, splits_into_risks, with_weight
from core.kernels.criteria.sides import EMPTY_SIDE, Side
from core.kernels.jit import chosen_by_type, inlined_kernel, inner_kernel, uncompiled
from core.kernels.search.ordering import key_code, key_position

TIE_TOLERANCE = 1e-12
#: A class weight below this fraction of the node's class weight is the rounding error of an empty class.
EMPTY_CLASS_FRACTION = 1e-12

ClassWeights = NDArray[np.float64]


class Cut(NamedTuple):
    """A cut of one feature: codes up to last_left_code go left. feature = -1: no cut."""

    feature: int
    objective: float  # value to minimize: the risk of both children, or a negative gain
    last_left_code: int
    next_code: int  # the lowest code present on the right
    missing_goes_left: bool
    threshold: float  # NaN: the midpoint of the values on both sides


NO_CUT = Cut(-1, np.inf, -1, -1, False, np.nan)


class NodeTotals(NamedTuple):
    """Sums over a node, from which the scan of each feature starts."""

    n_rows: int
    weight: float
    class_weights: ClassWeights  # (listed class,)
    impurity: float


class CutRange(NamedTuple):
    """Cuts after codes in [first, end), which leave enough rows on both sides.

    `missing_goes_left` applies to all of them.
    """

    first: int
    end: int
    missing_goes_left: bool


class ScanWorkspace(NamedTuple):
    """Workspace of a scan."""

    left: ClassWeights  # (class,)
    right: ClassWeights  # (class,)
    scratch: ClassWeights  # (class,)
    sides: ClassWeights  # (side * class,)
    goes_left: NDArray[np.uint8]  # (row,)
    right_risk: NDArray[np.float64]  # (entry + 1,), risk of the entries from e on


def new_scan_workspace(n_entries: int, n_classes: int) -> ScanWorkspace:
    """Return a workspace for features of up to `n_entries` entries."""
    return ScanWorkspace(
        np.zeros(n_classes, dtype=np.float64),
        np.zeros(n_classes, dtype=np.float64),
        np.zeros(n_classes, dtype=np.float64),
        np.zeros(2 * n_classes, dtype=np.float64),
        np.empty(n_entries, dtype=np.uint8),
        np.zeros(n_entries + 1, dtype=np.float64),
    )


@inner_kernel
def beats(objective: float, feature: int, code: int, best: Cut, tolerance: float) -> bool:
    """Return whether a cut after `code` of `feature` is preferred to `best`."""
    if objective < best.objective - tolerance:
        return True
    if objective > best.objective + tolerance:
        return False
    return feature < best.feature or (feature == best.feature and code < best.last_left_code)


@inner_kernel
def _scan_right(
    criterion: Criterion,
    keys: NDArray[np.int64],
    n_entries: int,
    classes: NDArray[np.uint16],
    weights: NDArray[np.float64],
    right: ClassWeights,
    right_risk: NDArray[np.float64],
) -> None:
    """Fill right_risk at each entry that is the first of its code.

    On return, `right` holds the class weights of all entries.
    """
    side = EMPTY_SIDE
    for e in range(n_entries - 1, -1, -1):
        position = key_position(keys[e])
        side = with_weight(criterion, side, right, classes[position], weights[position])
        if e == 0 or key_code(keys[e - 1]) != key_code(keys[e]):
            right_risk[e] = side_risk(criterion, side, right)


@inner_kernel
def _start_left(criterion: Criterion, totals: ClassWeights, right: ClassWeights, left: ClassWeights) -> Side:
    """Return the side of all rows that are not entries, without the rounding errors of empty classes."""
    side = EMPTY_SIDE
    left[:] = 0.0
    for k in range(totals.shape[0]):
        rest = totals[k] - right[k]
        if rest > EMPTY_CLASS_FRACTION * totals[k]:
            side = with_weight(criterion, side, left, k, rest)
    return side


@inlined_kernel
def _scan_risks(
    criterion: Criterion,
    totals: NodeTotals,
    feature: int,
    lowest: int,
    keys: NDArray[np.int64],
    n_entries: int,
    classes: NDArray[np.uint16],
    weights: NDArray[np.float64],
    cuts: CutRange,
    workspace: ScanWorkspace,
    best: Cut,
) -> Cut:
    """Scan the cuts by the risks of their sides."""
    n_classes = totals.class_weights.shape[0]
    left, right, right_risk = workspace.left[:n_classes], workspace.right[:n_classes], workspace.right_risk
    right[:] = 0.0
    _scan_right(criterion, keys, n_entries, classes, weights, right, right_risk)
    side = _start_left(criterion, totals.class_weights, right, left)
    tolerance = TIE_TOLERANCE * totals.weight
    limit = best.objective + tolerance
    code = lowest
    for e in range(n_entries):
        next_code = key_code(keys[e])
        if next_code != code:
            # The weight of very light rows is lost in the rounding of the others.
            left_risk = side_risk(criterion, side, left) if side.weight > 0.0 else 0.0
            objective = combine_risks(criterion, side.weight, left_risk, totals.weight - side.weight, right_risk[e])
            if objective <= limit:
                # The store keeps the compiler from replacing this rarely taken branch by conditional moves, on which
                # each iteration would depend.
                right_risk[n_entries] = objective
                if cuts.first <= code < cuts.end and beats(objective, feature, code, best, tolerance):
                    best = Cut(feature, objective, code, next_code, cuts.missing_goes_left, np.nan)
                    limit = objective + tolerance
            code = next_code
        position = key_position(keys[e])
        side = with_weight(criterion, side, left, classes[position], weights[position])
    return best


@inner_kernel
def _move_left(class_number: int, weight: float, totals: ClassWeights, left: ClassWeights, right: ClassWeights) -> None:
    """Move weight from the right side to the left, without the rounding errors of empty classes."""
    left[class_number] += weight
    rest = right[class_number] - weight
    right[class_number] = rest if rest > EMPTY_CLASS_FRACTION * totals[class_number] else 0.0


@inlined_kernel
def _scan_pairs(
    criterion: Criterion,
    totals: NodeTotals,
    feature: int,
    lowest: int,
    keys: NDArray[np.int64],
    n_entries: int,
    classes: NDArray[np.uint16],
    weights: NDArray[np.float64],
    cuts: CutRange,
    workspace: ScanWorkspace,
    best: Cut,
) -> Cut:
    """Scan the cuts by their pair gains."""
    n_classes = totals.class_weights.shape[0]
    left, right = workspace.left[:n_classes], workspace.right[:n_classes]
    right[:] = 0.0
    for e in range(n_entries):
        position = key_position(keys[e])
        right[classes[position]] += weights[position]
    left_weight = _start_left(criterion, totals.class_weights, right, left).weight
    tolerance = TIE_TOLERANCE * totals.weight
    code = lowest
    for e in range(n_entries):
        next_code = key_code(keys[e])
        if next_code != code:
            objective, right_weight = np.inf, totals.weight - left_weight
            if left_weight > 0.0 and right_weight > 0.0:
                objective = -pair_gain(criterion, left, left_weight, right, right_weight)
            if cuts.first <= code < cuts.end and beats(objective, feature, code, best, tolerance):
                best = Cut(feature, objective, code, next_code, cuts.missing_goes_left, np.nan)
            code = next_code
        position = key_position(keys[e])
        _move_left(classes[position], weights[position], totals.class_weights, left, right)
        left_weight += weights[position]
    return best


def scan_cuts(
    criterion: Criterion,
    totals: NodeTotals,
    feature: int,
    lowest: int,
    keys: NDArray[np.int64],
    n_entries: int,
    classes: NDArray[np.uint16],
    weights: NDArray[np.float64],
    cuts: CutRange,
    workspace: ScanWorkspace,
    best: Cut,
) -> Cut:
    """Return the best of `best` and the allowed cuts before each code among the first `n_entries` entries.

    All other rows of the node stay on the left: those of the code `lowest`, and those with missing values if they are
    not entries.
    """
    scan = _scan_risks if splits_into_risks(criterion) else _scan_pairs
    return scan(criterion, totals, feature, lowest, keys, n_entries, classes, weights, cuts, workspace, best)


@chosen_by_type(scan_cuts, forceinline=True)
def _choose_scan(
    criterion: Any, totals: Any, feature: Any, lowest: Any, keys: Any, n_entries: Any, classes: Any, weights: Any,
    cuts: Any, workspace: Any, best: Any,
) -> Any:  # fmt: skip
    return uncompiled(_scan_risks if CRITERIA[criterion.instance_class].splits_into_risks else _scan_pairs)
