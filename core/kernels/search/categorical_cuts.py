"""Cuts of a categorical feature: the best set of categories on the left, or a random one.

Categories are replaced by their ranks in the order of `category_order`, and the scan of numbers runs on the ranks. A
missing value keeps its code, which is above all ranks, and is tried on both sides.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalog import Criterion
from core.kernels.criteria.dispatch import gain_from_objective
from core.kernels.jit import inlined_kernel, inner_kernel
from core.kernels.random_state import next_word
from core.kernels.search.categories import CategoryWorkspace, list_categories, list_category_entries
from core.kernels.search.category_order import fill_ranks, order_categories
from core.kernels.search.cut_ranges import cut_range_from_counts
from core.kernels.search.node_codes import NodeRows
from core.kernels.search.ordering import POSITION_BITS
from core.kernels.search.scanning import Cut, CutRange, NodeTotals, ScanWorkspace, scan_cuts

_BITS_PER_WORD = 64


@inner_kernel
def _fill_keys(
    n_categories: int,
    ranks: NDArray[np.int32],
    listed: NDArray[np.int32],
    order: NDArray[np.int32],
    starts: NDArray[np.int64],
    keys: NDArray[np.int64],
) -> int:
    """Fill `keys` (entry,) of the categories in the order of their ranks, without rank 0; return their number."""
    n_keys = 0
    for j in range(n_categories):
        slot = order[j]
        rank = np.int64(ranks[listed[slot]])
        if rank > 0:
            for entry in range(starts[slot], starts[slot + 1]):
                keys[n_keys] = (rank << POSITION_BITS) | entry
                n_keys += 1
    return n_keys


@inner_kernel
def _add_missing_keys(missing_code: int, first: int, end: int, keys: NDArray[np.int64], n_keys: int) -> int:
    """Append the keys of the entries [first, end) of missing values; return the number of keys."""
    for entry in range(first, end):
        keys[n_keys] = (np.int64(missing_code) << POSITION_BITS) | entry
        n_keys += 1
    return n_keys


@inner_kernel
def _count_ranks(
    codes: NDArray[Any], n_rows: int, ranks: NDArray[np.int32], n_ranks: int, rows_per_rank: NDArray[np.int32]
) -> None:
    """Fill rows_per_rank (rank + 1,); missing values, whose rank is higher, are counted last."""
    rows_per_rank[: n_ranks + 1] = 0
    for i in range(n_rows):
        rows_per_rank[min(ranks[np.int64(codes[i])], n_ranks)] += 1


@inner_kernel
def _objective_without_gain(criterion: Criterion, impurity: float, weight: float) -> float:
    """Return the objective of a cut whose gain is 0; the gain falls linearly with the objective."""
    at_zero = gain_from_objective(criterion, impurity, 0.0, weight)
    return at_zero / (at_zero - gain_from_objective(criterion, impurity, 1.0, weight))


@inner_kernel
def _with_objective(cut: Cut, objective: float) -> Cut:
    return Cut(cut.feature, objective, cut.last_left_code, cut.next_code, cut.missing_goes_left, cut.threshold)


@inlined_kernel
def best_categorical_cut(
    criterion: Criterion,
    totals: NodeTotals,
    feature: int,
    codes: NDArray[Any],
    lowest: int,
    highest: int,
    missing_code: int,
    node: NodeRows,
    min_rows: int,
    rows_per_weight: float,
    ranks: NDArray[np.int32],
    keys: NDArray[np.int64],
    table: NDArray[np.float64],
    workspace: CategoryWorkspace,
    scan: ScanWorkspace,
    best: Cut,
) -> Cut:
    """Return the best of `best` and all cuts of the ordered categories that leave `min_rows` rows on both sides.

    Fills ranks (code,); the codes of the cut are ranks. A factor of the gain below 1 applies to the comparison with
    `best`, and to the gain of the split.
    """
    n_rows, n_classes, has_missing = totals.n_rows, totals.class_weights.shape[0], highest == missing_code
    n_categories = list_categories(
        codes, n_rows, highest - lowest + 1, missing_code, has_missing, workspace.seen, workspace.listed
    )
    list_category_entries(codes, node, lowest, highest, n_categories, has_missing, n_classes, table, workspace)
    factor = order_categories(n_categories, n_classes, rows_per_weight, workspace)
    found = best
    if factor > 0.0:
        n_ranks = fill_ranks(n_categories, workspace.values, workspace.order, workspace.listed, ranks)
        n_present = n_scanned = _fill_keys(
            n_categories, ranks, workspace.listed, workspace.order, workspace.starts, keys
        )
        if has_missing:
            ranks[missing_code] = missing_code
            first, end = workspace.starts[n_categories], workspace.starts[n_categories + 1]
            n_scanned = _add_missing_keys(missing_code, first, end, keys, n_present)
        if min_rows > 1:
            _count_ranks(codes, n_rows, ranks, n_ranks, workspace.rows_per_rank)
        neutral = _objective_without_gain(criterion, totals.impurity, totals.weight)
        if factor < 1.0:
            found = _with_objective(best, neutral - (neutral - best.objective) / factor)
        for missing_goes_left in (False, True):
            cuts = CutRange(0, missing_code, missing_goes_left)
            if min_rows > 1:
                n_missing = int(workspace.rows_per_rank[n_ranks]) if has_missing else 0
                n_codes = n_ranks + int(has_missing)
                cuts = cut_range_from_counts(
                    workspace.rows_per_rank, n_codes, n_missing, 0, min_rows, missing_goes_left
                )
            found = scan_cuts(
                criterion, totals, feature, 0, keys, n_scanned, workspace.classes, workspace.entry_weights, cuts, scan,
                found,
            )  # fmt: skip
            if not has_missing:
                break
            n_scanned = n_present
        if found.feature != feature:
            found = best
        elif factor < 1.0:
            found = _with_objective(found, neutral - (neutral - found.objective) * factor)
    return found


@inner_kernel
def rank_codes(codes: NDArray[Any], n_rows: int, ranks: NDArray[np.int32]) -> None:
    """Replace the first `n_rows` codes by their ranks."""
    for i in range(n_rows):
        codes[i] = codes.dtype.type(ranks[np.int64(codes[i])])


@inner_kernel
def _draw_sides(n_categories: int, random_state: NDArray[np.uint64], sides: NDArray[np.int32]) -> None:
    """Fill sides (slot,) with 0 and 1, each at least once if there are two categories; a single one is on side 0."""
    n_right = 0
    sides[0] = 0
    while n_categories > 1 and (n_right == 0 or n_right == n_categories):
        n_right, word = 0, np.uint64(0)
        for slot in range(n_categories):
            if slot % _BITS_PER_WORD == 0:
                word = next_word(random_state)
            side = int(np.int64(word & np.uint64(1)))
            word >>= np.uint64(1)
            sides[slot] = side
            n_right += side


@inner_kernel
def _assign_sides(
    n_slots: int, listed: NDArray[np.int32], sides: NDArray[np.int32], side_of_code: NDArray[np.int32]
) -> None:
    for slot in range(n_slots):
        side_of_code[listed[slot]] = sides[slot]


@inlined_kernel
def draw_categories(
    codes: NDArray[Any],
    n_rows: int,
    lowest: int,
    highest: int,
    missing_code: int,
    random_state: NDArray[np.uint64],
    workspace: CategoryWorkspace,
) -> None:
    """Replace codes by sides, 0 or 1, of a random set of the node's categories; missing values keep their code.

    All sets with at least one category on each side are equally probable (Geurts, Ernst and Wehenkel 2006, appendix A).
    """
    has_missing = highest == missing_code
    n_categories = list_categories(
        codes, n_rows, highest - lowest + 1, missing_code, has_missing, workspace.seen, workspace.listed
    )
    _draw_sides(n_categories, random_state, workspace.order)
    _assign_sides(n_categories, workspace.listed, workspace.order, workspace.slots)
    workspace.slots[missing_code] = missing_code
    rank_codes(codes, n_rows, workspace.slots)
