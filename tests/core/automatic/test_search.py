"""Search among the candidates: which of them it returns, with which trees."""

import gc
import weakref

import numpy as np
import pytest

import core
import core.automatic.search as search_module
from core.automatic.candidates import CANDIDATES, TREES_PER_CANDIDATE
from core.automatic.members import N_TREES, grow_members
from core.automatic.search import N_CHOSEN, SEARCHING, member_bootstrap, part_to_search, search
from core.forests import gini_forest
from core.forests.fitting import Fit
from core.growth.out_of_bag import accuracy
from core.monitoring import NullMonitor, Progress
from core.randomness import SeedTree
from core.validation.training_data import training_data


def table(n_rows):
    generator = np.random.default_rng(0)
    y = generator.integers(0, 3, n_rows)
    return generator.normal(size=(n_rows, 4)) + 2.0 * y[:, np.newaxis], y


def part_of(seed):
    X, y = table(200)
    labels = core.inject_noise(y, {"kind": "uniform", "rate": 0.3}, random_state=0).labels
    data = training_data(core.AutoClassifier(), X, labels, None, None)
    return part_to_search(Fit(data, SeedTree(seed), NullMonitor(), 1))


def silent_progress():
    return Progress(NullMonitor(), SEARCHING, 0)


@pytest.fixture
def grown(monkeypatch):
    """Weak references to the first nodes of the candidates, in the order in which the search grows them."""
    references, voted = [], search_module._voted

    def recorded(part, number, candidate, progress):
        one = voted(part, number, candidate, progress)
        references.append(weakref.ref(one.trees[0].threshold))
        return one

    monkeypatch.setattr(search_module, "_voted", recorded)
    return references


class AtGrowth:
    """Monitor that counts the given references that are alive when the members are grown."""

    def __init__(self, references):
        self.stop_flag = np.zeros(1, dtype=np.uint8)
        self._references = references

    def begin(self, phase, total, unit):
        if phase == "growing":
            gc.collect()
            self.n_alive = sum(reference() is not None for reference in self._references)

    def advance(self, completed):
        pass


def assert_equal_trees(some, others):
    assert len(some) == len(others)
    for one, other in zip(some, others, strict=True):
        for name in one._fields:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(("seed", "n_grown_again"), [(0, 1), (3, 0)])  # seeds of both cases
def test_the_best_candidates_are_those_of_the_ranking_with_their_trees_and_votes(seed, n_grown_again, grown):
    part = part_of(seed)
    result = search(part, CANDIDATES, None)
    assert len(grown) == len(CANDIDATES) + n_grown_again
    assert [one.scored for one in result.best] == sorted(result.scores, key=lambda one: one.rank)[:N_CHOSEN]
    for one in result.best:
        assert accuracy(one.votes, part.fit.data.labels.codes, part.fit.data.weights) == one.scored.score
        bootstrap = member_bootstrap(part.fit, one.scored.number, TREES_PER_CANDIDATE)
        assert_equal_trees(one.trees, search_module._grow(part, one.scored.candidate, bootstrap, silent_progress()))


@pytest.mark.parametrize("n_fits", [1, 3, 5])
def test_members_have_the_same_trees_whether_the_search_has_grown_them_or_not(n_fits):
    part = part_of(0)
    result = search(part, CANDIDATES[:n_fits], None)
    chosen = tuple(one.scored for one in result.best)
    searched_trees = {one.scored.number: one.trees for one in result.best}
    trees = grow_members(part.fit, part.problem, chosen, None, searched_trees)
    assert len(trees) == N_TREES
    assert_equal_trees(trees, grow_members(part.fit, part.problem, chosen, None, {}))


@pytest.mark.parametrize(("rate", "n_alive"), [(0.0, N_CHOSEN), (0.4, 0)])
def test_only_trees_of_members_outlive_the_search(rate, n_alive, grown):
    X, y = table(300)
    labels = core.inject_noise(y, {"kind": "uniform", "rate": rate}, random_state=0).labels if rate else y
    monitor = AtGrowth(grown)
    model = core.AutoClassifier(random_state=0, n_fits=6).fit(X, labels, monitor=monitor)
    assert model.choice_.draws_labels == bool(rate)
    assert monitor.n_alive == n_alive


def test_members_on_the_given_labels_are_not_grown_again(monkeypatch):
    n_grown, grow = [], gini_forest.grow_on_bootstrap

    def counted(*arguments):
        n_grown.append(1)
        return grow(*arguments)

    monkeypatch.setattr(gini_forest, "grow_on_bootstrap", counted)
    core.AutoClassifier(random_state=0, n_fits=N_CHOSEN).fit(*table(200))
    assert len(n_grown) == N_TREES
