"""Limits and workspace of the growth of trees."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.kernels.features import BinnedFeatures
from core.kernels.growth.node_classes import PresentClasses
from core.kernels.growth.partition import SpareRows, new_spare_rows
from core.kernels.growth.tree_nodes import GrowingNodes, new_growing_nodes
from core.kernels.search.search_workspace import SearchLimits, SearchWorkspace, new_search_workspace

_STACK_COLUMNS = 6


class GrowthLimits(NamedTuple):
    """Limits of growth and of the split search."""

    max_depth: int
    max_leaf_nodes: int  # 0 = no limit
    min_risk_decrease: float
    search: SearchLimits


class Stack(NamedTuple):
    """Stack of pending nodes, one per row; the top is the last row in use."""

    numbers: NDArray[np.int64]  # (pending, start | stop | depth | parent | is_left | n_constant)
    seeds: NDArray[np.uint64]  # (pending,)


class GrowthWorkspace(NamedTuple):
    """Buffers that one thread reuses for all nodes and trees.

    `nodes` and `stack` have the capacity for the largest possible tree; pages that no tree writes use no memory.
    """

    nodes: GrowingNodes
    stack: Stack
    words: NDArray[np.uint64] | None  # (row,), words of the whole tree, see packed_sums; None: best cuts
    spare: SpareRows
    positions: NDArray[np.uint16]  # (row,), position of the row's class among those of its node
    class_weights: NDArray[np.float64]  # (class,)
    present: PresentClasses
    random_state: NDArray[np.uint64]  # (1,)
    search: SearchWorkspace


def new_growth_workspace(features: BinnedFeatures, n_rows: int, n_classes: int, random_cuts: bool) -> GrowthWorkspace:
    """Return a workspace for trees on at most `n_rows` rows.

    Workspaces for random cuts and for best cuts have different types, and kernels are compiled for each.
    """
    return GrowthWorkspace(
        new_growing_nodes(2 * n_rows, n_classes),
        Stack(np.empty((n_rows + 1, _STACK_COLUMNS), dtype=np.int64), np.empty(n_rows + 1, dtype=np.uint64)),
        np.empty(n_rows, dtype=np.uint64) if random_cuts else None,
        new_spare_rows(n_rows),
        np.empty(n_rows, dtype=np.uint16),
        np.zeros(n_classes, dtype=np.float64),
        PresentClasses(
            np.zeros(n_classes, dtype=np.int64),
            np.zeros(n_classes, dtype=np.float64),
            np.zeros(n_classes, dtype=np.uint16),
        ),
        np.zeros(1, dtype=np.uint64),
        new_search_workspace(features, n_rows, n_classes, random_cuts),
    )
