"""Best-first growth, the order of nodes, and independence of trees that use the same workspace."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import core
from core import service_api
from core.forests.fitting import Fit
from core.growth.growing import bootstrap_weights, grow_tree
from core.growth.growth_problem import ThreadWorkspaces
from core.kernels.growth.tree_nodes import LEAF, NO_FEATURE, GrowingNodes, class_distributions, compact_nodes
from core.monitoring import NullMonitor, Progress
from core.randomness import SeedTree
from core.validation.training_data import training_data
from tests.core.growth.grown_trees import compact, leaf_distributions, node_bytes
from tests.core.kernels.search_twins import preorder, renumbered, risk_decreases, splits_best_first

no_deadline = settings(max_examples=40, deadline=None)


def rows_without_ties(seed, n_rows=300, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    y = (X[:, 0] + rng.normal(scale=0.7, size=n_rows) > 0) * 1 + (X[:, 1] > 1)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, rng.integers(512, 2048, size=n_rows) / 1024


def same_bytes(one, other):
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


@no_deadline
@given(st.integers(0, 25), st.integers(0, 2**32 - 1))
def test_grown_trees_are_compact_and_in_preorder(n_splits, seed):
    rng = np.random.default_rng(seed)
    nodes = random_tree(rng, n_splits)
    numbers = np.concatenate([[0], 1 + rng.permutation(len(nodes.feature) - 1)]).astype(np.int32)
    shuffled = renumbered(nodes, numbers)
    order = np.array(preorder(shuffled))
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    ordered = renumbered(shuffled, inverse.astype(np.int32))
    oversized = GrowingNodes(*(np.concatenate([column, column]) for column in shuffled))
    assert same_bytes(compact_nodes(oversized, len(nodes.feature)), compact(ordered))


def test_nodes_take_37_bytes_and_impure_leaves_8_more_per_class():
    X, y, _ = rows_without_ties(0)
    for limits, impure_bytes in (({}, 0), ({"min_samples_leaf": 9}, 8 * 3)):
        tree = core.TreeClassifier(**limits).fit(X, y)
        (nodes,) = tree.trees_
        n_impure = np.count_nonzero(tree.tree_.impurity[tree.tree_.children_left == LEAF])
        assert sum(array.nbytes for array in nodes) == 37 * tree.tree_.node_count + impure_bytes * n_impure


def test_tree_without_nodes_has_empty_columns():
    assert [len(column) for column in compact_nodes(random_tree(np.random.default_rng(0), 3), 0)] == [0] * 11


@no_deadline
@given(st.integers(0, 25), st.integers(0, 2**32 - 1))
def test_distributions_of_inner_nodes_are_sums_over_their_leaves(n_splits, seed):
    rng = np.random.default_rng(seed)
    nodes = compact_nodes(random_tree(rng, n_splits), 2 * n_splits + 1)
    own = leaf_distributions(nodes) * nodes.weighted_n_node_samples[:, np.newaxis]
    for node in reversed(range(len(nodes.feature))):
        if nodes.feature[node] != NO_FEATURE:
            left, right = node + 1, nodes.link[node]
            own[node] = own[left] + own[right]
            nodes.weighted_n_node_samples[node] = own[node].sum()
    expected = own / nodes.weighted_n_node_samples[:, np.newaxis]
    np.testing.assert_allclose(class_distributions(nodes), expected, rtol=1e-12)


def random_tree(rng, n_splits):
    """Return a tree of random shape with random columns, so that permuted columns are detected."""
    n_nodes = 2 * n_splits + 1
    left, right = np.full(n_nodes, LEAF, dtype=np.int32), np.full(n_nodes, LEAF, dtype=np.int32)
    leaves = [0]
    for split in range(n_splits):
        node = leaves.pop(rng.integers(len(leaves)))
        left[node], right[node] = 2 * split + 1, 2 * split + 2
        leaves += [2 * split + 1, 2 * split + 2]
    class_weights = rng.random((n_nodes, 3))
    pure = rng.random(n_nodes) < 0.5
    class_weights[pure] *= np.eye(3)[rng.integers(3, size=pure.sum())]
    return GrowingNodes(
        left,
        right,
        np.where(left != LEAF, rng.integers(0, 9, n_nodes), NO_FEATURE).astype(np.int32),
        rng.random(n_nodes),
        rng.integers(0, 2, n_nodes).astype(np.uint8),
        class_weights,
        rng.random(n_nodes),
        rng.integers(1, 99, n_nodes).astype(np.int32),
        class_weights.sum(axis=1),
    )


@pytest.mark.parametrize("loss", ["gini", "entropy"])
@pytest.mark.parametrize("max_leaf_nodes", [2, 3, 7, 20, 10_000])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_best_first_growth_splits_the_node_with_the_largest_decrease(loss, max_leaf_nodes, missing):
    for seed in range(4):
        X, y, weights = rows_without_ties(seed, missing=missing)
        limits = {"loss": loss, "min_samples_leaf": 3}
        full_tree = core.TreeClassifier(**limits).fit(X, y, weights).tree_
        tree = core.TreeClassifier(**limits, max_leaf_nodes=max_leaf_nodes).fit(X, y, weights).tree_
        chosen = splits_best_first(full_tree, max_leaf_nodes)
        assert tree.n_leaves == min(max_leaf_nodes, full_tree.n_leaves) == len(chosen) + 1
        kept = kept_nodes(full_tree, set(chosen))
        for name in ("n_node_samples", "weighted_n_node_samples", "impurity"):
            assert getattr(tree, name).tobytes() == getattr(full_tree, name)[kept].tobytes(), name
        np.testing.assert_allclose(tree.value, full_tree.value[kept], atol=1e-12)
        inner = np.isin(kept, chosen)
        assert tree.feature.tolist() == np.where(inner, full_tree.feature[kept], -2).tolist()
        assert tree.threshold.tolist() == np.where(inner, full_tree.threshold[kept], 0.0).tolist()
        sides = np.where(inner, full_tree.missing_go_to_left[kept], 0)
        assert tree.missing_go_to_left.tolist() == sides.tolist()


def kept_nodes(tree, split, node=0):
    """Return the nodes of the whole tree that remain if only the nodes `split` are split, in preorder."""
    if node not in split:
        return [node]
    left, right = tree.children_left[node], tree.children_right[node]
    return [node, *kept_nodes(tree, split, left), *kept_nodes(tree, split, right)]


@no_deadline
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.sampled_from(["best", "random"]), st.sampled_from([None, 2]))
def test_higher_leaf_limit_adds_one_split(seed, max_leaf_nodes, splitter, max_features):
    """Existing splits do not change, for any random draws at the nodes."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 6, size=(60, 4)) / 4, rng.integers(0, 3, size=60)
    shared = {"splitter": splitter, "max_features": max_features, "random_state": seed % 1000}
    fewer, more = (
        core.TreeClassifier(max_leaf_nodes=n, **shared).fit(X, y).tree_ for n in (max_leaf_nodes, max_leaf_nodes + 1)
    )
    assert fewer.n_leaves <= max_leaf_nodes
    assert more.n_leaves - fewer.n_leaves == (more.n_leaves > max_leaf_nodes)
    added = sorted(risk_decreases(more).values())
    for decrease in risk_decreases(fewer).values():
        added.remove(decrease)
    assert len(set(zip(fewer.apply(X), more.apply(X), strict=True))) == more.n_leaves


