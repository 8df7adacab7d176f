"""Arrays of NumPy that mean more than their numbers: masked ones, other float widths, durations; and trees of a fit."""

import numpy as np
import pytest

import core

X = np.array([[0.1, 0], [0.2, 0], [0.1, 0], [0.3, 0]] * 5)
Y = [1, 0, 1, 0] * 5


@pytest.mark.parametrize("fitted", [np.float32, np.float64])
@pytest.mark.parametrize("predicted", [np.float32, np.float64])
def test_categories_are_the_same_in_both_float_widths(fitted, predicted):
    tree = core.TreeClassifier(categorical_features=[0]).fit(X.astype(fitted), Y)
    assert tree.predict(X[:4].astype(predicted)).tolist() == Y[:4]
    assert np.isnan(core.TreeClassifier(categorical_features=[0]).fit(X, Y).predict_proba([[0.15, 0]])).sum() == 0


def test_unseen_categories_are_not_rounded_to_seen_ones():
    ids = np.array([[100000000.0], [200000000.0]] * 10)
    model = core.ExtraTreesClassifier(n_estimators=5, categorical_features=[0], random_state=0).fit(ids, [0, 1] * 10)
    seen, unseen = model.predict_proba([[100000000.0], [100000001.0]])
    assert seen[0] == 1.0
    assert unseen[0] < 1.0


def test_masked_text_and_missing_labels_of_pandas():
    pd = pytest.importorskip("pandas")
    texts = np.ma.masked_array(X.astype(str), False)
    assert core.TreeClassifier().fit(texts, Y).score(texts, Y) == 1.0
    with pytest.raises(core.InvalidInput, match="1 of 20 rows"):
        core.TreeClassifier().fit(X, pd.array([None, *Y[1:]], dtype="Int64"))


def test_categories_beyond_float32_are_unseen_ones():
    values = np.array([[0.5], [1.5]] * 10)
    tree = core.TreeClassifier(categorical_features=[0]).fit(values, [0, 1] * 10)
    assert tree.predict([[1.5], [1e300]])[0] == 1


def test_large_categories_stay_apart():
    large = np.array([[2**24], [2**24 + 1]] * 10, float) + 2**20 + 0.5
    tree = core.TreeClassifier(categorical_features=[0]).fit(large, [0, 1] * 10)
    assert tree.score(large, [0, 1] * 10) == 1.0


def test_masked_features_are_missing():
    mask = np.zeros(X.shape, bool)
    mask[::4] = True
    masked = np.ma.masked_array(np.where(mask, 9999.0, X), mask)
    expected = core.TreeClassifier(random_state=0).fit(np.where(mask, np.nan, X), Y)
    found = core.TreeClassifier(random_state=0).fit(masked, Y)
    np.testing.assert_array_equal(found.predict_proba(masked), expected.predict_proba(np.where(mask, np.nan, X)))
    assert core.TreeClassifier().fit(np.ma.masked_array(X, False), Y).score(X, Y) == 1.0


@pytest.mark.parametrize(
    ("labels", "weights", "message"),
    [
        (np.ma.masked_array(Y, [1] + [0] * 19), None, "y has masked labels"),
        (Y, np.ma.masked_array(np.ones(20), [1] + [0] * 19), "sample_weight has masked weights"),
    ],
)
def test_masked_labels_and_weights_are_refused(labels, weights, message):
    with pytest.raises(core.InvalidInput, match=message):
        core.TreeClassifier().fit(X, labels, weights)


def test_durations_in_another_unit_are_the_same_labels():
    labels = np.array(Y).astype("m8[s]")
    tree = core.TreeClassifier().fit(X, labels)
    assert tree.score(X, labels.astype("m8[ns]")) == core.evaluate(tree, X, labels.astype("m8[ms]"))["accuracy"] == 1.0
    matrix = [[0.8, 0.2], [0.2, 0.8]]
    found = core.corrected_accuracy(labels, labels.astype("m8[ns]"), matrix)
    assert found.accuracy == core.corrected_accuracy(Y, Y, matrix).accuracy


def test_trees_of_a_forest_know_the_names_of_the_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["p", "q"])
    tree = core.ForestClassifier(n_estimators=2, random_state=0).fit(frame, Y).estimators_[0]
    assert tree.feature_names_in_.tolist() == ["p", "q"]
    tree.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        tree.predict(frame[["q", "p"]])
