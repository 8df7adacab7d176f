"""Search among the candidates: each is scored by its out-of-bag accuracy on the labels as they are.

Each family is grown once, and its trees are pruned to the leaves of its candidates. Candidates of one family thus have
the same bootstrap samples, and differences between their scores are less random.

If labels of all classes are wrong equally often, less often than right, and wrong labels are spread evenly over the
other classes, accuracy on noisy labels ranks classifiers as accuracy on clean labels does (Ghosh, Manwani and Sastry
2015, "Making risk minimization tolerant to label noise"); the log loss does not. With other noise, the ranking is only
approximate.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.automatic.candidates import FAMILIES, TREES_PER_FAMILY, Candidate
from core.automatic.scores import ScoredCandidate, with_expected_increases
from core.class_votes import winning_classes
from core.forests.fitting import Fit
from core.forests.gini_forest import grow_gini_forest
from core.forests.noise_estimation_forest import ESTIMATING
from core.groups import check_separable, design_effect, draw_rows
from core.growth.growth_problem import GrowthProblem, GrowthSettings, growth_problem
from core.growth.out_of_bag import Bootstrap, OutOfBagVotes, accuracy, merge_votes
from core.growth.pruning import LeavesOfRows, leaves_of_left_out_rows, prune, votes_of_pruned
from core.growth.tree_structure import Trees, mean_importances
from core.kernel_ridge.fitting import MAX_FEATURES
from core.monitoring import Progress, raise_if_stopped
from core.randomness import Purpose

SEARCHING = "searching"  # phase of the growth of the candidates
#: Rows that candidates are compared on. More rows cost time in proportion and hardly change the choice.
MAX_SEARCH_ROWS = 20_000
#: Candidates whose trees vote in the fitted classifier.
N_CHOSEN = 4


class VotedCandidate(NamedTuple):
    """A candidate that is chosen, with its pruned trees and what they voted on the rows that they left out."""

    scored: ScoredCandidate
    trees: Trees
    votes: OutOfBagVotes
    importances: NDArray[np.float64] | None  # (feature,), mean over the trees; None if there are few features


class GrownFamily(NamedTuple):
    """Trees of a family before pruning, and the leaves of the rows that they leave out."""

    trees: Trees
    left_out: tuple[LeavesOfRows, ...]


class SearchResult(NamedTuple):
    """All scores in the order of the search, and the best candidates, best first."""

    scores: tuple[ScoredCandidate, ...]
    best: tuple[VotedCandidate, ...]

    @property
    def mean_votes(self) -> NDArray[np.float64]:
        """Mean out-of-bag vote of the best candidates, (row, class); NaN for a row without votes in one of them."""
        return np.asarray(np.mean([one.votes.mean for one in self.best], axis=0))

    def most_important(self, n_features: int) -> NDArray[np.int64]:
        """Return the numbers of the `MAX_FEATURES` features that matter most to the best candidates, ascending."""
        importances = [one.importances for one in self.best if one.importances is not None]
        if not importances:
            return np.arange(n_features)
        order = np.argsort(-np.mean(importances, axis=0), kind="stable")
        return np.sort(order[:MAX_FEATURES])


class SearchedPart(NamedTuple):
    """Rows that candidates are compared on, as a fit of their own."""

    fit: Fit
    rows: NDArray[np.int64]  # (row of the part,), numbers of the rows in the whole fit, ascending
    problem: GrowthProblem  # of the rows of the part

    def is_all_of(self, whole: Fit) -> bool:
        """Return whether the part has all rows of the fit that it is a part of."""
        return len(self.rows) == len(whole.data.X)

    def is_outside(self, whole: Fit) -> NDArray[np.bool_]:
        """Return which rows of the fit that this is a part of it does not have, (row,)."""
        is_outside = np.ones(len(whole.data.X), dtype=bool)
        is_outside[self.rows] = False
        return is_outside

    def problem_of(self, whole: Fit) -> GrowthProblem:
        """Return the problem of growing trees on all rows of the fit that this is a part of."""
        return self.problem if self.is_all_of(whole) else _problem(whole)


def part_to_search(fit: Fit) -> SearchedPart:
    """Return at most `MAX_SEARCH_ROWS` rows of the fit, drawn at random. Raises FitStopped."""
    data = fit.data
    generator = fit.seeds.generator(Purpose.SEARCH_ROWS)
    rows = draw_rows(len(data.X), MAX_SEARCH_ROWS, data.groups, generator)
    if len(rows) == len(data.X):
        return SearchedPart(fit, rows, _problem(fit))
    part = data._replace(
        X=np.ascontiguousarray(data.X[rows]),
        labels=replace(data.labels, codes=data.labels.codes[rows]),
        weights=data.weights[rows],
        groups=None if data.groups is None else data.groups[rows],
    )
    part_fit = fit._replace(data=part)
    return SearchedPart(part_fit, rows, _problem(part_fit))


def _problem(fit: Fit) -> GrowthProblem:
    return growth_problem(fit.data, GrowthSettings(), fit.n_threads, fit.monitor.stop_flag)


def search(part: SearchedPart, candidates: tuple[Candidate, ...], deadline: float | None) -> SearchResult:
    """Score `candidates`, family by family, until the clock of `time.monotonic` reaches `deadline`, but at least one
    family. Raises InvalidInput if all rows are in one group, and FitStopped.
    """
    check_separable(part.fit.data.groups, "the search of the best model")
    families = families_of(candidates)
    progress = Progress(part.fit.monitor, SEARCHING, len(families) * TREES_PER_FAMILY)
    grown: dict[Candidate, GrownFamily] = {}
    scores: list[ScoredCandidate] = []
    for family in families:
        if grown and is_over(deadline):
            break
        grown[family] = _grow(part, family, progress)
        own = ((number, one) for number, one in enumerate(candidates) if one.family == family)
        scores += [_scored(part.fit, number, one, grown[family]) for number, one in own]
    scores = with_expected_increases(scores)
    return SearchResult(tuple(scores), _best(part, scores, grown))


def families_of(candidates: tuple[Candidate, ...]) -> list[Candidate]:
    """Return the families of `candidates`, in the order of their first candidates."""
    return list(dict.fromkeys(candidate.family for candidate in candidates))


def search_phases(candidates: tuple[Candidate, ...]) -> dict[str, int]:
    """Return the phases of a search with the largest number of trees of each.

    In the second, trees are grown for candidates of a family that leads more than once, before the noise is estimated;
    there is none if no family does.
    """
    n_families = len(families_of(candidates))
    n_repeated = min(N_CHOSEN - 1, len(candidates) - n_families)
    repeated = {ESTIMATING: n_repeated * TREES_PER_FAMILY} if n_repeated else {}
    return {SEARCHING: n_families * TREES_PER_FAMILY, **repeated}


def is_over(deadline: float | None) -> bool:
    """Return whether the clock of `time.monotonic` has reached `deadline`, if there is one."""
    return deadline is not None and time.monotonic() >= deadline


def _grow(part: SearchedPart, family: Candidate, progress: Progress, position: int = 0) -> GrownFamily:
    fit, flag = part.fit, part.fit.monitor.stop_flag
    bootstrap = family_bootstrap(fit, family, position, TREES_PER_FAMILY)
    trees = grow_gini_forest(part.problem.with_settings(family.settings), bootstrap, fit.n_threads, progress)
    return GrownFamily(trees, leaves_of_left_out_rows(fit.data.X, trees, bootstrap, fit.n_threads, flag))


def family_bootstrap(fit: Fit, family: Candidate, position: int, n_trees: int) -> Bootstrap:
    """Return the bootstrap samples of trees of a family; tree t has the same one for any `n_trees`.

    position: number of better candidates of the family whose trees have samples of their own, see
    `positions_in_families`.
    """
    number = position * len(FAMILIES) + FAMILIES.index(family)
    return Bootstrap(fit.data.weights, fit.seeds.member_states(n_trees, Purpose.SEARCH, number), fit.data.groups)


def positions_in_families(chosen: Sequence[ScoredCandidate]) -> list[int]:
    """Return for each candidate how many before it are of the same family."""
    families = [one.candidate.family for one in chosen]
    return [families[:place].count(family) for place, family in enumerate(families)]


def _scored(fit: Fit, number: int, candidate: Candidate, grown: GrownFamily) -> ScoredCandidate:
    """Return the candidate with its score, and its own estimate of the increase with more trees.

    The excess of the error over that of infinitely many trees falls as the inverse of their number (Cannings and
    Samworth 2017, "Random-projection ensemble classification"). So the increase from all trees to many is as large as
    that from half of them to all.
    """
    raise_if_stopped(fit.monitor.stop_flag)
    halves = _votes_of_halves(fit, candidate, grown)
    votes = merge_votes(halves)
    score = _score(fit, votes)
    increase = score - float(np.mean([_score(fit, half) for half in halves]))
    return ScoredCandidate(number, candidate, score, _error(fit, votes, score), increase)


def _votes_of_halves(fit: Fit, candidate: Candidate, grown: GrownFamily) -> list[OutOfBagVotes]:
    middle, size, n_rows = TREES_PER_FAMILY // 2, candidate.min_samples_leaf, len(fit.data.X)
    halves = (slice(None, middle), slice(middle, None))
    return [votes_of_pruned(grown.trees[half], grown.left_out[half], size, n_rows) for half in halves]


def _best(
    part: SearchedPart, scores: list[ScoredCandidate], grown: Mapping[Candidate, GrownFamily]
) -> tuple[VotedCandidate, ...]:
    """Return the candidates that lead, each with other trees; those of a family that leads twice are grown now.

    If they shared trees, their mean vote would be that of few trees, and votes that are divided by chance look like
    noise when it is estimated from them.
    """
    leaders = sorted(scores, key=lambda one: one.rank)[:N_CHOSEN]
    positions = positions_in_families(leaders)
    n_missing = sum(position > 0 for position in positions) * TREES_PER_FAMILY
    progress = Progress(part.fit.monitor, ESTIMATING, n_missing) if n_missing else None

    def own_trees(family: Candidate, position: int) -> GrownFamily:
        return _grow(part, family, progress, position) if progress and position else grown[family]

    return tuple(
        _voted(part.fit, leader, own_trees(leader.candidate.family, position))
        for leader, position in zip(leaders, positions, strict=True)
    )


def _voted(fit: Fit, scored: ScoredCandidate, grown: GrownFamily) -> VotedCandidate:
    trees = tuple(prune(nodes, scored.candidate.min_samples_leaf) for nodes in grown.trees)
    n_features = fit.data.X.shape[1]
    importances = mean_importances(trees, n_features) if n_features > MAX_FEATURES else None
    return VotedCandidate(scored, trees, merge_votes(_votes_of_halves(fit, scored.candidate, grown)), importances)


def _score(fit: Fit, votes: OutOfBagVotes) -> float:
    score = accuracy(votes, fit.data.labels.codes, fit.data.weights)
    return 0.0 if np.isnan(score) else score


def _error(fit: Fit, votes: OutOfBagVotes, score: float) -> float:
    has_votes = votes.n_trees > 0
    if not has_votes.any():
        return 0.0
    correct = (winning_classes(votes.mean[has_votes]) == fit.data.labels.codes[has_votes]).astype(np.float64)
    weights = fit.data.weights[has_votes]
    groups = None if fit.data.groups is None else fit.data.groups[has_votes]
    deviations = weights * (correct - score)
    return float(np.sqrt(np.sum(deviations**2) * design_effect(correct, groups)) / weights.sum())
