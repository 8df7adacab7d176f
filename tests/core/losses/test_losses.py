"""Properties of individual losses: leaf values, units of weights, and numbers of classes."""

import numpy as np
import pytest

import core
from tests.core import oracles
from tests.core.kernels.criteria_by_hand import node_impurity

P = np.array([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [1.0, 0.0, 0.0]])


def table(seed=0, n_rows=200, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    y = (X[:, 0] + 0.7 * rng.normal(size=n_rows) > 0) + (n_classes == 3) * (X[:, 1] > 0.5)
    return X, y.astype(int)


@pytest.mark.parametrize("loss", ["misclassification", "mae", {"kind": "gce", "q": 1.3}], ids=str)
def test_leaves_of_conservative_losses_vote_with_their_distribution(loss):
    loss = core.parse_loss(loss)
    assert loss.leaf_value(P).tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 0]]
    assert loss.vote(P) is P


@pytest.mark.parametrize("loss", [kind for kind in core.LOSSES if kind not in ("misclassification", "mae", "gce")])
def test_leaves_of_most_losses_predict_their_distribution(loss):
    assert core.parse_loss(loss).leaf_value(P) is P
    assert core.parse_loss(loss).vote(P) is P


def test_gce_leaves_vote_with_their_leaf_value():
    X, y = table()
    for kind in ["tree", "forest"]:
        small = {"n_estimators": 4} if kind == "forest" else {}
        model = core.ESTIMATORS[kind](loss={"kind": "gce", "q": 0.5}, max_depth=3, random_state=0, **small).fit(X, y)
        trees = model.estimators_ if kind == "forest" else [model]
        rows = []
        for tree in trees:
            squares = tree.tree_.value[:, 0] ** 2
            expected = squares / squares.sum(axis=1, keepdims=True)
            rows.append(expected[tree.tree_.apply(X)])
            np.testing.assert_allclose(tree.tree_.value.sum(axis=2), 1.0)
        np.testing.assert_allclose(model.predict_proba(X), np.mean(rows, axis=0), atol=1e-12)


def test_gce_leaf_values_stay_finite_near_q_one():
    values = core.GeneralizedCrossEntropy(1 - 1e-15).leaf_value(P)
    np.testing.assert_allclose(values, [[1, 0, 0], [0.5, 0.5, 0], [1, 0, 0]])


@pytest.mark.parametrize("q", [1e-16, 1e-12, 1e-5, 0.0099999, 0.01, 0.3, 0.7, 0.95, 0.961, 0.999, 0.99999])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_gce_impurity_is_accurate_for_every_q_and_weight(q, scale):
    for counts in [[5.0, 3.0, 2.5], [1e6, 1e6 - 1, 5.0], [1.0, 1.0, 1.0], [1e6, 1.0, 0.0]]:
        criterion = core.GeneralizedCrossEntropy(q).criterion(3)
        got = node_impurity(criterion, scale * np.array(counts))
        expected = oracles.impurity("gce", [count / sum(counts) for count in counts], 3, q=q)
        assert got == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_classes", [1, 3])
def test_ranking_requires_exactly_two_classes(n_classes):
    X = np.arange(6.0)[:, np.newaxis]
    with pytest.raises(core.InvalidLoss, match=f"have {n_classes} class"):
        core.TreeClassifier(loss="ranking").fit(X, np.arange(6) % n_classes)


def test_ranking_counts_pairs_in_the_unit_of_the_weights():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    for weight, allowed in [(1.0, 0.99), (4.0, 15.9)]:
        for least, n_leaves in [(allowed, 2), (allowed * 1.02, 1)]:
            tree = core.TreeClassifier(loss="ranking", min_risk_decrease=least, max_depth=1)
            assert tree.fit(X, y, sample_weight=np.full(4, weight)).get_n_leaves() == n_leaves


def test_credal_mass_is_in_the_unit_of_the_weights():
    X, y = table()
    plain = core.TreeClassifier(loss={"kind": "credal", "s": 1}).fit(X, y)
    for weight in [2.0, 3.0, 2.0**-600]:
        weights = np.full(len(y), weight)
        heavy = core.TreeClassifier(loss={"kind": "credal", "s": weight}).fit(X, y, sample_weight=weights)
        assert heavy.tree_.feature.tolist() == plain.tree_.feature.tolist()
        np.testing.assert_allclose(heavy.tree_.impurity, plain.tree_.impurity, atol=1e-12)
    lighter = core.TreeClassifier(loss="credal").fit(X, y, sample_weight=np.full(len(y), 0.01))
    assert lighter.get_n_leaves() < plain.get_n_leaves()


def test_larger_credal_mass_stops_growth_earlier():
    X, y = table()
    leaves = [core.TreeClassifier(loss={"kind": "credal", "s": s}).fit(X, y).get_n_leaves() for s in (1e-300, 1, 1e300)]
    assert leaves[0] > leaves[1] > leaves[2] == 1


@pytest.mark.parametrize("loss", ["twoing", "ranking", "credal", "gce", "distribution"])
def test_importances_sum_to_one(loss):
    X, y = table(n_classes=2)
    importances = core.TreeClassifier(loss=loss).fit(X, y).feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert (importances >= 0).all()
    assert importances[0] == importances.max()
