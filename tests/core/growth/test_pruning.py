"""Pruning of grown trees to larger leaves."""

import numpy as np
import pytest

import core
from core.forests.fitting import Fit
from core.forests.gini_forest import grow_gini_forest
from core.growth import pruning
from core.growth.growth_problem import GrowthSettings, growth_problem
from core.growth.out_of_bag import Bootstrap, out_of_bag_votes
from core.growth.pruning import leaves_of_left_out_rows, prune, votes_of_pruned
from core.growth.tree_structure import Tree
from core.kernels.growth.tree_nodes import NO_FEATURE
from core.losses.catalog import SquaredError
from core.monitoring import NullMonitor, Progress
from core.randomness import SeedTree
from core.validation.training_data import training_data


def grown(n_rows=300, n_classes=3, categorical=()):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    X[:, 0] = rng.integers(0, 40, n_rows)
    X[rng.random(n_rows) < 0.1, 2] = np.nan
    y = (np.nan_to_num(X[:, 2]) > 0) + rng.integers(0, n_classes - 1, n_rows)
    tree = core.TreeClassifier(random_state=0, categorical_features=list(categorical)).fit(X, y)
    return X, y, tree.trees_[0]


@pytest.mark.parametrize("categorical", [(), (0,)])
@pytest.mark.parametrize("min_samples_leaf", [2, 5, 30])
def test_leaves_have_the_class_distribution_of_their_training_rows(min_samples_leaf, categorical):
    X, y, nodes = grown(categorical=categorical)
    pruned = prune(nodes, min_samples_leaf)
    tree = Tree(pruned, X.shape[1])
    leaves = tree.apply(X)
    assert set(leaves) == set(np.flatnonzero(pruned.feature == NO_FEATURE))
    for leaf in set(leaves):
        rows = leaves == leaf
        assert rows.sum() == pruned.n_node_samples[leaf] >= min_samples_leaf
        np.testing.assert_allclose(tree.value[leaf, 0], np.bincount(y[rows], minlength=3) / rows.sum(), atol=1e-12)
    assert len(pruned.category_nodes) == np.count_nonzero(np.isnan(pruned.threshold))
    assert (len(pruned.category_nodes) > 0) == bool(categorical)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_per_group", [None, 3])
def test_votes_are_those_of_the_pruned_trees(dtype, n_per_group, monkeypatch):
    """With categories, missing values, groups, weights, and rows that are gathered in many blocks."""
    monkeypatch.setattr(pruning, "ROWS_PER_GATHER", 16)
    X, y, _ = grown()
    weights = np.random.default_rng(1).integers(0, 4, len(y)) / 2.0
    groups = None if n_per_group is None else np.arange(len(y)) // n_per_group
    model = core.ForestClassifier(categorical_features=[0])
    data = training_data(model, X.astype(dtype), y, weights, None, groups)
    fit = Fit(data, SeedTree(0), NullMonitor(), 2)
    bootstrap = Bootstrap(data.weights, fit.seeds.kernel_states(8), data.groups)
    problem = growth_problem(data, GrowthSettings(), 1, fit.monitor.stop_flag)
    trees = grow_gini_forest(problem, bootstrap, 1, Progress(NullMonitor(), "growing", 8))
    left_out = leaves_of_left_out_rows(data.X, trees, bootstrap, 2, fit.monitor.stop_flag)
    for size in (1, 4, 20):
        pruned = tuple(prune(nodes, size) for nodes in trees)
        expected = out_of_bag_votes(data.X, pruned, SquaredError().vote, bootstrap)
        votes = votes_of_pruned(trees, left_out, size, len(data.X))
        np.testing.assert_array_equal(votes.n_trees, expected.n_trees)
        np.testing.assert_allclose(votes.mean, expected.mean, atol=1e-12)
        again = grow_gini_forest(problem, bootstrap, 2, Progress(NullMonitor(), "growing", 8), size)
        for one, other in zip(pruned, again, strict=True):
            np.testing.assert_array_equal(one.threshold, other.threshold)


def test_a_split_is_removed_if_and_only_if_a_child_at_or_above_it_is_too_small():
    nodes = grown()[2]
    full, pruned = Tree(nodes, 3), Tree(prune(nodes, 5), 3)

    def expected(node):
        """Preorder of the features of the nodes that remain."""
        left, right = full.children_left[node], full.children_right[node]
        if left < 0 or min(full.n_node_samples[[left, right]]) < 5:
            return [NO_FEATURE]
        return [int(full.feature[node]), *expected(left), *expected(right)]

    assert pruned.feature.tolist() == expected(0)
    assert 1 < pruned.node_count < full.node_count


def test_one_row_per_leaf_is_the_tree_itself_and_too_many_leave_the_root():
    X, y, nodes = grown()
    assert prune(nodes, 1) is nodes
    root = prune(nodes, len(X))
    assert root.feature.tolist() == [NO_FEATURE]
    np.testing.assert_allclose(Tree(root, 3).value[0, 0], np.bincount(y) / len(y))


def test_leaves_of_one_class_stay_pure():
    X = np.arange(40.0)[:, np.newaxis]
    nodes = core.TreeClassifier(random_state=0).fit(X, np.repeat([2, 0, 1, 0], 10)).trees_[0]
    pruned = prune(nodes, 10)
    assert len(pruned.impure_distributions) == 0
    assert Tree(pruned, 1).value[:, 0].max(axis=1)[pruned.feature == NO_FEATURE].tolist() == [1.0] * 4
