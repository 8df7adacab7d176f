"""Importances by impurity and by permutation, compared with the estimators and with scikit-learn."""

import numpy as np
import pytest
from sklearn.inspection import permutation_importance

import core
from core.service_api import impurity_importances, permutation_importances, split_features

FITTED = {
    "tree": core.TreeClassifier(max_depth=3),
    "forest": core.ForestClassifier(n_estimators=20, random_state=1),
    "adaboost": core.AdaBoostClassifier(n_rounds=20),
    "rmboost": core.RMBoostClassifier(n_rounds=10),
}


def table(n_classes=2, n_rows=300):
    """Return rows whose class depends on the first feature, less on the second, and not on the others."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, 4))
    score = X[:, 0] + 0.3 * X[:, 1]
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


@pytest.mark.parametrize("kind", FITTED)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_mean_is_the_attribute_of_the_estimator(kind, n_classes):
    classifier = FITTED[kind].fit(*table(n_classes))
    found = impurity_importances(classifier)
    np.testing.assert_allclose(found.mean, classifier.feature_importances_, atol=1e-12)
    assert (found.sd is None) == (kind == "tree")
    assert split_features(classifier).tolist() == np.flatnonzero(found.mean).tolist()


def test_the_spread_is_that_over_the_trees():
    forest = core.ForestClassifier(n_estimators=15, random_state=1).fit(*table())
    of_trees = [tree.feature_importances_ for tree in forest.estimators_]
    np.testing.assert_allclose(impurity_importances(forest).sd, np.std(of_trees, axis=0), atol=1e-12)


def test_trees_without_a_split_have_no_importances():
    forest = core.ForestClassifier(n_estimators=2).fit(np.zeros((10, 2)), np.arange(10) % 2)
    found = impurity_importances(forest)
    assert (found.mean.tolist(), found.sd.tolist()) == ([0, 0], [0, 0])
    assert split_features(forest).tolist() == []


@pytest.mark.parametrize("kind", FITTED)
def test_permutation_agrees_with_scikit_learn(kind):
    X, y = table()
    classifier = FITTED[kind].fit(X, y)
    test_X, test_y = X[::-1] + 0.05, y[::-1]
    found = permutation_importances(classifier, test_X, test_y, [0, 1, 3], n_repeats=30, random_state=0)
    theirs = permutation_importance(classifier, test_X, test_y, n_repeats=30, random_state=0)
    error = 4 * (theirs.importances_std + found.sd) / np.sqrt(30) + 1e-9
    for feature in (0, 1, 3):
        assert abs(found.mean[feature] - theirs.importances_mean[feature]) <= error[feature]
    assert np.isnan(found.mean[2])
    assert found.accuracy == classifier.score(test_X, test_y)
    assert found.mean[0] > found.mean[1] >= 0


def test_features_that_no_tree_splits_by_change_nothing():
    X, y = table()
    stump = core.TreeClassifier(max_depth=1).fit(X, y)
    found = permutation_importances(stump, X, y, [1, 2, 3], random_state=0)
    assert (found.mean[1:].tolist(), found.sd[1:].tolist()) == ([0, 0, 0], [0, 0, 0])


def test_frames_and_seeds():
    import pandas as pd

    X, y = table()
    frame = core.encode_frame(pd.DataFrame(X, columns=list("abcd")))
    forest = core.ForestClassifier(n_estimators=5, random_state=0).fit(frame, y)
    seeded = [permutation_importances(forest, frame, y, [0, 1], random_state=7) for _ in range(2)]
    np.testing.assert_array_equal(seeded[0].mean, seeded[1].mean)
    assert seeded[0].mean[0] > 0.1
    np.testing.assert_array_equal(np.array(frame), X)


def test_it_can_be_stopped_and_shows_progress():
    class Monitor:
        stop_flag = np.zeros(1, dtype=np.uint8)
        seen: list = []  # noqa: RUF012

        def begin(self, phase, total, unit):
            self.seen.append((phase, total, unit))

        def advance(self, completed):
            self.seen.append(completed)
            self.stop_flag[0] = 1

    X, y = table()
    monitor, tree = Monitor(), core.TreeClassifier(max_depth=2).fit(X, y)
    with core.service_api.stopping_with(monitor), pytest.raises(core.FitStopped):
        permutation_importances(tree, X, y, [0, 1], random_state=0, monitor=monitor)
    assert monitor.seen == [("permuting", 2, "features"), 1]
