"""Search among the candidates: each is grown on the labels as they are, and scored by its out-of-bag accuracy on them.

If labels of all classes are wrong equally often, less often than right, and wrong labels are spread evenly over the
other classes, accuracy on noisy labels ranks classifiers as accuracy on clean labels does (Ghosh, Manwani and Sastry
2015, "Making risk minimization tolerant to label noise"); the log loss does not. With other noise, the ranking is only
approximate.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.automatic.candidates import TREES_PER_CANDIDATE, Candidate
from core.automatic.scores import ScoredCandidate, with_expected_increases
from core.class_votes import winning_classes
from core.forests.fitting import Fit
from core.forests.gini_forest import grow_gini_forest
from core.groups import check_separable, design_effect, draw_rows
from core.growth.growth_problem import GrowthProblem, GrowthSettings, growth_problem
from core.growth.out_of_bag import Bootstrap, OutOfBagVotes, accuracy, merge_votes, out_of_bag_votes
from core.growth.tree_structure import Trees, mean_importances
from core.kernel_ridge.fitting import MAX_FEATURES
from core.losses.catalog import SquaredError
from core.monitoring import NullMonitor, Progress
from core.randomness import Purpose

SEARCHING = "searching"  # phase of the growth of the candidates
#: Rows that candidates are compared on. More rows cost time in proportion and hardly change the choice.
MAX_SEARCH_ROWS = 20_000
#: Candidates whose trees vote in the fitted classifier.
N_CHOSEN = 4


class VotedCandidate(NamedTuple):
    """A candidate that may be chosen, with its trees and what they voted on the rows that they left out."""

    scored: ScoredCandidate
    trees: Trees
    votes: OutOfBagVotes
    importances: NDArray[np.float64] | None  # (feature,), mean over the trees; None if there are few features


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
    """Grow and score `candidates` until the clock of `time.monotonic` reaches `deadline`, but at least one of them.

    Only the trees and votes of the candidates that lead so far are in memory. One that leads again at the end, because
    the expected increases have changed, is grown again, after the deadline as well and without progress. Raises
    InvalidInput if all rows are in one group, and FitStopped.
    """
    check_separable(part.fit.data.groups, "the search of the best model")
    progress = Progress(part.fit.monitor, SEARCHING, len(candidates) * TREES_PER_CANDIDATE)
    scores: list[ScoredCandidate] = []
    leading: dict[int, VotedCandidate] = {}
    for number, candidate in _until(deadline, candidates):
        leading[number] = _voted(part, number, candidate, progress)
        scores.append(leading[number].scored)
        leading = {one.number: leading[one.number] for one in _leaders(scores) if one.number in leading}
    silent_progress = Progress(NullMonitor(part.fit.monitor.stop_flag), SEARCHING, 0)
    best = []
    for leader in _leaders(scores):
        voted = leading.get(leader.number) or _voted(part, leader.number, leader.candidate, silent_progress)
        best.append(voted._replace(scored=leader))
    return SearchResult(tuple(with_expected_increases(scores)), tuple(best))


def _leaders(scores: Sequence[ScoredCandidate]) -> list[ScoredCandidate]:
    return sorted(with_expected_increases(scores), key=lambda one: one.rank)[:N_CHOSEN]


def _until(deadline: float | None, candidates: tuple[Candidate, ...]) -> Iterator[tuple[int, Candidate]]:
    for number, candidate in enumerate(candidates):
        if number and is_over(deadline):
            return
        yield number, candidate


def is_over(deadline: float | None) -> bool:
    """Return whether the clock of `time.monotonic` has reached `deadline`, if there is one."""
    return deadline is not None and time.monotonic() >= deadline


def _voted(part: SearchedPart, number: int, candidate: Candidate, progress: Progress) -> VotedCandidate:
    """Return the candidate with its trees, votes and score, and its own estimate of the increase with more trees.

    The excess of the error over that of infinitely many trees falls as the inverse of their number (Cannings and
    Samworth 2017, "Random-projection ensemble classification"). So the increase from all trees to many is as large as
    that from half of them to all.
    """
    fit, bootstrap = part.fit, member_bootstrap(part.fit, number, TREES_PER_CANDIDATE)
    trees = _grow(part, candidate, bootstrap, progress)
    middle = TREES_PER_CANDIDATE // 2
    halves = [_votes(fit, trees, bootstrap, half) for half in (slice(None, middle), slice(middle, None))]
    votes = merge_votes(halves)
    score = _score(fit, votes)
    increase = score - float(np.mean([_score(fit, half) for half in halves]))
    scored = ScoredCandidate(number, candidate, score, _error(fit, votes, score), increase)
    n_features = fit.data.X.shape[1]
    importances = mean_importances(trees, n_features) if n_features > MAX_FEATURES else None
    return VotedCandidate(scored, trees, votes, importances)


def _grow(part: SearchedPart, candidate: Candidate, bootstrap: Bootstrap, progress: Progress) -> Trees:
    return grow_gini_forest(part.problem.with_settings(candidate.settings), bootstrap, part.fit.n_threads, progress)


def _votes(fit: Fit, trees: Trees, bootstrap: Bootstrap, part: slice) -> OutOfBagVotes:
    samples, flag = bootstrap.of_trees(part), fit.monitor.stop_flag
    return out_of_bag_votes(fit.data.X, trees[part], SquaredError().vote, samples, fit.n_threads, flag)


def _score(fit: Fit, votes: OutOfBagVotes) -> float:
    score = accuracy(votes, fit.data.labels.codes, fit.data.weights)
    return 0.0 if np.isnan(score) else score


def member_bootstrap(fit: Fit, number: int, n_trees: int) -> Bootstrap:
    """Return the bootstrap samples of the trees of candidate `number`; tree t has the same one for any `n_trees`."""
    states = fit.seeds.member_states(n_trees, Purpose.SEARCH, number)
    return Bootstrap(fit.data.weights, states, fit.data.groups)


def _error(fit: Fit, votes: OutOfBagVotes, score: float) -> float:
    has_votes = votes.n_trees > 0
    if not has_votes.any():
        return 0.0
    correct = (winning_classes(votes.mean[has_votes]) == fit.data.labels.codes[has_votes]).astype(np.float64)
    weights = fit.data.weights[has_votes]
    groups = None if fit.data.groups is None else fit.data.groups[has_votes]
    deviations = weights * (correct - score)
    return float(np.sqrt(np.sum(deviations**2) * design_effect(correct, groups)) / weights.sum())
