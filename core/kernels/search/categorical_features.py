"""Search of one categorical feature, which is compiled only if some feature is categorical.

It is as much code as the rest of the growth of a tree, and most data sets do not need it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.kernels.criteria.catalog import Criterion
from core.kernels.features import BinnedFeatures, NumericFeatures
from core.kernels.jit import chosen_by_type, inlined_kernel
from core.kernels.search.categorical_cuts import best_categorical_cut, draw_categories
from core.kernels.search.category_order import FREE_CATEGORIES
from core.kernels.search.node_codes import NodeRows
from core.kernels.search.packed_sums import PackedRows
from core.kernels.search.random_cuts import better_side_for_missing
from core.kernels.search.scanning import Cut, NodeTotals
from core.kernels.search.search_workspace import SearchLimits, SearchWorkspace


@inlined_kernel
def _try_categorical(
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
    codes, categories, min_rows = workspace.codes[buffer], workspace.categories, limits.min_samples_leaf
    if packed is not None:
        draw_categories(codes, totals.n_rows, lowest, highest, missing_code, random_state, categories)
        return better_side_for_missing(
            criterion, totals, feature, codes, missing_code, highest == missing_code, 0, np.nan, node, packed, min_rows,
            workspace.scan, best,
        )  # fmt: skip
    rows_per_weight = limits.rows_per_weight if missing_code > FREE_CATEGORIES else 0.0
    return best_categorical_cut(
        criterion, totals, feature, codes, lowest, highest, missing_code, node, min_rows, rows_per_weight,
        categories.ranks[buffer], workspace.entries.keys, workspace.entries.table, categories, workspace.scan, best,
    )  # fmt: skip


def try_if_categorical(
    criterion: Criterion,
    totals: NodeTotals,
    features: BinnedFeatures,
    feature: int,
    buffer: int,
    lowest: int,
    highest: int,
    node: NodeRows,
    packed: PackedRows | None,
    limits: SearchLimits,
    random_state: NDArray[np.uint64],
    workspace: SearchWorkspace,
    best: Cut,
) -> Cut:
    """Return the better of `best` and the best or random cut of a categorical feature."""
    return _try_categorical(
        criterion, totals, feature, buffer, lowest, highest, features.n_bins[feature], node, packed, limits,
        random_state, workspace, best,
    )  # fmt: skip


@chosen_by_type(try_if_categorical, forceinline=True)
def _choose_try(
    criterion: Any, totals: Any, features: Any, feature: Any, buffer: Any, lowest: Any, highest: Any, node: Any,
    packed: Any, limits: Any, random_state: Any, workspace: Any, best: Any,
) -> Any:  # fmt: skip
    return _keep_best if features.instance_class is NumericFeatures else try_if_categorical


def _keep_best(
    criterion: Criterion,
    totals: NodeTotals,
    features: NumericFeatures,
    feature: int,
    buffer: int,
    lowest: int,
    highest: int,
    node: NodeRows,
    packed: PackedRows | None,
    limits: SearchLimits,
    random_state: NDArray[np.uint64],
    workspace: SearchWorkspace,
    best: Cut,
) -> Cut:
    """Return `best`; never called, since no feature is categorical."""
    return best
