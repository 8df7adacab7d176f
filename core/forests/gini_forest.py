"""Forests with the Gini impurity that are grown for a purpose within a fit, such as an estimate or a search."""

import numpy as np
from numpy.typing import NDArray

from core.growth.growing import grow_in_threads, grow_on_bootstrap
from core.growth.growth_problem import GrowthProblem
from core.growth.out_of_bag import Bootstrap
from core.growth.pruning import prune
from core.growth.tree_structure import Trees
from core.kernels.growth.tree_nodes import TreeNodes
from core.losses.catalog import SquaredError
from core.monitoring import Progress


def grow_gini_forest(
    problem: GrowthProblem, bootstrap: Bootstrap, n_threads: int, progress: Progress, pruned_to: int = 1
) -> Trees:
    """Grow one tree on each bootstrap sample and prune it to leaves of `pruned_to` rows or more. Raises FitStopped."""
    criterion = SquaredError().criterion(problem.n_classes)

    def grow_one(state: NDArray[np.uint64]) -> TreeNodes:
        return prune(grow_on_bootstrap(problem, bootstrap.weights, criterion, state, progress), pruned_to)

    # Growth advances the states; the out-of-bag votes need the initial ones.
    return grow_in_threads(grow_one, bootstrap.states.copy(), n_threads)
