"""Search among the candidates: which of them it returns, with which trees."""

import numpy as np
import pytest

import core
import core.automatic.search as search_module
from core.automatic.candidates import CANDIDATES, TREES_PER_CANDIDATE
from core.automatic.members import N_TREES, grow_members
from core.automatic.search import N_CHOSEN, member_bootstrap, part_to_search, search
from core.forests.fitting import Fit
from core.growth.out_of_bag import accuracy
from core.monitoring import NullMonitor
from core.randomness import SeedTree
from core.validation.training_data import training_data


def part_of(seed):
    generator = np.random.default_rng(0)
    y = generator.integers(0, 3, 200)
    X = generator.normal(size=(200, 4)) + 2.0 * y[:, np.newaxis]
    labels = core.inject_noise(y, {"kind": "uniform", "rate": 0.3}, random_state=0).labels
    data = training_data(core.AutoClassifier(), X, labels, None, None)
    return part_to_search(Fit(data, SeedTree(seed), NullMonitor(), 1))


@pytest.fixture
def grown(monkeypatch):
    """Numbers of the candidates in the order in which the search grows them."""
    numbers, voted = [], search_module._voted

    def counted(part, number, candidate, progress):
        numbers.append(number)
        return voted(part, number, candidate, progress)

    monkeypatch.setattr(search_module, "_voted", counted)
    return numbers


def assert_equal_trees(some, others):
    assert len(some) == len(others)
    for one, other in zip(some, others, strict=True):
        for name in one._fields:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(("seed", "n_grown_again"), [(0, 1), (3, 0)])
def test_the_best_candidates_are_those_of_the_ranking_with_their_trees_and_votes(seed, n_grown_again, grown):
    part = part_of(seed)
    result = search(part, CANDIDATES, None)
    assert len(grown) == len(CANDIDATES) + n_grown_again
    assert [one.scored for one in result.best] == sorted(result.scores, key=lambda one: one.rank)[:N_CHOSEN]
    for one in result.best:
        assert accuracy(one.votes, part.fit.data.labels.codes, part.fit.data.weights) == one.scored.score
        bootstrap = member_bootstrap(part.fit, one.scored.number, TREES_PER_CANDIDATE)
        assert_equal_trees(one.trees, search_module._grow(part, one.scored.candidate, bootstrap, unreported()))


def unreported():
    return search_module.Progress(NullMonitor(), "searching", 0)


@pytest.mark.parametrize("n_fits", [1, 3, 5])
def test_members_have_the_same_trees_whether_the_search_has_grown_them_or_not(n_fits):
    part = part_of(0)
    result = search(part, CANDIDATES[:n_fits], None)
    chosen = tuple(one.scored for one in result.best)
    known = {one.scored.number: one.trees for one in result.best}
    trees = grow_members(part.fit, part.problem, chosen, None, known)
    assert len(trees) == N_TREES
    assert_equal_trees(trees, grow_members(part.fit, part.problem, chosen, None, {}))
