"""From binned features to grown trees: the Python side of the growth kernel, and the thread pool over trees."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from core.exceptions import FitStopped
from core.growth.tree_structure import Trees
from core.kernels.criteria.catalogue import TRUSTED_TABLES, Criterion
from core.kernels.features import BinnedFeatures
from core.kernels.growth.nodes import GrowthLimits, GrowthRoom, new_growth_room
from core.kernels.growth.partition import TreeRows
from core.kernels.growth.tree_nodes import TreeNodes
from core.kernels.growth.trees import grow_best_first, grow_depth_first
from core.kernels.random_state import bootstrap_counts
from core.monitoring import Progress, Stoppable


class Rooms(threading.local):
    """One workspace a thread, made when the thread grows its first tree and gone with the thread. A tree may hold each
    row of the features `n_copies` times.
    """

    def __init__(self, n_copies: int = 1) -> None:
        self._n_copies = n_copies
        self._room: GrowthRoom | None = None

    def of_this_thread(self, features: BinnedFeatures, n_classes: int) -> GrowthRoom:
        """Room for any tree on these features."""
        if self._room is None:
            self._room = new_growth_room(features, self._n_copies * features.codes.shape[1], n_classes)
        return self._room


class GrowthProblem(NamedTuple):
    """What all trees of a fit share."""

    features: BinnedFeatures
    labels: NDArray[np.uint16]  # (row,), class numbers
    n_classes: int
    limits: GrowthLimits
    rooms: Rooms


def with_tables_for(criterion: Criterion, tree_rows: TreeRows) -> Criterion:
    """`criterion`, told whether its tables have all that the classes of any node of the tree can weigh."""
    table = TRUSTED_TABLES[type(criterion)]
    if table is None:
        return criterion
    weights, n_tabled = tree_rows.weights, len(getattr(criterion, table))
    is_tabled = np.bincount(tree_rows.labels, weights).max() < n_tabled and (weights == np.floor(weights)).all()
    return cast(Criterion, cast(Any, criterion)._replace(only_tabled=bool(is_tabled)))


GrowOne = Callable[[NDArray[np.uint64]], TreeNodes]


def grow_tree(
    problem: GrowthProblem,
    weights: NDArray[np.float64],
    criterion: Criterion,
    random_state: NDArray[np.uint64],
    progress: Progress,
) -> TreeNodes:
    """Grow one tree on the rows of positive weight. Raises FitStopped when the monitor asked for it."""
    rows = np.flatnonzero(weights > 0).astype(np.uint32)
    tree_rows = TreeRows(rows, problem.labels[rows], weights[rows])
    nodes = grow_on_rows(problem, tree_rows, criterion, random_state, progress)
    progress.tree_done()
    return nodes


def grow_on_bootstrap(
    problem: GrowthProblem,
    weights: NDArray[np.float64],
    criterion: Criterion,
    random_state: NDArray[np.uint64],
    progress: Progress,
) -> TreeNodes:
    """`grow_tree` on rows drawn with replacement; the same stream goes on to draw features."""
    return grow_tree(problem, bootstrap_weights(weights, random_state), criterion, random_state, progress)


def grow_on_rows(
    problem: GrowthProblem,
    tree_rows: TreeRows,
    criterion: Criterion,
    random_state: NDArray[np.uint64],
    progress: Stoppable,
) -> TreeNodes:
    """Grow one tree on `tree_rows`, whose labels need not be those of the problem, and order them by leaf, in the order
    of the leaves' nodes. Raises FitStopped when the monitor asked for it.
    """
    criterion = with_tables_for(criterion, tree_rows)
    grow = grow_best_first if problem.limits.max_leaf_nodes else grow_depth_first
    with np.errstate(over="ignore"):  # the generator wraps around on purpose; plain Python would warn
        grown = grow(
            problem.features,
            tree_rows,
            criterion,
            problem.limits,
            random_state,
            progress.stop_flag,
            problem.rooms.of_this_thread(problem.features, problem.n_classes),
        )
    if not grown.finished:
        raise FitStopped("the fit was stopped by its monitor; nothing was kept.")
    return grown.nodes


def bootstrap_weights(weights: NDArray[np.float64], random_state: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Weights of a bootstrap sample: rows of positive weight drawn with equal chance, times their own weight."""
    drawn = np.zeros_like(weights)
    rows = np.flatnonzero(weights > 0)
    with np.errstate(over="ignore"):
        drawn[rows] = bootstrap_counts(random_state, len(rows)) * weights[rows]
    return drawn


def thread_count(n_jobs: int | None) -> int:
    """Threads behind `n_jobs`, counted as joblib does: -1 = all processors, -2 = all but one."""
    if n_jobs is None or n_jobs > 0:
        return n_jobs or 1
    n_processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, n_processors + 1 + n_jobs) if n_jobs else 1


def grow_in_threads(grow_one: GrowOne, states: NDArray[np.uint64], n_threads: int) -> Trees:
    """One tree per row of `states`, in that order whatever the threads do. The first error drops the trees not yet
    begun.
    """
    pool = ThreadPoolExecutor(min(n_threads, len(states)))
    try:
        return tuple(pool.map(grow_one, states))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
