"""Limits and workspace of the split search of a node."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.features import BinnedFeatures
from core.kernels.search.categories import CategoryWorkspace, new_category_workspace
from core.kernels.search.category_ranking import RANKING, RankingBuffers
from core.kernels.search.entries import MAX_CELLS, EntryWorkspace, new_entry_workspace
from core.kernels.search.scanning import ScanWorkspace, new_scan_workspace
from core.kernels.shared_code import NO_CALL, SharedCall


class SearchLimits(NamedTuple):
    """Limits that apply to each split search of a tree."""

    max_features: int
    min_samples_leaf: int  # rows, not weight
    rows_per_weight: float  # rows of equal weight that tell as much as one unit of the trees' row weights


class SearchWorkspace(NamedTuple):
    """Workspace of the split search, for any node of a tree.

        feature_order: [ constant in this node or above | untried ... | tried ]
                         0 .. n_constant                 .. n_untried

    Features that are constant in a node are moved to the front, and are not tried again in the whole subtree.
    """

    feature_order: NDArray[np.int64]  # (feature,)
    codes: NDArray[Any]  # (2, row), codes of the best cut's feature and of the feature being tried
    rows_per_code: NDArray[np.int32]  # (code,)
    words: NDArray[np.uint64] | None  # (row,), see packed_sums; None: best cuts
    lanes: NDArray[np.int64]  # (class,): 0, 1, ...
    entries: EntryWorkspace
    categories: CategoryWorkspace
    ranking: SharedCall
    scan: ScanWorkspace


def new_search_workspace(features: BinnedFeatures, n_rows: int, n_classes: int, random_cuts: bool) -> SearchWorkspace:
    """Return a workspace for nodes of up to `n_rows` rows, with one random cut per feature or the best one."""
    entries, codes = new_entry_workspace(n_rows), np.empty((2, n_rows), dtype=features.codes.dtype)
    categories = new_category_workspace(features, n_rows, n_classes)
    return SearchWorkspace(
        np.arange(features.codes.shape[0], dtype=np.int64),
        codes,
        np.zeros(MAX_CELLS + 1, dtype=np.int32),
        np.empty(n_rows, dtype=np.uint64) if random_cuts else None,
        np.arange(n_classes, dtype=np.int64),
        entries,
        categories,
        NO_CALL
        if random_cuts or not features.is_categorical.any()
        else RANKING.with_first_argument(RankingBuffers(codes, entries.keys, entries.table, categories)),
        new_scan_workspace(entries.keys.shape[0], n_classes),
    )
