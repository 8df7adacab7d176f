"""Categories of one feature in one node: numbered by their first rows, with their class weights as entries.

    codes     7 3 3 9 7 3 ...                  of the rows of the node
    listed    7 3 9                            the code of each slot, in the order of the first rows; missing comes last
    entries   | 7, k | 7, k' | 3, k | 9, k' |  from starts[slot] to starts[slot + 1]

Sums over categories run in the order of the slots. They depend on the order of the rows, but not on the codes, so that
a tree does not depend on the names or the order of the categories, not even by rounding.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.features import BinnedFeatures
from core.kernels.jit import inlined_kernel, inner_kernel
from core.kernels.search.category_component import MAX_CLASSES_FORMED
from core.kernels.search.entries import MAX_CELLS, MAX_CELLS_PER_ROW


class CategoryWorkspace(NamedTuple):
    """Workspace for the categories of one feature in one node, reused for the next feature."""

    seen: NDArray[np.uint8]  # (code,), zero between two features
    slots: NDArray[np.int32]  # (code,)
    ranks: NDArray[np.int32]  # (2, code), of the best cut's feature and of the feature being tried
    listed: NDArray[np.int32]  # (slot,)
    starts: NDArray[np.int64]  # (slot + 1,)
    weights: NDArray[np.float64]  # (slot,)
    shrinkage: NDArray[np.float64]  # (slot,)
    values: NDArray[np.float64]  # (slot,), by which categories are ordered; ascending afterwards
    order: NDArray[np.int32]  # (slot,)
    spare_values: NDArray[np.float64]  # (slot,)
    spare_order: NDArray[np.int32]  # (slot,)
    rows_per_rank: NDArray[np.int32]  # (slot,)
    classes: NDArray[np.uint16]  # (entry,)
    entry_weights: NDArray[np.float64]  # (entry,)
    class_weights: NDArray[np.float64]  # (class,), without the rows whose value is missing
    direction: NDArray[np.float64]  # (class,)
    next_direction: NDArray[np.float64]  # (class,)
    covariance: NDArray[np.float64]  # (MAX_CLASSES_FORMED, MAX_CLASSES_FORMED)
    counts: NDArray[np.int64]  # (3,): ranks | entries of present values | entries of all values


def new_category_workspace(features: BinnedFeatures, n_rows: int, n_classes: int) -> CategoryWorkspace:
    """Return a workspace for nodes of up to `n_rows` rows, with short arrays if no feature is categorical."""
    n_codes = int((features.n_bins[features.is_categorical != 0] + 1).max(initial=0))
    n_slots = min(n_codes, n_rows) + 2
    n_entries = n_rows + 1 if n_codes > 0 else 1
    return CategoryWorkspace(
        np.zeros(n_codes, dtype=np.uint8),
        np.empty(n_codes, dtype=np.int32),
        np.empty((2, n_codes), dtype=np.int32),
        np.empty(n_slots, dtype=np.int32),
        np.empty(n_slots + 1, dtype=np.int64),
        np.empty(n_slots, dtype=np.float64),
        np.empty(n_slots, dtype=np.float64),
        np.empty(n_slots, dtype=np.float64),
        np.empty(n_slots, dtype=np.int32),
        np.empty(n_slots, dtype=np.float64),
        np.empty(n_slots, dtype=np.int32),
        np.empty(n_slots, dtype=np.int32),
        np.empty(n_entries, dtype=np.uint16),
        np.empty(n_entries, dtype=np.float64),
        np.zeros(n_classes, dtype=np.float64),
        np.zeros(n_classes, dtype=np.float64),
        np.zeros(n_classes, dtype=np.float64),
        np.zeros((MAX_CLASSES_FORMED, MAX_CLASSES_FORMED), dtype=np.float64),
        np.zeros(3, dtype=np.int64),
    )


@inner_kernel
def list_categories(
    codes: NDArray[Any],
    n_rows: int,
    n_possible: int,
    missing_code: int,
    has_missing: bool,
    seen: NDArray[np.uint8],
    listed: NDArray[np.int32],
) -> int:
    """List the distinct ones of the first `n_rows` codes, of which there are at most `n_possible`.

    Returns their number without the code of missing values, which is listed last. Each code is written before it is
    known whether it is new, which avoids a branch that the processor could not predict.
    """
    n_listed = i = 0
    while i < n_rows and n_listed < n_possible:
        code = np.int64(codes[i])
        listed[n_listed] = code
        n_listed += int(seen[code] == 0)
        seen[code] = 1
        i += 1
    for slot in range(n_listed):
        seen[listed[slot]] = 0
    return _move_to_end(missing_code, listed, n_listed) if has_missing else n_listed


@inner_kernel
def _move_to_end(code: int, listed: NDArray[np.int32], n_listed: int) -> int:
    """Move `code` behind the others, which keep their order; return their number."""
    n_others = 0
    for slot in range(n_listed):
        other = listed[slot]
        listed[n_others] = other
        n_others += int(other != code)
    listed[n_others] = code
    return n_others


@inlined_kernel
def list_category_entries(
    codes: NDArray[Any],
    node_classes: NDArray[np.uint16],
    node_weights: NDArray[np.float64],
    lowest: int,
    highest: int,
    n_categories: int,
    has_missing: bool,
    n_classes: int,
    table: NDArray[np.float64],
    workspace: CategoryWorkspace,
) -> None:
    """Fill starts, classes and entry_weights of all slots, and weights, values and class_weights of the categories.

    If there are few categories relative to the number of rows, the rows of one category and class are summed to one
    entry, in `table` (cell,), which is zero before and after. Otherwise each row is an entry. With two classes, values
    (slot,) are the shares of the second one.
    """
    n_rows, n_slots = node_classes.shape[0], n_categories + int(has_missing)
    most_cells = min(MAX_CELLS, MAX_CELLS_PER_ROW * n_rows)
    is_dense = (highest - lowest + 1) * n_classes <= most_cells
    if is_dense:
        _sum_by_code(codes, node_classes, node_weights, lowest, n_classes, table)
    else:
        _number(workspace.listed, n_slots, workspace.slots)
    if is_dense or n_slots * n_classes <= most_cells:
        if not is_dense:
            _sum_by_slot(codes, node_classes, node_weights, workspace.slots, n_classes, table)
        first_code = lowest if is_dense else -1
        _list_cells(
            table, workspace.listed, first_code, n_slots, n_classes, workspace.starts, workspace.classes,
            workspace.entry_weights,
        )  # fmt: skip
    else:
        _sort_rows(
            codes, node_classes, node_weights, workspace.slots, n_slots, workspace.starts, workspace.classes,
            workspace.entry_weights,
        )  # fmt: skip


@inner_kernel
def _sum_by_code(
    codes: NDArray[Any],
    classes: NDArray[np.uint16],
    weights: NDArray[np.float64],
    lowest: int,
    n_classes: int,
    table: NDArray[np.float64],
) -> None:
    for i in range(classes.shape[0]):
        table[(np.int64(codes[i]) - lowest) * n_classes + classes[i]] += weights[i]


@inner_kernel
def _number(listed: NDArray[np.int32], n_slots: int, slots: NDArray[np.int32]) -> None:
    """Fill slots (code,) of the listed codes."""
    for slot in range(n_slots):
        slots[listed[slot]] = slot


@inner_kernel
def _sum_by_slot(
    codes: NDArray[Any],
    classes: NDArray[np.uint16],
    weights: NDArray[np.float64],
    slots: NDArray[np.int32],
    n_classes: int,
    table: NDArray[np.float64],
) -> None:
    for i in range(classes.shape[0]):
        table[np.int64(slots[np.int64(codes[i])]) * n_classes + classes[i]] += weights[i]


@inner_kernel
def _list_cells(
    table: NDArray[np.float64],
    listed: NDArray[np.int32],
    first_code: int,
    n_slots: int,
    n_classes: int,
    starts: NDArray[np.int64],
    classes: NDArray[np.uint16],
    entry_weights: NDArray[np.float64],
) -> None:
    """List one entry per cell in use and clear the table, whose rows are codes from `first_code` on, or slots if -1."""
    n_entries = 0
    for slot in range(n_slots):
        starts[slot] = n_entries
        cell = (slot if first_code < 0 else listed[slot] - first_code) * n_classes
        for k in range(n_classes):
            weight = table[cell + k]
            classes[n_entries], entry_weights[n_entries] = k, weight
            n_entries += int(weight > 0.0)
            table[cell + k] = 0.0
    starts[n_slots] = n_entries


@inner_kernel
def _sort_rows(
    codes: NDArray[Any],
    classes: NDArray[np.uint16],
    weights: NDArray[np.float64],
    slots: NDArray[np.int32],
    n_slots: int,
    starts: NDArray[np.int64],
    entry_classes: NDArray[np.uint16],
    entry_weights: NDArray[np.float64],
) -> None:
    """List one entry per row by a counting sort on the slots."""
    n_rows = classes.shape[0]
    starts[: n_slots + 1] = 0
    for i in range(n_rows):
        starts[slots[np.int64(codes[i])] + 1] += 1
    for slot in range(n_slots):
        starts[slot + 1] += starts[slot]
    for i in range(n_rows):
        slot = slots[np.int64(codes[i])]
        entry = starts[slot]
        entry_classes[entry], entry_weights[entry] = classes[i], weights[i]
        starts[slot] = entry + 1
    for slot in range(n_slots, 0, -1):
        starts[slot] = starts[slot - 1]
    starts[0] = 0
