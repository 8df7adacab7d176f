"""Members of the automatic classifier: the trees of the chosen candidates, grown on all rows."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from core.automatic.candidates import Candidate
from core.automatic.drawn_labels import TrueClasses, grow_on_drawn_labels
from core.automatic.ridge import SharedRidge
from core.automatic.scores import ScoredCandidate
from core.automatic.search import SearchedPart, family_bootstrap, positions_in_families
from core.automatic.vote_shares import mixed_votes
from core.forests.fitting import Fit
from core.forests.gini_forest import grow_gini_forest
from core.forests.tuning import GROWING
from core.growth.growth_problem import GrowthProblem
from core.growth.out_of_bag import Bootstrap, out_of_bag_votes
from core.growth.tree_structure import Trees
from core.kernels.growth.tree_nodes import TreeNodes
from core.losses.catalog import SquaredError
from core.monitoring import Progress, raise_if_stopped

#: Trees of all members together.
N_TREES = 200
#: The same beside a regression, where more gain nothing that could be measured (decision 27). Predictions then take at
#: most three times as long as those of a forest of 100 trees.
N_TREES_BESIDE_REGRESSION = 120
#: Upper limit of the minimum number of rows per leaf of trees on drawn labels.
_LARGEST_LEAF_OF_DRAWN_LABELS = 4


def member_bounds(n_members: int, n_trees: int) -> list[int]:
    """Return the number of the first tree of each member, and the number of all trees."""
    return [n_trees * number // n_members for number in range(n_members + 1)]


def candidate_for_drawn_labels(candidate: Candidate) -> Candidate:
    """Return the candidate with the leaves that trees on drawn labels need: large leaves would smooth once more what
    the probabilities of the true classes have smoothed.
    """
    return candidate._replace(min_samples_leaf=min(candidate.min_samples_leaf, _LARGEST_LEAF_OF_DRAWN_LABELS))


def grow_members(
    fit: Fit,
    problem: GrowthProblem,
    chosen: tuple[ScoredCandidate, ...],
    true_classes: TrueClasses | None,
    searched_trees: Mapping[int, Trees],
    n_trees: int,
) -> Trees:
    """Return the `n_trees` trees of all members, in their order: on the labels as they are, or on labels drawn from
    `true_classes`. Raises FitStopped.

    searched_trees: number of a candidate -> its trees of the search, if that had the same rows and labels; the first
    trees of the member.
    """
    progress = Progress(fit.monitor, GROWING, n_trees)
    trees: list[TreeNodes] = []
    for member, bootstrap in zip(chosen, _samples_of_members(fit, chosen, n_trees), strict=True):
        if true_classes is None:
            first_trees = searched_trees.get(member.number, ())
            trees += _with_more_trees(first_trees, member.candidate, problem, bootstrap, fit.n_threads, progress)
        else:
            own_problem = problem.with_settings(candidate_for_drawn_labels(member.candidate).settings)
            trees += grow_on_drawn_labels(fit, own_problem, true_classes, member.number, bootstrap, progress)
    return tuple(trees)


def _samples_of_members(fit: Fit, chosen: tuple[ScoredCandidate, ...], n_trees: int) -> list[Bootstrap]:
    """Return the bootstrap samples of the trees of each member."""
    bounds = pairwise(member_bounds(len(chosen), n_trees))
    return [
        family_bootstrap(fit, member.candidate.family, position, stop - first)
        for member, position, (first, stop) in zip(chosen, positions_in_families(chosen), bounds, strict=True)
    ]


def left_out_votes(
    fit: Fit, part: SearchedPart, chosen: tuple[ScoredCandidate, ...], trees: Trees, ridge: SharedRidge | None
) -> NDArray[np.float64]:
    """Return the mean votes of all trees and the regression that leave a row out, (row of the search, class).

    NaN for a row that every tree has seen. Raises FitStopped.
    """
    samples = _samples_of_members(fit, chosen, len(trees))
    of_all = samples[0]._replace(states=np.concatenate([one.states for one in samples]))
    X, vote, flag = part.fit.data.X, SquaredError().vote, fit.monitor.stop_flag
    numbers = None if part.is_all_of(fit) else part.rows
    votes = out_of_bag_votes(X, trees, vote, of_all, fit.n_threads, flag, numbers).mean
    return votes if ridge is None else mixed_votes(votes, ridge.by_targets, ridge.share.share)


def _with_more_trees(
    first_trees: Trees,
    candidate: Candidate,
    problem: GrowthProblem,
    bootstrap: Bootstrap,
    n_threads: int,
    progress: Progress,
) -> Trees:
    """Return as many trees as samples: of `first_trees`, which were grown on the first, and new ones on the others."""
    first_trees = first_trees[: len(bootstrap.states)]
    progress.advance(len(first_trees))
    raise_if_stopped(progress.stop_flag)
    others = bootstrap.of_trees(slice(len(first_trees), None))
    unpruned = problem.with_settings(candidate.family.settings)
    return first_trees + grow_gini_forest(unpruned, others, n_threads, progress, candidate.min_samples_leaf)
