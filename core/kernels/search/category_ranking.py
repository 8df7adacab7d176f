"""Ranks of the categories of one feature in one node, which do not depend on the criterion.

They are compiled once for all criteria, as a kernel that the growth of trees calls at its address.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from core.kernels.jit import inner_kernel
from core.kernels.search.categories import CategoryWorkspace, list_categories, list_category_entries
from core.kernels.search.category_order import fill_ranks, order_categories
from core.kernels.search.ordering import POSITION_BITS
from core.kernels.shared_code import SharedKernel

_types: Any = types


class RankingBuffers(NamedTuple):
    """Buffers of a split search that the ranks are computed in."""

    codes: NDArray[Any]  # (2, row)
    keys: NDArray[np.int64]  # (row or cell,)
    table: NDArray[np.float64]  # (code * class,), zero between two features
    categories: CategoryWorkspace


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


def _rank_categories(
    pointer: Any,
    classes: NDArray[np.uint16],
    weights: NDArray[np.float64],
    buffer: int,
    lowest: int,
    highest: int,
    missing_code: int,
    n_classes: int,
    min_rows: int,
    rows_per_weight: float,
) -> float:
    """Fill ranks[buffer] (code,) and what the scan of cuts reads; return the factor of the gain, in [0, 1].

    pointer: to RankingBuffers. classes, weights (n_node,): of the rows of the node, whose codes are codes[buffer]. If
    the factor is 0, there is nothing to scan. Otherwise the keys, with classes and entry_weights of the workspace, are
    the entries to scan, and counts are filled; so is rows_per_rank if `min_rows` rows are required on both sides and
    are more than one.
    """
    buffers: RankingBuffers = pointer[0]
    workspace, codes, keys = buffers.categories, buffers.codes[buffer], buffers.keys
    ranks = workspace.ranks[buffer]
    n_rows, has_missing = classes.shape[0], highest == missing_code
    n_categories = list_categories(
        codes, n_rows, highest - lowest + 1, missing_code, has_missing, workspace.seen, workspace.listed
    )
    list_category_entries(
        codes, classes, weights, lowest, highest, n_categories, has_missing, n_classes, buffers.table, workspace
    )
    factor = order_categories(n_categories, n_classes, rows_per_weight, workspace)
    if factor > 0.0:
        n_ranks = fill_ranks(n_categories, workspace.values, workspace.order, workspace.listed, ranks)
        n_present = n_entries = _fill_keys(
            n_categories, ranks, workspace.listed, workspace.order, workspace.starts, keys
        )
        if has_missing:
            ranks[missing_code] = missing_code
            first, end = workspace.starts[n_categories], workspace.starts[n_categories + 1]
            n_entries = _add_missing_keys(missing_code, first, end, keys, n_present)
        if min_rows > 1:
            _count_ranks(codes, n_rows, ranks, n_ranks, workspace.rows_per_rank)
        workspace.counts[0], workspace.counts[1], workspace.counts[2] = n_ranks, n_present, n_entries
    return factor


RANKING = SharedKernel(_rank_categories, _types.uint16[::1], _types.float64[::1], *6 * [_types.int64], _types.float64)
#: Calls `_rank_categories` with its address and the words of its buffers in place of the pointer.
call_ranking = RANKING.call
