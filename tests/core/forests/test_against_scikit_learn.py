"""Trees compared with those of scikit-learn, on data without ties between splits."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import core


def tie_free(seed, n_rows=300, n_features=5, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    y = (X[:, :n_classes] + rng.normal(scale=0.5, size=(n_rows, n_classes))).argmax(axis=1)
    # multiples of 1/1024: splits do not tie, and sums are exact, without which scikit-learn splits pure nodes
    return X, y, rng.integers(512, 2048, size=n_rows) / 1024


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_rows", [60, 250])
@pytest.mark.parametrize("seed", range(5))
def test_trees_equal_those_of_scikit_learn(criterion, n_rows, seed):
    X, y, weights = tie_free(seed, n_rows)
    limits = {"max_depth": 5, "min_samples_leaf": 4}
    ours = core.TreeClassifier(loss=criterion, **limits).fit(X, y, weights).tree_
    theirs = DecisionTreeClassifier(criterion=criterion, random_state=0, **limits).fit(X, y, weights).tree_
    for name in ["children_left", "children_right", "feature", "n_node_samples"]:
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist(), name
    inner = ours.feature >= 0
    np.testing.assert_allclose(ours.threshold[inner], theirs.threshold[inner], atol=1e-7)
    np.testing.assert_allclose(ours.value, theirs.value, atol=1e-9)
    np.testing.assert_allclose(ours.weighted_n_node_samples, theirs.weighted_n_node_samples)
    scale = np.log(2) if criterion == "entropy" else 1.0  # scikit-learn uses the binary logarithm
    np.testing.assert_allclose(ours.impurity, theirs.impurity * scale, atol=1e-9)
    np.testing.assert_allclose(ours.compute_feature_importances(), theirs.compute_feature_importances(), atol=1e-9)
    assert (ours.node_count, ours.n_leaves, ours.max_depth) == (theirs.node_count, theirs.n_leaves, theirs.max_depth)
    assert ours.value.shape == theirs.value.shape


@pytest.mark.parametrize("seed", range(4))
def test_trees_with_missing_values_equal_those_of_scikit_learn(seed):
    X, y, _ = tie_free(seed, 240)
    X[np.random.default_rng(seed).random(X.shape) < 0.15] = np.nan
    ours = core.TreeClassifier(max_depth=3, min_samples_leaf=5).fit(X, y)
    theirs = DecisionTreeClassifier(max_depth=3, min_samples_leaf=5, random_state=0).fit(X, y)
    assert ours.tree_.feature.tolist() == theirs.tree_.feature.tolist()
    assert ours.tree_.n_node_samples.tolist() == theirs.tree_.n_node_samples.tolist()
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("max_leaf_nodes", [2, 5, 12])
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("seed", range(3))
def test_best_first_trees_equal_those_of_scikit_learn(criterion, max_leaf_nodes, missing, seed):
    X, y, weights = tie_free(seed, 250)
    X[np.random.default_rng(seed).random(X.shape) < missing] = np.nan
    limits = {"max_leaf_nodes": max_leaf_nodes, "min_samples_leaf": 4}
    ours = core.TreeClassifier(loss=criterion, **limits).fit(X, y, weights).tree_
    theirs = DecisionTreeClassifier(criterion=criterion, random_state=0, **limits).fit(X, y, weights).tree_
    assert ours.n_leaves == theirs.n_leaves == max_leaf_nodes
    # scikit-learn numbers nodes in the order of growth, so that the partition of the rows is compared
    groups = set(zip(ours.apply(X).tolist(), theirs.apply(X.astype(np.float32)).tolist(), strict=True))
    assert len(groups) == max_leaf_nodes
    assert sorted(ours.feature.tolist()) == sorted(theirs.feature.tolist())
    np.testing.assert_allclose(
        np.sort(ours.threshold), np.sort(np.where(theirs.feature < 0, 0, theirs.threshold)), atol=1e-7
    )


def test_coarse_bins_cost_little_accuracy():
    X, y, _ = tie_free(0, 4000)
    exact = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X[:3000], y[:3000]).score(X[3000:], y[3000:])
    binned = core.TreeClassifier(max_depth=6, max_bins=64).fit(X[:3000], y[:3000]).score(X[3000:], y[3000:])
    assert abs(exact - binned) < 0.02