def test_older_node_is_split_first_on_ties():
    # the root separates two halves by feature 0; in each half, feature 1 then has the same gain
    X = np.array([[a, b] for a in (0, 1) for b in (0, 1) for _ in range(4)], dtype=float)
    y = np.array([2 * a + b for a, b in X.astype(int)])
    three_leaves = core.TreeClassifier(max_leaf_nodes=3).fit(X, y).tree_
    assert three_leaves.feature.tolist() == [0, 1, -2, -2, -2]
    assert core.TreeClassifier(max_leaf_nodes=4).fit(X, y).tree_.n_leaves == 4


@no_deadline
@given(st.integers(0, 2**32 - 1), st.integers(2, 8))
def test_growth_with_ties_equals_the_reference(seed, max_leaf_nodes):
    X, y = rows_with_ties(seed)
    full_tree = core.TreeClassifier().fit(X, y).tree_
    tree = core.TreeClassifier(max_leaf_nodes=max_leaf_nodes).fit(X, y).tree_
    kept = kept_nodes(full_tree, set(splits_best_first(full_tree, max_leaf_nodes)))
    assert tree.n_node_samples.tolist() == full_tree.n_node_samples[kept].tolist()
    np.testing.assert_allclose(tree.value, full_tree.value[kept], atol=1e-12)


def rows_with_ties(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(6, 40))
    return rng.integers(0, 5, size=(n_rows, 3)) / 4, rng.integers(0, 3, size=n_rows)


@pytest.mark.parametrize(
    "seed", [74, 459, 472, 507, *range(30)]
)  # the first four have gains that differ by rounding only
def test_rounding_does_not_choose_between_equal_splits(seed):
    X, y = rows_with_ties(seed)
    for max_leaf_nodes in (5, 6, 7):
        trees = [
            core.TreeClassifier(max_leaf_nodes=max_leaf_nodes).fit(X, y, np.full(len(y), weight)).tree_
            for weight in (1.0, 3.0, 0.3)
        ]
        assert trees[0].threshold.tolist() == trees[1].threshold.tolist() == trees[2].threshold.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_feature_may_be_constant_in_one_subtree_and_vary_in_another(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, size=(300, 9)), rng.integers(0, 2, size=300)
    depth_first = core.TreeClassifier().fit(X, y)
    assert depth_first.tree_.n_leaves > 50
    assert node_bytes(core.TreeClassifier(max_leaf_nodes=300).fit(X, y)) == node_bytes(depth_first)


