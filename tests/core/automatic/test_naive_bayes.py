"""Naive Bayes behind the probabilities of the true classes: what it votes, when it counts, and what it changes."""

import numpy as np
import pytest

import core
from core.automatic.naive_bayes import SHARES, left_out_votes_of_naive_bayes, with_naive_bayes
from core.class_votes import winning_classes
from core.forests.fitting import Fit
from core.monitoring import FitStopped, NullMonitor
from core.randomness import SeedTree
from core.validation.training_data import training_data


def table(n_rows=60, seed=0):
    """Return two numbers with missing values, a category, and labels of three classes that depend on all of them."""
    random = np.random.default_rng(seed)
    X = np.column_stack([random.normal(size=(n_rows, 2)), random.integers(0, 3, n_rows)])
    y = np.array(["a", "b", "c"])[np.clip(np.round(X.sum(axis=1) / 2), 0, 2).astype(int)]
    X[random.random(X.shape) < 0.1] = np.nan
    return X, y


def data_of(X, y, sample_weight=None, groups=None):
    return training_data(core.AutoClassifier(categorical_features=[2]), X, y, sample_weight, None, groups)


def fit_of(data):
    return Fit(data, SeedTree(0), NullMonitor(), 1)


def by_definition(X, codes, weights, row, n_classes):
    """Return the class probabilities of a row by all other rows, in intervals of all rows."""
    others = np.arange(len(X)) != row
    scores = np.log([weights[others & (codes == label)].sum() for label in range(n_classes)])
    for feature in range(X.shape[1]):
        values = X[:, feature]
        known = ~np.isnan(values)
        if not known[row]:
            continue
        if feature == 2:
            cells = np.where(known, values, -1).astype(int)
        else:
            bounds = np.unique(np.quantile(values[known], np.arange(1, 8) / 8))
            cells = np.where(known, (values[:, np.newaxis] > bounds).sum(axis=1), -1)
        for label in range(n_classes):
            of_class = others & known & (codes == label)
            in_cell = weights[of_class & (cells == cells[row])].sum()
            scores[label] += np.log((in_cell + 5) / (weights[of_class].sum() + 5 * (cells.max() + 1)))
    return np.exp(scores) / np.exp(scores).sum()


@pytest.mark.parametrize("is_weighted", [False, True])
def test_votes_are_those_of_a_fit_to_the_other_rows(is_weighted):
    X, y = table()
    weights = np.random.default_rng(1).integers(1, 5, len(X)) if is_weighted else np.ones(len(X))
    data = data_of(X, y, weights)
    votes = left_out_votes_of_naive_bayes(data, None)
    codes = data.labels.codes.astype(int)
    expected = [by_definition(X, codes, weights / weights.mean(), row, 3) for row in range(len(X))]
    np.testing.assert_allclose(votes, expected, rtol=1e-9)


def test_a_vote_does_not_know_the_label_of_its_row():
    X, y = table()
    before = left_out_votes_of_naive_bayes(data_of(X, y), None)[7]
    y[7] = "a" if y[7] != "a" else "b"
    np.testing.assert_allclose(left_out_votes_of_naive_bayes(data_of(X, y), None)[7], before, rtol=1e-12)


def test_a_class_of_one_row_and_a_feature_without_values():
    X, y = table()
    X[:, 1] = np.nan
    y[:] = "a"
    y[3] = "b"
    votes = left_out_votes_of_naive_bayes(data_of(X, y), None)
    assert np.isfinite(votes).all()
    np.testing.assert_allclose(votes.sum(axis=1), 1.0)
    assert votes[3].argmax() == 0


@pytest.mark.parametrize(("flatten", "share"), [(True, True), (False, False)])
def test_the_share_is_the_one_that_is_right_most_often(flatten, share):
    X, y = table(400)
    data = data_of(X, y)
    codes = data.labels.codes
    votes = np.full((len(X), 3), 1 / 3) if flatten else np.eye(3)[codes] * 0.9 + 0.1 / 3
    votes[5] = np.nan
    mixed = with_naive_bayes(fit_of(data), votes)
    assert (mixed.share > 0) == share
    naive = left_out_votes_of_naive_bayes(data, None)
    known = np.arange(len(X)) != 5
    scores = [np.mean(winning_classes((1 - s) * votes + s * naive)[known] == codes[known]) for s in SHARES]
    assert mixed.share == SHARES[int(np.argmax(scores))]
    np.testing.assert_allclose(mixed.votes, (1 - mixed.share) * votes + mixed.share * naive)
    assert np.isnan(mixed.votes[5]).all()


def test_there_is_none_with_groups():
    X, y = table()
    votes = np.full((len(X), 3), 1 / 3)
    mixed = with_naive_bayes(fit_of(data_of(X, y, groups=np.arange(len(X)) // 2)), votes)
    assert (mixed.share, mixed.votes is votes) == (0.0, True)


def test_it_stops_when_asked():
    X, y = table()
    stop_flag = np.ones(1, dtype=np.uint8)
    with pytest.raises(FitStopped):
        left_out_votes_of_naive_bayes(data_of(X, y), stop_flag)


def independent_features(n_rows, seed):
    """Return 20 flags that each point to the class with a probability of 65 %, so that naive Bayes is the best rule."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n_rows)
    return np.where(random.random((n_rows, 20)) < 0.65, y[:, np.newaxis], 1 - y[:, np.newaxis]).astype(float), y


def test_heavily_wrong_labels_of_independent_features(monkeypatch):
    gains = []
    for seed in (1, 2, 3):
        (X, y), (X_test, y_test) = independent_features(500, seed), independent_features(2_000, 100 + seed)
        given = core.inject_noise(y, {"kind": "uniform", "rate": 0.4}, random_state=seed).labels
        model = core.AutoClassifier(random_state=0, n_fits=8).fit(X, given)
        share = model.choice_.naive_bayes_share
        assert model.choice_.draws_labels
        assert share in SHARES[1:]
        assert f"votes of forests ({1 - share:.0%}) and of naive Bayes ({share:.0%})" in model.reason_
        assert model.choice_.to_json()["naive_bayes_share"] == share
        with monkeypatch.context() as patch:
            patch.setattr("core.automatic.naive_bayes.SHARES", (0.0,))
            without = core.AutoClassifier(random_state=0, n_fits=8).fit(X, given)
        assert without.choice_.naive_bayes_share == 0.0
        assert "naive Bayes" not in without.reason_
        gains.append(model.score(X_test, y_test) - without.score(X_test, y_test))
    assert np.mean(gains) > 0.03


def test_labels_as_they_are_have_no_share():
    X, y = independent_features(300, 0)
    choice = core.AutoClassifier(random_state=0, n_fits=2).fit(X, y).choice_
    assert (choice.draws_labels, choice.naive_bayes_share) == (False, 0.0)
