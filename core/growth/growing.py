"""Growth of trees: rows and criterion of each tree, bootstrap weights, and threads over trees."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidParameter
from core.groups import Groups, bootstrap_row_counts
from core.growth.growth_problem import GrowthProblem
from core.growth.tree_growth import TreeGrowth
from core.growth.tree_structure import Trees
from core.kernels.criteria.catalog import CRITERIA, Criterion
from core.kernels.growth.category_sets import with_category_sets
from core.kernels.growth.growth_workspace import GrowthLimits
from core.kernels.growth.partition import TreeRows
from core.kernels.growth.tree_nodes import TreeNodes
from core.monitoring import Progress, Stoppable


def with_tables_for(criterion: Criterion, tree_rows: TreeRows) -> Criterion:
    """Return `criterion` with `only_tabled` set if its tables contain every class weight of every node of the tree."""
    table = CRITERIA[type(criterion)].trusted_table
    if table is None:
        return criterion
    weights, n_tabled = tree_rows.weights, len(getattr(criterion, table))
    is_tabled = np.bincount(tree_rows.labels, weights).max() < n_tabled and (weights == np.floor(weights)).all()
    return cast(Criterion, cast(Any, criterion)._replace(only_tabled=bool(is_tabled)))


#: Grows one tree from the state of its random draws.
GrowOne = Callable[[NDArray[np.uint64]], TreeNodes]


def grow_tree(
    problem: GrowthProblem,
    weights: NDArray[np.float64],
    criterion: Criterion,
    random_state: NDArray[np.uint64],
    progress: Progress,
    n_threads: int = 1,
) -> TreeNodes:
    """Grow one tree on the rows of positive weight. Raises FitStopped when the monitor asks for it."""
    rows = np.flatnonzero(weights > 0).astype(np.uint32)
    tree_rows = TreeRows(rows, problem.labels[rows], weights[rows])
    nodes = grow_on_rows(problem, tree_rows, criterion, random_state, progress, n_threads=n_threads)
    progress.advance()
    return nodes


def grow_on_bootstrap(
    problem: GrowthProblem,
    weights: NDArray[np.float64],
    criterion: Criterion,
    random_state: NDArray[np.uint64],
    progress: Progress,
) -> TreeNodes:
    """Grow one tree on rows, or groups of rows, drawn with replacement; the same random stream then draws the features
    of its nodes.
    """
    drawn = bootstrap_weights(weights, problem.groups, random_state)
    return grow_tree(problem, drawn, criterion, random_state, progress)


def grow_on_rows(
    problem: GrowthProblem,
    tree_rows: TreeRows,
    criterion: Criterion,
    random_state: NDArray[np.uint64],
    progress: Stoppable,
    rows_per_weight: float | None = None,
    n_threads: int = 1,
) -> TreeNodes:
    """Grow one tree on `tree_rows`, whose labels may differ from those of the problem.

    `rows_per_weight` is by default that of rows with one label each, see `kish_ratio`. Growth sorts `tree_rows` by
    leaf, in the order of the nodes. Raises FitStopped when the monitor asks for it.
    """
    growth = TreeGrowth(
        problem,
        tree_rows,
        with_tables_for(criterion, tree_rows),
        _with_evidence(problem, tree_rows, rows_per_weight),
        random_state,
        progress.stop_flag,
    )
    nodes = growth.grow(n_threads)
    has_categories = problem.features.is_categorical.any()
    return with_category_sets(nodes, problem.features, tree_rows.rows) if has_categories else nodes


def kish_ratio(weights: NDArray[np.float64]) -> float:
    """Return how many rows of equal weight tell as much as one unit of weight (Kish 1965).

    Rows that a bootstrap has drawn several times thus do not count as several rows.
    """
    return float(weights.sum() / np.square(weights).sum())


def _with_evidence(problem: GrowthProblem, tree_rows: TreeRows, rows_per_weight: float | None) -> GrowthLimits:
    """Return the limits with `rows_per_weight`, by which the splits of many categories are regularized."""
    if not problem.features.is_categorical.any():
        return problem.limits
    evidence = kish_ratio(tree_rows.weights) if rows_per_weight is None else rows_per_weight
    return problem.limits._replace(search=problem.limits.search._replace(rows_per_weight=evidence))


def bootstrap_weights(
    weights: NDArray[np.float64], groups: Groups | None, random_state: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """Return the row weights of a bootstrap sample, (row,): the count of each row in it multiplied by its weight."""
    return bootstrap_row_counts(weights, groups, random_state) * weights


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads for `n_jobs`, as joblib counts them: -1 = all processors, -2 = all but one.

    Raises InvalidParameter for 0, which joblib refuses too.
    """
    if n_jobs == 0:
        raise InvalidParameter(
            "n_jobs is 0; it must be at least 1, negative (-1: all processors, -2: all but one), or None (one thread)."
        )
    if n_jobs is None or n_jobs > 0:
        return n_jobs or 1
    n_processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, n_processors + 1 + n_jobs)


def grow_in_threads(grow_one: GrowOne, states: NDArray[np.uint64], n_threads: int) -> Trees:
    """Grow one tree for each row of `states` and return them in that order. After an error no further tree is begun."""
    # A pool needs a thread even if there is no tree to grow.
    pool = ThreadPoolExecutor(max(1, min(n_threads, len(states))))
    try:
        return tuple(pool.map(grow_one, states))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
