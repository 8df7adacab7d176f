"""Search among the candidates: which of them it returns, with which trees."""

import gc
import weakref

import numpy as np
import pytest

import core
import core.automatic.search as search_module
from core.automatic.candidates import CANDIDATES, FAMILIES, TREES_PER_FAMILY
from core.automatic.drawn_labels import TrueClasses
from core.automatic.members import N_TREES, N_TREES_BESIDE_REGRESSION, grow_members
from core.automatic.scores import ScoredCandidate
from core.automatic.search import N_CHOSEN, SEARCHING, family_bootstrap, part_to_search, positions_in_families, search
from core.forests import gini_forest
from core.forests.fitting import Fit
from core.growth.out_of_bag import accuracy, out_of_bag_votes
from core.growth.pruning import prune
from core.losses.catalog import SquaredError
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
    """Weak references to the first nodes of the families, in the order in which the search grows them."""
    references, grow = [], search_module._grow

    def recorded(*arguments):
        one = grow(*arguments)
        references.append(weakref.ref(one.trees[0].threshold))
        return one

    monkeypatch.setattr(search_module, "_grow", recorded)
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


@pytest.mark.parametrize(("seed", "n_repeated"), [(0, 0), (1, 2), (2, 1)])  # families that lead again
def test_the_best_candidates_are_those_of_the_ranking_with_their_pruned_trees_and_votes(seed, n_repeated, grown):
    part = part_of(seed)
    result = search(part, CANDIDATES, None)
    best = [one.scored for one in result.best]
    assert best == sorted(result.scores, key=lambda one: one.rank)[:N_CHOSEN]
    assert any(one.candidate.min_samples_leaf > 1 for one in best)
    positions = positions_in_families(best)
    assert np.count_nonzero(positions) == n_repeated
    assert len(grown) == len(FAMILIES) + n_repeated
    for one, position in zip(result.best, positions, strict=True):
        family, size = one.scored.candidate.family, one.scored.candidate.min_samples_leaf
        unpruned = search_module._grow(part, family, silent_progress(), position).trees
        assert_equal_trees(one.trees, tuple(prune(nodes, size) for nodes in unpruned))
        bootstrap = family_bootstrap(part.fit, family, position, TREES_PER_FAMILY)
        votes = out_of_bag_votes(part.fit.data.X, one.trees, SquaredError().vote, bootstrap)
        np.testing.assert_allclose(one.votes.mean, votes.mean, atol=1e-12)
        if not position:
            assert accuracy(one.votes, part.fit.data.labels.codes, part.fit.data.weights) == one.scored.score


def test_candidates_have_the_numbers_of_the_order_that_they_are_given_in():
    result = search(part_of(0), CANDIDATES[:6], None)
    assert sorted((one.number, one.candidate) for one in result.scores) == list(enumerate(CANDIDATES[:6]))


@pytest.mark.parametrize("n_trees", [N_TREES, N_TREES_BESIDE_REGRESSION])
@pytest.mark.parametrize("n_fits", [1, 3, 5, 28])
def test_members_have_the_same_trees_whether_the_search_has_grown_them_or_not(n_fits, n_trees):
    part = part_of(0)
    result = search(part, CANDIDATES[:n_fits], None)
    chosen = tuple(one.scored for one in result.best)
    searched_trees = {one.scored.number: one.trees for one in result.best}
    trees = grow_members(part.fit, part.problem, chosen, None, searched_trees, n_trees)
    assert len(trees) == n_trees
    assert_equal_trees(trees, grow_members(part.fit, part.problem, chosen, None, {}, n_trees))


@pytest.mark.parametrize("noise", [None, np.full((200, 3), 1 / 3)])
def test_members_of_one_family_have_different_samples(noise):
    part = part_of(0)
    sizes = (1, 2, 4, 8)
    chosen = tuple(
        ScoredCandidate(i, FAMILIES[0]._replace(min_samples_leaf=size), 0.5, 0.1) for i, size in enumerate(sizes)
    )
    true_classes = None if noise is None else TrueClasses(noise)
    trees = grow_members(part.fit, part.problem, chosen, true_classes, {}, N_TREES)
    grown = [nodes.threshold.tobytes() for nodes in trees if len(nodes.feature) > 1]
    assert len(set(grown)) == len(grown) > 0.9 * N_TREES
    for size, members in zip(sizes, np.split(np.arange(N_TREES), 4), strict=True):
        leaves = np.concatenate([trees[i].n_node_samples[trees[i].feature < 0] for i in members])
        assert leaves.min() >= min(size, 4)


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_only_trees_of_members_outlive_the_search(rate, grown):
    """Members whose trees are not pruned have those of the search itself."""
    X, y = table(300)
    labels = core.inject_noise(y, {"kind": "uniform", "rate": rate}, random_state=0).labels if rate else y
    monitor = AtGrowth(grown)
    model = core.AutoClassifier(random_state=0, n_fits=6).fit(X, labels, monitor=monitor)
    n_unpruned = sum(one.candidate.min_samples_leaf == 1 for one in model.choice_.chosen)
    assert 0 < n_unpruned < len(FAMILIES)
    assert model.choice_.draws_labels == bool(rate)
    assert monitor.n_alive == (0 if rate else n_unpruned)


@pytest.mark.parametrize(("n_fits", "n_repeated"), [(len(FAMILIES), 0), (None, 3)])  # families that lead again
def test_trees_of_the_search_are_not_grown_again(monkeypatch, n_fits, n_repeated):
    n_grown, grow = [], gini_forest.grow_on_bootstrap

    def counted(*arguments):
        n_grown.append(1)
        return grow(*arguments)

    monkeypatch.setattr(gini_forest, "grow_on_bootstrap", counted)
    model = core.AutoClassifier(random_state=0, n_fits=n_fits).fit(*table(200))
    assert np.count_nonzero(positions_in_families(model.choice_.chosen)) == n_repeated
    assert len(n_grown) == (len(FAMILIES) + n_repeated) * TREES_PER_FAMILY
