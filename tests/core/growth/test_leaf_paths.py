"""Leaves and decision paths, compared with scikit-learn's definition and with the votes."""

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError

import core


def _rows(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def _walk(tree, row):
    """Return the nodes that one row passes."""
    node, path = 0, [0]
    while tree.children_left[node] >= 0:
        value = row[tree.feature[node]]
        left = bool(tree.missing_go_to_left[node]) if np.isnan(value) else value <= tree.threshold[node]
        node = int(tree.children_left[node] if left else tree.children_right[node])
        path.append(node)
    return path


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_leaf_and_path_of_a_tree(dtype):
    X, y = _rows()
    X = X.astype(dtype)
    classifier = core.TreeClassifier(random_state=0).fit(X, y)
    paths = [_walk(classifier.tree_, row) for row in X]
    leaves, indicator = classifier.apply(X), classifier.decision_path(X)
    assert leaves.dtype == np.int64
    assert leaves.tolist() == [path[-1] for path in paths]
    assert issparse(indicator)
    assert indicator.shape == (len(X), classifier.tree_.node_count)
    assert [indicator[[row]].indices.tolist() for row in range(len(X))] == paths
    assert set(indicator.data.tolist()) == {1}


def test_leaves_and_paths_of_a_forest_are_those_of_its_trees():
    X, y = _rows()
    forest = core.ForestClassifier(n_estimators=7, random_state=0, n_jobs=3).fit(X, y)
    leaves, (indicator, first_nodes) = forest.apply(X), forest.decision_path(X)
    assert leaves.shape == (len(X), 7)
    assert first_nodes.shape == (8,)
    assert indicator.shape == (len(X), first_nodes[-1])
    for k, tree in enumerate(forest.estimators_):
        assert leaves[:, k].tolist() == tree.apply(X).tolist()
        part = indicator[:, first_nodes[k] : first_nodes[k + 1]]
        assert (part != tree.decision_path(X)).nnz == 0


def test_leaves_of_a_booster_give_its_rule_outputs():
    X, y = _rows()
    booster = core.RMBoostClassifier(n_rounds=5, random_state=0).fit(X, y)
    leaves = booster.apply(X)
    outputs = np.column_stack([rule.outputs[leaves[:, j]] for j, rule in enumerate(booster.rules_)])
    assert outputs.tobytes() == booster.rule_outputs(X).tobytes()
    assert booster.decision_path(X)[0].shape[0] == len(X)


def test_a_tree_of_one_leaf():
    tree = core.TreeClassifier().fit([[0.0], [1.0]], [1, 1])
    assert tree.apply([[5.0]]).tolist() == [0]
    assert tree.decision_path([[5.0], [6.0]]).toarray().tolist() == [[1], [1]]


@pytest.mark.parametrize("kind", core.ESTIMATORS)
@pytest.mark.parametrize("method", ["apply", "decision_path", "predict_log_proba"])
def test_unfitted_estimators_and_wrong_rows_are_refused(kind, method):
    estimator = core.ESTIMATORS[kind]()
    with pytest.raises(NotFittedError):
        getattr(estimator, method)([[0.0]])
    estimator.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    with pytest.raises(core.InvalidInput, match="2 features"):
        getattr(estimator, method)([[0.0, 1.0]])


def test_log_probabilities():
    X, y = _rows()
    forest = core.ForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    np.testing.assert_allclose(np.exp(forest.predict_log_proba(X)), forest.predict_proba(X), rtol=1e-14)
    pure = core.TreeClassifier().fit([[0.0], [1.0]], [0, 1])
    assert pure.predict_log_proba([[0.0]]).tolist() == [[0.0, -np.inf]]
