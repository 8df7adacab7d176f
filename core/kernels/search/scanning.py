"""All cuts of one feature in one node: which one leaves the least risk in the children.

Order of preference: less risk, then lower feature index, then lower threshold, then missing values to the right. Risks
within a tolerance count as equal, so that rounding does not decide. This file knows no criterion.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalogue import Criterion
from core.kernels.criteria.dispatch import children_risk, pair_gain, side_risk, splits_into_risks, with_weight
from core.kernels.criteria.sides import NOTHING, Side
from core.kernels.jit import inlined_kernel, inner_kernel, kernel
from core.kernels.search.ordering import code_of, position_of

TIE_TOLERANCE = 1e-12
#: A class weight below this share of the node's is what rounding left of an empty class.
EMPTY_SHARE = 1e-12

ClassWeights = NDArray[np.float64]


class Cut(NamedTuple):
    """A cut of one feature: codes up to last_left_code go left. feature = -1: none found."""

    feature: int
    children: float  # what the criterion minimises: the children's risk, or a negative gain
    last_left_code: int
    next_code: int  # the lowest code present on the right
    missing_goes_left: bool
    threshold: float  # not a number: half way between the values on both sides


NO_CUT = Cut(-1, np.inf, -1, -1, False, np.nan)


class NodeTotals(NamedTuple):
    """What the scan of every feature of a node starts from."""

    n_rows: int
    weight: float
    class_weights: ClassWeights  # (class present,)
    impurity: float


class CutRange(NamedTuple):
    """Cuts after codes in [first, end) leave enough rows on both sides; `missing_goes_left` holds for all of them."""

    first: int
    end: int
    missing_goes_left: bool


class ScanRoom(NamedTuple):
    """Workspaces of the moving cut."""

    left: ClassWeights  # (class,)
    right: ClassWeights  # (class,)
    workspace: ClassWeights  # (class,)
    sides: ClassWeights  # (side * class,)
    taken: NDArray[np.uint8]  # (row,)
    right_risk: NDArray[np.float64]  # (entry + 1,): risk of entries e, e + 1, ...


@kernel
def new_scan_room(n_entries: int, n_classes: int) -> ScanRoom:
    """Room for any feature of up to `n_entries` entries."""
    return ScanRoom(
        np.zeros(n_classes, dtype=np.float64),
        np.zeros(n_classes, dtype=np.float64),
        np.zeros(n_classes, dtype=np.float64),
        np.zeros(2 * n_classes, dtype=np.float64),
        np.empty(n_entries, dtype=np.uint8),
        np.zeros(n_entries + 1, dtype=np.float64),
    )


@inner_kernel
def beats(children: float, feature: int, code: int, best: Cut, tolerance: float) -> bool:
    """Whether a cut after `code` of `feature` is preferred to the best one so far."""
    if children < best.children - tolerance:
        return True
    if children > best.children + tolerance:
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
    """Fill right_risk at every entry that starts a code; leaves in `right` the class weights of all entries."""
    side = NOTHING
    for e in range(n_entries - 1, -1, -1):
        position = position_of(keys[e])
        side = with_weight(criterion, side, right, classes[position], weights[position])
        if e == 0 or code_of(keys[e - 1]) != code_of(keys[e]):
            right_risk[e] = side_risk(criterion, side, right)


@inner_kernel
def _start_left(criterion: Criterion, totals: ClassWeights, right: ClassWeights, left: ClassWeights) -> Side:
    """The side of all rows that are no entries: the node less the entries, without the dust of rounding."""
    side = NOTHING
    left[:] = 0.0
    for k in range(totals.shape[0]):
        rest = totals[k] - right[k]
        if rest > EMPTY_SHARE * totals[k]:
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
    room: ScanRoom,
    best: Cut,
) -> Cut:
    n_classes = totals.class_weights.shape[0]
    left, right, right_risk = room.left[:n_classes], room.right[:n_classes], room.right_risk
    right[:] = 0.0
    _scan_right(criterion, keys, n_entries, classes, weights, right, right_risk)
    side = _start_left(criterion, totals.class_weights, right, left)
    tolerance = TIE_TOLERANCE * totals.weight
    limit = best.children + tolerance
    code = lowest
    for e in range(n_entries):
        next_code = code_of(keys[e])
        if next_code != code:
            children = children_risk(
                criterion, side.weight, side_risk(criterion, side, left), totals.weight - side.weight, right_risk[e]
            )
            if children <= limit:
                # The store keeps the compiler from turning a branch that is rarely taken into conditional moves, which
                # every round of the loop would have to wait for.
                right_risk[n_entries] = children
                if cuts.first <= code < cuts.end and beats(children, feature, code, best, tolerance):
                    best = Cut(feature, children, code, next_code, cuts.missing_goes_left, np.nan)
                    limit = children + tolerance
            code = next_code
        position = position_of(keys[e])
        side = with_weight(criterion, side, left, classes[position], weights[position])
    return best


@inner_kernel
def _move_left(class_number: int, weight: float, totals: ClassWeights, left: ClassWeights, right: ClassWeights) -> None:
    """Take weight off the right side, leaving no dust of rounding behind."""
    left[class_number] += weight
    rest = right[class_number] - weight
    right[class_number] = rest if rest > EMPTY_SHARE * totals[class_number] else 0.0


@inner_kernel
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
    room: ScanRoom,
    best: Cut,
) -> Cut:
    n_classes = totals.class_weights.shape[0]
    left, right = room.left[:n_classes], room.right[:n_classes]
    right[:] = 0.0
    for e in range(n_entries):
        position = position_of(keys[e])
        right[classes[position]] += weights[position]
    left_weight = _start_left(criterion, totals.class_weights, right, left).weight
    tolerance = TIE_TOLERANCE * totals.weight
    code = lowest
    for e in range(n_entries):
        next_code = code_of(keys[e])
        if next_code != code:
            children = -pair_gain(criterion, left, left_weight, right, totals.weight - left_weight)
            if cuts.first <= code < cuts.end and beats(children, feature, code, best, tolerance):
                best = Cut(feature, children, code, next_code, cuts.missing_goes_left, np.nan)
            code = next_code
        position = position_of(keys[e])
        _move_left(classes[position], weights[position], totals.class_weights, left, right)
        left_weight += weights[position]
    return best


@inlined_kernel
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
    room: ScanRoom,
    best: Cut,
) -> Cut:
    """The best of `best` and the allowed cuts before each code among the first `n_entries` entries.

    All other rows of the node stay on the left throughout: those of the code `lowest`, and missing ones when they are
    no entries.
    """
    if splits_into_risks(criterion):
        return _scan_risks(criterion, totals, feature, lowest, keys, n_entries, classes, weights, cuts, room, best)
    return _scan_pairs(criterion, totals, feature, lowest, keys, n_entries, classes, weights, cuts, room, best)