@pytest.mark.parametrize("limits", [{"max_depth": 3}, {"min_risk_decrease": 0.01}, {"min_samples_leaf": 20}], ids=str)
def test_other_limits_hold_in_best_first_growth(limits):
    X, y, weights = rows_without_ties(5)
    depth_first = core.TreeClassifier(**limits).fit(X, y, weights)
    best_first = core.TreeClassifier(**limits, max_leaf_nodes=5000).fit(X, y, weights)
    assert node_bytes(depth_first) == node_bytes(best_first)
    small_tree = core.TreeClassifier(**limits, max_leaf_nodes=4).fit(X, y, weights).tree_
    assert small_tree.n_leaves == 4
    assert small_tree.max_depth <= limits.get("max_depth", 99)
    assert small_tree.n_node_samples.min() >= limits.get("min_samples_leaf", 1)


def test_root_that_cannot_be_split_is_a_leaf():
    tree = core.TreeClassifier(max_leaf_nodes=9).fit(np.ones((6, 2)), [0, 1, 0, 1, 1, 1]).tree_
    assert (tree.node_count, tree.n_leaves) == (1, 1)


FORESTS = [
    core.ForestClassifier(n_estimators=8, random_state=2),
    core.ForestClassifier(n_estimators=8, random_state=2, max_leaf_nodes=12),
    core.ForestClassifier(n_estimators=8, random_state=2, max_bins=None, min_samples_leaf=3),
    core.ExtraTreesClassifier(n_estimators=8, random_state=2),
    core.ExtraTreesClassifier(n_estimators=8, random_state=2, bootstrap=True, max_leaf_nodes=12),
]


@pytest.mark.parametrize("forest", FORESTS, ids=repr)
@pytest.mark.parametrize("n_rows", [150, 1500])
def test_tree_does_not_depend_on_earlier_trees_of_its_thread(forest, n_rows):
    X, y, _ = rows_without_ties(1, n_rows, missing=0.1)
    X[:, 3] = X[:, 3] > 0  # a feature with few codes among features with many
    fitted = forest.fit(X, y)
    data = training_data(forest, X, y, None, None)
    problem = forest._problem(Fit(data, SeedTree(0), NullMonitor(), 1))
    for tree, state in enumerate(SeedTree(forest.random_state).kernel_states(8)):
        weights = bootstrap_weights(data.weights, None, state) if forest.bootstrap else data.weights
        criterion = fitted.loss_.criterion(problem.n_classes)
        own_problem = problem._replace(workspaces=ThreadWorkspaces(random_cuts=forest.splitter == "random"))
        nodes = grow_tree(own_problem, weights, criterion, state, Progress(NullMonitor(), "growing", 1))
        assert same_bytes(fitted.trees_[tree], nodes)


class StopsAfter(NullMonitor):
    """Monitor that stops the fit after `n_trees` trees."""

    def __init__(self, n_trees):
        super().__init__()
        self._n_trees = n_trees

    def advance(self, completed):
        self.stop_flag[0] = completed >= self._n_trees


@pytest.mark.parametrize("forest", FORESTS, ids=repr)
def test_fit_after_a_stopped_fit_gives_the_same_bytes(forest):
    X, y, _ = rows_without_ties(2)
    expected = core.ESTIMATORS[service_api.estimator_kind(forest)](**forest.get_params()).fit(X, y)
    refitted = core.ESTIMATORS[service_api.estimator_kind(forest)](**forest.get_params())
    with pytest.raises(core.FitStopped):
        refitted.fit(X, y, monitor=StopsAfter(3))
    assert not hasattr(refitted, "trees_")
    assert node_bytes(refitted.fit(X, y)) == node_bytes(expected)


def test_stop_flag_stops_best_first_growth():
    X, y, _ = rows_without_ties(3)
    monitor = NullMonitor()
    monitor.stop_flag[0] = 1
    with pytest.raises(core.FitStopped):
        core.TreeClassifier(max_leaf_nodes=50).fit(X, y, monitor=monitor)


@pytest.mark.parametrize("kind", core.ESTIMATORS)
def test_zero_threads_are_refused(kind):
    with pytest.raises(core.InvalidParameter, match="n_jobs is 0; it must be at least 1"):
        core.ESTIMATORS[kind](n_jobs=0).fit([[0.0], [1.0]], [0, 1])
