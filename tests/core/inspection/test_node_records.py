"""Nodes as records: following them gives the predictions of the estimator."""

import numpy as np
import pytest

import core
from core.service_api import InspectedTree


def rows(n_rows=300):
    """Return rows with a numeric and a categorical feature, with missing values, and labels of three classes."""
    generator = np.random.default_rng(3)
    X = np.column_stack([generator.normal(size=n_rows), generator.integers(0, 7, n_rows)])
    y = (X[:, 0] > 0).astype(int) + np.isin(X[:, 1], [1, 4, 6])
    X[generator.random(X.shape) < 0.1] = np.nan
    return X, y


def leaf(nodes, row):
    """Follow the records from the root to a leaf, as a reader of the answer would."""
    node = nodes[0]
    while node.split is not None:
        split, value = node.split, row[node.split.feature]
        if np.isnan(value):
            goes_left = split.missing_go_left
        elif split.categories is not None:
            goes_left = split.categories_go_left if int(value) in split.categories else split.missing_go_left
        else:
            goes_left = split.threshold is None or value <= split.threshold
        node = nodes[split.left if goes_left else split.right]
    return node


@pytest.mark.parametrize("is_corrected", [False, True])
def test_forests(is_corrected):
    X, y = rows()
    transition = (np.full((3, 3), 0.1) + 0.7 * np.eye(3)).tolist()
    correction = {"kind": "forward", "transition": transition} if is_corrected else None
    forest = core.ForestClassifier(n_estimators=3, categorical_features=[1], correction=correction, random_state=0)
    forest.fit(X, y)
    votes = []
    for number in range(3):
        tree = InspectedTree(forest, number)
        nodes = list(tree.nodes(0))
        assert (len(nodes), tree.n_leaves) == (tree.n_nodes, sum(node.split is None for node in nodes))
        assert tree.depth == max(node.depth for node in nodes)
        assert (tree.rule_weight, tree.scored_class) == (None, None)
        votes.append([leaf(nodes, row).distribution for row in X])
    expected = forest.predict_proba(X)
    mean = np.mean(votes, axis=0)
    if not is_corrected:
        np.testing.assert_allclose(mean, expected, atol=1e-9)
    else:
        agree = np.argmax(mean, axis=1) == np.argmax(expected, axis=1)
        assert agree.mean() > 0.99


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosters(n_classes):
    X, y = rows()
    y = np.minimum(y, n_classes - 1)
    booster = core.AdaBoostClassifier(n_rounds=5, max_depth=2, categorical_features=[1]).fit(X, y)
    scores = np.zeros((len(X), n_classes))
    for number in range(len(booster.trees_)):
        tree = InspectedTree(booster, number)
        nodes = list(tree.nodes(0))
        scores[:, tree.scored_class] += [tree.rule_weight * leaf(nodes, row).output for row in X]
    expected = booster.decision_function(X)
    np.testing.assert_allclose(scores[:, 1] if n_classes == 2 else scores, expected, atol=1e-9)


def test_structure():
    X, y = rows()
    tree = InspectedTree(core.TreeClassifier(max_depth=4, categorical_features=[1]).fit(X, y), 0)
    nodes = list(tree.nodes(0))
    assert (nodes[0].parent, nodes[0].depth, nodes[0].n_rows) == (None, 0, len(X))
    for node in nodes:
        if node.split is not None:
            children = [nodes[node.split.left], nodes[node.split.right]]
            assert [child.parent for child in children] == [node.number] * 2
            assert sum(child.n_rows for child in children) == node.n_rows
        assert sum(node.distribution) == pytest.approx(1)
    assert list(tree.nodes(3)) == nodes[3:]


def test_all_present_values_against_missing_ones():
    X = np.array([[1.0], [1.0], [np.nan], [np.nan]])
    split = next(InspectedTree(core.TreeClassifier().fit(X, [0, 0, 1, 1]), 0).nodes(0)).split
    assert (split.threshold, split.categories, split.missing_go_left) == (None, None, False)


@pytest.mark.parametrize("number", [-1, 1])
def test_unknown_trees(number):
    tree = core.TreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(core.InvalidParameter, match="number is"):
        InspectedTree(tree, number)
