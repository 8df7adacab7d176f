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
from core.kernels.search.categories import CategoryWorkspace, list_categories
from core.kernels.search.category_order import FREE_CATEGORIES
from core.kernels.search.category_ranking import call_ranking
from core.kernels.search.cut_ranges import cut_range_from_counts
from core.kernels.search.node_codes import NodeRows
from core.kernels.search.packed_sums import PackedRows
from core.kernels.search.random_cuts import better_side_for_missing
from core.kernels.search.scanning import Cut, CutRange, NodeTotals, scan_cuts
from core.kernels.search.search_workspace import SearchLimits, SearchWorkspace

_BITS_PER_WORD = 64
#: A gain of slight slope does not vanish in the rounding of the impurity. A power of two, so that products are exact.
_LARGE_OBJECTIVE = 2.0**400


@inner_kernel
def _objective_without_gain(criterion: Criterion, impurity: float, weight: float) -> float:
    """Return the objective of a cut whose gain is 0; the gain falls linearly with the objective."""
    at_zero = gain_from_objective(criterion, impurity, 0.0, weight)
    fall = at_zero - gain_from_objective(criterion, impurity, _LARGE_OBJECTIVE, weight)
    if fall == 0.0:  # the free mass of Credal-C4.5 outweighs all rows: no cut gains anything
        return 0.0
    return at_zero / fall * _LARGE_OBJECTIVE


@inner_kernel
def _with_objective(cut: Cut, objective: float) -> Cut:
    return Cut(cut.feature, objective, cut.last_left_code, cut.next_code, cut.missing_goes_left, cut.threshold)


@inlined_kernel
def best_categorical_cut(
    criterion: Criterion,
    totals: NodeTotals,
    feature: int,
    buffer: int,
    lowest: int,
    highest: int,
    missing_code: int,
    node: NodeRows,
    min_rows: int,
    rows_per_weight: float,
    workspace: SearchWorkspace,
    best: Cut,
) -> Cut:
    """Return the best of `best` and all cuts of the ordered categories that leave `min_rows` rows on both sides.

    Fills row `buffer` of the ranks; the codes of the cut are ranks. A factor of the gain below 1 applies to the
    comparison with `best`, and to the gain of the split.
    """
    categories, has_missing = workspace.categories, highest == missing_code
    address, words = workspace.ranking
    factor = call_ranking(
        address, words, node.classes, node.weights, buffer, lowest, highest, missing_code,
        totals.class_weights.shape[0], min_rows, rows_per_weight,
    )  # fmt: skip
    found = best
    if factor > 0.0:
        n_ranks, n_present, n_scanned = categories.counts[0], categories.counts[1], categories.counts[2]
        neutral = _objective_without_gain(criterion, totals.impurity, totals.weight)
        if factor < 1.0:
            found = _with_objective(best, neutral - (neutral - best.objective) / factor)
        for missing_goes_left in (False, True):
            cuts = CutRange(0, missing_code, missing_goes_left)
            if min_rows > 1:
                n_missing = int(categories.rows_per_rank[n_ranks]) if has_missing else 0
                n_codes = n_ranks + int(has_missing)
                cuts = cut_range_from_counts(
                    categories.rows_per_rank, n_codes, n_missing, 0, min_rows, missing_goes_left
                )
            found = scan_cuts(
                criterion, totals, feature, 0, workspace.entries.keys, n_scanned, categories.classes,
                categories.entry_weights, cuts, workspace.scan, found,
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


@inlined_kernel
def try_categorical(
    criterion: Criterion,
    totals: NodeTotals,
    feature: int,
    buffer: int,
    lowest: int,
    highest: int,
    missing_code: int,
    node: NodeRows,
    packed: PackedRows | None,
    limits: SearchLimits,
    random_state: NDArray[np.uint64],
    workspace: SearchWorkspace,
    best: Cut,
) -> Cut:
    """Return the better of `best` and the best or random cut of a categorical feature.

    The best cut fills row `buffer` of the ranks. For a random cut, the codes in row `buffer` become ranks.
    """
    min_rows = limits.min_samples_leaf
    if packed is not None:
        codes = workspace.codes[buffer]
        draw_categories(codes, totals.n_rows, lowest, highest, missing_code, random_state, workspace.categories)
        return better_side_for_missing(
            criterion, totals, feature, codes, missing_code, highest == missing_code, 0, np.nan, node, packed, min_rows,
            workspace.scan, best,
        )  # fmt: skip
    rows_per_weight = limits.rows_per_weight if missing_code > FREE_CATEGORIES else 0.0
    return best_categorical_cut(
        criterion, totals, feature, buffer, lowest, highest, missing_code, node, min_rows, rows_per_weight, workspace,
        best,
    )  # fmt: skip
