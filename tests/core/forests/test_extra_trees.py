"""Extremely randomized trees, and the number of features that a node considers."""

import math

import numpy as np
import pytest

import core
from tests.core.growth.grown_trees import at_all_nodes, at_roots, node_bytes


def noisy(n_rows=600, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)) * 1 + (X[:, 2] > 1)
    y = np.where(rng.random(n_rows) < 0.1, rng.integers(0, 3, n_rows), y)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def extra_trees(**parameters):
    return core.ExtraTreesClassifier(**{"n_estimators": 12, "random_state": 4, **parameters})


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("parameters", [{}, {"bootstrap": True}, {"max_bins": None}, {"max_leaf_nodes": 20}], ids=str)
def test_trees_do_not_depend_on_the_number_of_threads(parameters, missing):
    X, y = noisy(missing=missing)
    forests = [extra_trees(n_jobs=n, **parameters).fit(X, y) for n in (1, 2, 4)]
    assert node_bytes(forests[0]) == node_bytes(forests[1]) == node_bytes(forests[2])
    assert len({forest.predict_proba(X).tobytes() for forest in forests}) == 1


def test_trees_on_the_same_rows_differ():
    X, y = noisy()
    forest = extra_trees(max_features=None).fit(X, y)
    assert len(set(at_roots(forest, "threshold"))) == 12
    assert (at_roots(forest, "n_node_samples") == len(y)).all()
    assert node_bytes(forest) != node_bytes(extra_trees(max_features=None, random_state=5).fit(X, y))


def test_pure_leaves_fit_every_training_row_and_generalize():
    X, y = noisy(3000, missing=0.05)
    forest = extra_trees(n_estimators=60).fit(X[:2000], y[:2000])
    assert forest.score(X[:2000], y[:2000]) == 1.0
    assert forest.score(X[2000:], y[2000:]) > 0.75


def test_out_of_bag_score_requires_bootstrap_and_estimates_accuracy():
    X, y = noisy(3000)
    with pytest.raises(core.InvalidParameter, match="bootstrap"):
        extra_trees(oob_score=True).fit(X, y)
    forest = extra_trees(n_estimators=60, bootstrap=True, oob_score=True).fit(X[:2000], y[:2000])
    assert forest.oob_score_ == pytest.approx(forest.score(X[2000:], y[2000:]), abs=0.04)
    assert forest.oob_decision_function_.shape == (2000, 3)


@pytest.mark.parametrize("loss", ["gini", "twoing"])
@pytest.mark.parametrize("n_rows", [300, 3000])
def test_fractional_weights_grow_the_same_trees_as_integer_weights(loss, n_rows):
    """Weights of 0.3 are summed row by row as floating-point numbers; weights of 1 are counted in packed integers."""
    X, y = noisy(n_rows)
    X = np.round(X * 64) / 64
    whole, scaled = (extra_trees(loss=loss).fit(X, y, sample_weight=np.full(n_rows, w)) for w in (1.0, 0.3))
    for column in ("feature", "threshold"):
        assert at_all_nodes(whole, column).tolist() == at_all_nodes(scaled, column).tolist()
    assert at_all_nodes(whole, "link").tolist() == at_all_nodes(scaled, "link").tolist()
    distributions = at_all_nodes(whole, "impure_distributions")
    np.testing.assert_allclose(distributions, at_all_nodes(scaled, "impure_distributions"), atol=1e-12)


def test_integer_weights_equal_duplicated_rows():
    X, y = noisy(400)
    weights = 1 + np.arange(400) % 3
    weighted = extra_trees(max_bins=None).fit(X, y, sample_weight=weights)
    repeated = extra_trees(max_bins=None).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    for column in ("feature", "threshold"):
        assert at_all_nodes(weighted, column).tolist() == at_all_nodes(repeated, column).tolist()


def stumps(X, y, **parameters):
    """Return a forest of stumps on the same rows, which differ in their random draws."""
    return core.ForestClassifier(n_estimators=1500, bootstrap=False, random_state=0, **parameters).fit(X, y)


def probability_of_drawing_both(n_features, n_draws):
    """Return the probability that two particular features are among the first `n_draws` of a random order."""
    return math.comb(n_features - 2, n_draws - 2) / math.comb(n_features, n_draws)


def with_constants(column, n_features, seed=0):
    """Return X with the informative column 3, a nearly uninformative noise column 6, and constants."""
    X = np.full((len(column), n_features), 2.5)
    X[:, 3], X[:, 6] = column, np.random.default_rng(seed).permutation(len(column))
    return X


@pytest.mark.parametrize("n_rows", [200, 2000])
@pytest.mark.parametrize("max_features", [2, 5, 8, 10])
def test_constant_features_count_as_drawn(n_rows, max_features):
    """The informative feature wins if both varying features are drawn, and otherwise half the time, because one of them
    is always considered, however many constants are drawn first.
    """
    y = np.arange(n_rows) % 2
    X = with_constants(y, 10)
    probability_of_both = probability_of_drawing_both(10, max_features)
    trees = stumps(X, y, max_features=max_features, max_depth=1)
    expected = probability_of_both + (1 - probability_of_both) / 2
    assert (at_roots(trees, "feature") == 3).mean() == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("n_rows", [400, 4000])
def test_features_known_to_be_constant_count_as_drawn(n_rows):
    y = np.arange(n_rows) % 4
    X = with_constants(y, 10)
    probability_of_both = probability_of_drawing_both(10, 5)
    trees = stumps(X, y, max_features=5, max_depth=2, min_samples_leaf=n_rows // 8)
    # on the right of a root that splits on the informative feature, three classes are left
    below = np.array([tree.feature[tree.link[0]] for tree in trees.trees_ if tree.feature[0] == 3])
    assert len(below) > 600
    assert (below == 3).mean() == pytest.approx(probability_of_both + (1 - probability_of_both) / 2, abs=0.07)


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("max_leaf_nodes", [None, 50])
def test_at_least_one_varying_feature_is_considered(splitter, max_leaf_nodes):
    rng = np.random.default_rng(0)
    X = np.zeros((120, 60))
    X[:, 41] = rng.permutation(120)
    y = rng.integers(0, 3, 120)
    forest = core.ForestClassifier(
        n_estimators=20,
        max_features=1,
        splitter=splitter,
        max_leaf_nodes=max_leaf_nodes,
        bootstrap=False,
        random_state=0,
    ).fit(X, y)
    assert set(at_all_nodes(forest, "feature").tolist()) == {41, -2}
    if max_leaf_nodes is None:
        assert forest.score(X, y) == 1.0


def test_all_features_are_drawn_equally_often():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 8)), rng.integers(0, 2, 300)
    forest = core.ForestClassifier(
        n_estimators=2000, max_features=1, max_depth=1, bootstrap=False, random_state=0, splitter="random"
    ).fit(X, y)
    roots = at_roots(forest, "feature")
    counts = np.bincount(roots[roots >= 0], minlength=8)
    assert abs(counts - counts.mean()).max() < 5 * math.sqrt(counts.mean())
