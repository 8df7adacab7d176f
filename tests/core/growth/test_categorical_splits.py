"""Splits of categorical features: optimal subsets, and what becomes of names, missing, rare and unseen categories."""

import numpy as np
import pytest

import core
from core.kernels.growth.tree_nodes import LEAF
from tests.core.growth.grown_trees import node_bytes

pytestmark = pytest.mark.slow

BOOSTERS = ["rmboost", "adaboost", "logitboost", "gentleboost", "lpboost", "brownboost", "robustboost"]


def table(seed, n_rows=60, n_levels=(2, 5, 8), n_classes=2, missing=0.0):
    """Return random categories (row, feature) with an effect on random classes (row,)."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, n, n_rows) for n in n_levels]).astype(np.float64)
    scores = sum(rng.normal(size=(n, n_classes))[X[:, f].astype(int)] for f, n in enumerate(n_levels))
    X[rng.random(X.shape) < missing] = np.nan
    return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def tree(X, **parameters):
    return core.TreeClassifier(categorical_features=list(range(X.shape[1])), random_state=0, **parameters)


def forest(X, kind="forest", **parameters):
    settings = {"n_estimators": 4, "categorical_features": list(range(X.shape[1])), "random_state": 0, **parameters}
    return core.ESTIMATORS[kind](**settings)


def gini(weights):
    return 1 - np.square(weights / weights.sum()).sum()


def entropy(weights):
    p = weights[weights > 0] / weights.sum()
    return -(p * np.log(p)).sum()


def negative_exponential(weights):
    p = weights / weights.sum()
    return min(1 - p.max(), 0.5 * np.sqrt((1 - np.square(p).sum()) / 2))


def least_risk(column, labels, weights, impurity):
    """Return the least weighted impurity of both sides over all subsets of the categories; missing is one of them."""
    values = np.where(np.isnan(column), -1, column)
    table = np.array(
        [[weights[(values == v) & (labels == k)].sum() for k in (0, 1)] for v in np.unique(values)], dtype=np.float64
    )
    risks = [np.inf]
    for subset in range(1, 2 ** (len(table) - 1)):
        is_left = np.array([subset >> i & 1 for i in range(len(table))], dtype=bool)
        sides = table[is_left].sum(axis=0), table[~is_left].sum(axis=0)
        risks.append(sum(side.sum() * impurity(side) for side in sides))
    return min(risks)


def rows_of_nodes(grown, X):
    """Return the rows of X in each node; in preorder, the nodes below node i are those before its right neighbor."""
    leaves = grown.apply(X)
    below = np.ones(grown.node_count, dtype=int)
    for node in range(grown.node_count - 1, -1, -1):
        if grown.children_left[node] != LEAF:
            below[node] += below[grown.children_left[node]] + below[grown.children_right[node]]
    return [np.flatnonzero((leaves >= node) & (leaves < node + below[node])) for node in range(grown.node_count)]


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("loss", "impurity"),
    [("gini", gini), ("entropy", entropy), ({"kind": "ne", "lambda": 0.5}, negative_exponential)],
    ids=["gini", "entropy", "ne"],
)
def test_every_split_is_the_best_of_all_subsets(loss, impurity, weighted, missing):
    for seed in range(4):
        X, y = table(seed, missing=missing)
        weights = np.random.default_rng(seed).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
        grown = tree(X, loss=loss).fit(X, y, weights).tree_
        mass = grown.weighted_n_node_samples * grown.impurity
        for node, rows in enumerate(rows_of_nodes(grown, X)):
            assert len(rows) == grown.n_node_samples[node]
            best = min(least_risk(X[rows, f], y[rows], weights[rows], impurity) for f in range(X.shape[1]))
            if grown.children_left[node] == LEAF:
                assert best >= mass[node] - 1e-9
            else:
                made = mass[grown.children_left[node]] + mass[grown.children_right[node]]
                assert made == pytest.approx(best, abs=1e-9)


def renamed(X, seed=0):
    """Return X with other numbers for the same categories, in another order and with gaps."""
    rng = np.random.default_rng(seed)
    changed = X.copy()
    for f in range(X.shape[1]):
        names = rng.permutation(300)[: int(np.nanmax(X[:, f])) + 1] - 50.5
        present = ~np.isnan(X[:, f])
        changed[present, f] = names[X[present, f].astype(int)]
    return changed


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kind", ["tree", "forest", "extra_trees", "adaboost", "rmboost"])
def test_names_and_order_of_categories_have_no_effect(kind, n_classes):
    X, y = table(3, n_rows=120, n_levels=(3, 12, 40), n_classes=n_classes, missing=0.1)
    small = {"n_rounds": 4} if kind in BOOSTERS else {} if kind == "tree" else {"n_estimators": 3}
    models = [
        core.ESTIMATORS[kind](categorical_features=[0, 1, 2], random_state=0, **small).fit(rows, y)
        for rows in (X, renamed(X))
    ]
    assert models[0].predict_proba(X).tobytes() == models[1].predict_proba(renamed(X)).tobytes()


def test_features_that_are_not_named_are_numbers():
    X, y = table(0)
    plain = core.TreeClassifier().fit(X, y)
    named = core.TreeClassifier(categorical_features=[0]).fit(X, y)
    assert np.isfinite(plain.tree_.threshold).all()
    assert np.isnan(named.tree_.threshold).any() == (0 in named.tree_.feature)


def stump(rows, labels):
    """Return the tree of one feature with the given categories."""
    return core.TreeClassifier(categorical_features=[0], max_depth=1).fit(np.array(rows)[:, np.newaxis], labels)


def test_unseen_categories_go_where_missing_values_went():
    for labels, missing_class in (([0, 0, 1, 1, 0], 0), ([0, 0, 1, 1, 1], 1)):
        model = stump([0, 0, 1, 1, np.nan], labels)
        assert model.predict([[np.nan], [2.0], [7.0], [0.5], [-1.0], [1e9]]).tolist() == [missing_class] * 6
        assert model.predict([[0.0], [1.0]]).tolist() == [0, 1]


def test_unseen_and_missing_values_follow_the_larger_child_if_none_were_missing():
    model = stump([0, 1, 1, 1], [0, 1, 1, 1])
    assert model.predict([[np.nan], [2.0], [0.0]]).tolist() == [1, 1, 0]


def test_categories_that_a_node_has_not_seen_follow_its_missing_values():
    # category 2 of the second feature occurs only where the first feature is 0
    X = np.array([[0, 2], [0, 2], [0, 2], [0, 2], [0, 2], [1, 0], [1, 1], [1, 1]], dtype=np.float64)
    y = np.array(["a", "a", "a", "a", "a", "b", "c", "c"])
    model = tree(X).fit(X, y)
    assert model.predict([[1.0, 2.0], [1.0, np.nan], [1.0, 0.0]]).tolist() == ["c", "c", "b"]


def test_sets_of_categories_can_be_read():
    X = np.array([0, 1, 2, 3, 4, 40, 70])[:, np.newaxis].repeat(3, axis=0).astype(np.float64)
    y = np.isin(X[:, 0], [1, 4, 70]).astype(int)
    grown = core.TreeClassifier(categorical_features=[0]).fit(X, y).tree_
    assert grown.node_count == 3
    assert grown.category_set(0).tolist() == [1, 4, 70]
    assert set(grown.categories_left(0)) & {0, 1, 2, 3, 4, 40, 70} == {0, 2, 3, 40}
    assert grown.categories_left(1).tolist() == []
    assert "feature_0 in {1, 4, 70}" in core.export_text(core.TreeClassifier(categorical_features=[0]).fit(X, y))


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_a_column_of_noise_with_thousands_of_levels_does_no_harm(noise):
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(4000, 3))
    labels = signals[:, 0] > 0
    observed = labels ^ (rng.random(4000) < noise)
    X = np.column_stack([signals, rng.integers(0, 1500, 4000)])
    grown = core.TreeClassifier(categorical_features=[3], max_depth=3).fit(X[:2000], observed[:2000])
    assert grown.tree_.feature[0] == 0
    model = core.ForestClassifier(n_estimators=20, categorical_features=[3], random_state=0)
    without = core.ForestClassifier(n_estimators=20, random_state=0)
    score = model.fit(X[:2000], observed[:2000]).score(X[2000:], labels[2000:])
    reference = without.fit(signals[:2000], observed[:2000]).score(signals[2000:], labels[2000:])
    assert score > reference - 0.03


def test_many_levels_that_tell_something_are_used():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 300, 6000)
    y = (rng.normal(size=300)[level] + 0.3 * rng.normal(size=6000) > 0).astype(int)
    model = core.TreeClassifier(categorical_features=[0], max_depth=1).fit(level[:4000, np.newaxis], y[:4000])
    assert model.score(level[4000:, np.newaxis], y[4000:]) > 0.8


def test_ten_thousand_levels_take_little_memory():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.permutation(12_000) % 10_000, rng.integers(0, 9_999, 12_000)]).astype(np.float64)
    y = (X[:, 0] > 5_000).astype(int)
    (nodes,) = tree(X).fit(X, y).trees_
    assert len(nodes.category_blocks) <= nodes.n_node_samples[nodes.category_nodes].sum()
    X[0, 0] = 2.0**24
    assert tree(X).fit(X, y).predict(X[:5]).shape == (5,)


@pytest.mark.parametrize("kind", ["forest", "extra_trees"])
def test_threads_have_no_effect(kind):
    X, y = table(5, n_rows=150, n_levels=(4, 30, 9), n_classes=3, missing=0.1)
    assert node_bytes(forest(X, kind, n_jobs=1).fit(X, y)) == node_bytes(forest(X, kind, n_jobs=2).fit(X, y))


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_growth_in_either_order_makes_the_same_tree(splitter):
    X, y = table(6, n_rows=100, n_levels=(4, 30, 9), missing=0.1)
    depth_first = tree(X, splitter="best").fit(X, y)
    best_first = tree(X, splitter="best", max_leaf_nodes=1000).fit(X, y)
    assert best_first.predict_proba(X).tobytes() == depth_first.predict_proba(X).tobytes()
    few = tree(X, splitter=splitter, max_leaf_nodes=5).fit(X, y).tree_
    assert few.n_leaves == 5
    assert [len(rows) for rows in rows_of_nodes(few, X)] == few.n_node_samples.tolist()


@pytest.mark.parametrize("min_samples_leaf", [2, 7])
def test_leaves_keep_enough_rows(min_samples_leaf):
    X, y = table(7, n_rows=100, n_levels=(4, 30, 9), n_classes=3, missing=0.2)
    grown = tree(X, min_samples_leaf=min_samples_leaf).fit(X, y).tree_
    assert grown.node_count > 1
    assert grown.n_node_samples[grown.children_left == LEAF].min() >= min_samples_leaf


@pytest.mark.parametrize("loss", core.LOSSES)
def test_every_loss_splits_categories(loss):
    X, y = table(8, n_rows=150, n_levels=(4, 30, 9), n_classes=2 if loss == "ranking" else 4, missing=0.1)
    model = tree(X, loss=loss).fit(X, y)
    assert model.score(X, y) > 0.4
    rows = rows_of_nodes(model.tree_, X)
    assert [len(one) for one in rows] == model.tree_.n_node_samples.tolist()


@pytest.mark.parametrize("kind", BOOSTERS)
def test_every_booster_splits_categories(kind):
    X, y = table(9, n_rows=200, n_levels=(4, 30, 9), missing=0.1)
    model = core.ESTIMATORS[kind](n_rounds=5, categorical_features=[0, 1, 2], random_state=0).fit(X, y)
    assert model.score(X, y) > 0.65
    outputs = model.rule_outputs(X) @ model.rule_weights_
    np.testing.assert_allclose(model.decision_function(X), outputs, atol=1e-12)


@pytest.mark.parametrize("width", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["tree", "forest", "extra_trees"])
def test_predictions_follow_the_trees(kind, width):
    X, y = table(10, n_rows=200, n_levels=(4, 70, 200), n_classes=3, missing=0.1)
    rows = np.vstack([X, X + 1, X - 0.5, -X, np.full_like(X, 1e9)]).astype(width)
    model = tree(X).fit(X, y) if kind == "tree" else forest(X, kind).fit(X, y)
    trees = [one.tree_ for one in getattr(model, "estimators_", [model])]
    votes = np.mean([one.value[one.apply(rows), 0] for one in trees], axis=0)
    np.testing.assert_allclose(model.predict_proba(rows), votes, atol=1e-12)


def test_out_of_bag_votes_tuning_and_corrections_work_with_categories():
    X, y = table(11, n_rows=300, n_levels=(4, 30, 9), missing=0.1)
    tuned = forest(X, loss="adaptive_ne", oob_score=True, n_estimators=20).fit(X, y)
    assert tuned.lambda_ in tuned.tuning_scores_
    assert 0.5 < tuned.oob_score_ < 1
    for correction in ("forward", "backward"):
        noise = {"kind": correction, "transition": [[0.8, 0.2], [0.1, 0.9]]}
        assert forest(X, correction=noise).fit(X, y).score(X, y) > 0.6
    issues = core.rank_label_issues(tuned.oob_decision_function_, y)
    assert len(issues.quality) == len(y)


def test_row_weights_are_counts():
    X, y = table(12, n_rows=80)
    counts = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = tree(X).fit(X, y, counts)
    repeated = tree(X).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-12)


def test_random_sets_are_not_empty_and_differ():
    X = np.repeat(np.arange(6.0), 10)[:, np.newaxis]
    y = (np.arange(60) % 7 % 2).astype(int)
    roots = set()
    for seed in range(30):
        grown = core.TreeClassifier(splitter="random", categorical_features=[0], max_depth=1, random_state=seed)
        sets = grown.fit(X, y).tree_.category_set(0)
        assert grown.tree_.node_count == 1 or 0 < len(sets) < 6
        roots.add(tuple(sets))
    assert len(roots) > 10
