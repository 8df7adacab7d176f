"""Naive Bayes behind the probabilities of the true classes: what it votes, when it counts, and what it changes."""

import numpy as np
import pytest

import core
from core.automatic.naive_bayes import SHARES, left_out_votes_of_naive_bayes, with_naive_bayes
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


ALL = np.arange(3)


def by_definition(cells, codes, weights, row, n_classes):
    """Return the class probabilities of a row by all other rows. cells (row, feature): -1 for missing values."""
    others = np.arange(len(cells)) != row
    scores = np.log([weights[others & (codes == label)].sum() for label in range(n_classes)])
    for of_feature in cells.T:
        known, n_cells = of_feature >= 0, of_feature.max() + 1
        if not known[row]:
            continue
        is_same = of_feature == of_feature[row]
        before = 5 * n_cells * weights[is_same].sum() / weights[known].sum()
        for label in range(n_classes):
            of_class = others & known & (codes == label)
            in_cell = weights[of_class & is_same].sum()
            scores[label] += np.log((in_cell + before) / (weights[of_class].sum() + 5 * n_cells))
    return np.exp(scores) / np.exp(scores).sum()


@pytest.mark.parametrize("is_weighted", [False, True])
def test_votes_are_those_of_a_fit_to_the_other_rows(is_weighted):
    X, y = table()
    weights = np.random.default_rng(1).integers(1, 5, len(X)) if is_weighted else np.ones(len(X))
    X[:40, 0] = np.arange(40) // 5 * 10.0
    X[40:, 0] = np.nan  # eight values, each of which is a cell
    X[:, 1] = np.random.default_rng(2).permutation(60)  # 60 values, of which seven or eight make a cell
    data = data_of(X, y, weights)
    votes = left_out_votes_of_naive_bayes(data, ALL, None)
    bounds = np.sort(X[:, 1])[np.ceil(np.arange(1, 8) / 8 * 60).astype(int) - 1]
    cells = np.column_stack([X[:, 0] / 10, (X[:, [1]] > bounds).sum(axis=1), X[:, 2]])
    cells = np.nan_to_num(cells, nan=-1).astype(int)
    codes = data.labels.codes.astype(int)
    expected = [by_definition(cells, codes, weights / weights.mean(), row, 3) for row in range(len(X))]
    np.testing.assert_allclose(votes, expected, rtol=1e-9)


def test_a_vote_is_independent_of_the_label_of_its_row():
    X, y = table()
    before = left_out_votes_of_naive_bayes(data_of(X, y), ALL, None)[7]
    y[7] = "a" if y[7] != "a" else "b"
    np.testing.assert_allclose(left_out_votes_of_naive_bayes(data_of(X, y), ALL, None)[7], before, rtol=1e-12)


def test_a_class_of_one_row_and_a_feature_without_values():
    X, y = table()
    X[:, 1] = np.nan
    y[:] = "a"
    y[3] = "b"
    votes = left_out_votes_of_naive_bayes(data_of(X, y), ALL, None)
    assert np.isfinite(votes).all()
    np.testing.assert_allclose(votes.sum(axis=1), 1.0)
    assert votes[3].argmax() == 0


def rare_zeros(kind):
    """Return a feature in which few rows are below a value that most have, and in which they decide the class."""
    y = np.arange(400) % 10 == 0
    values = {"flag": 1.0 - y, "counts": np.where(y, np.arange(400) % 40 / 10, 5.0)}[kind]
    return np.column_stack([values, np.zeros(400), np.zeros(400)]), y


@pytest.mark.parametrize("kind", ["flag", "counts"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_value_of_most_rows_hides_no_others(kind, sign):
    X, y = rare_zeros(kind)
    votes = left_out_votes_of_naive_bayes(
        training_data(core.AutoClassifier(), sign * X, y, None, None, None), ALL, None
    )
    assert ((votes[:, 1] > 0.5) == y).all()


def test_categories_with_very_many_levels_have_no_part():
    X, y = table(200)
    X[:, 2] = np.arange(200)
    with_levels = left_out_votes_of_naive_bayes(data_of(X, y), ALL, None)
    np.testing.assert_array_equal(with_levels, left_out_votes_of_naive_bayes(data_of(X, y), ALL[:2], None))


def test_huge_numbers_lead_to_no_warning():
    X, y = table(200)
    X[:, 0] = np.where(np.arange(200) % 8 < 3, -1.7e308, 1.7e308) * np.linspace(0.9, 1.0, 200)
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(left_out_votes_of_naive_bayes(data_of(X, y), ALL, None)).all()


def test_the_share_is_the_one_that_is_right_on_most_weight(monkeypatch):
    """On 40 rows of weight 3, naive Bayes is right, which takes a share above 23 %; on 100 of weight 1, it is wrong."""
    codes, is_heavy = np.arange(140) % 2, np.arange(140) < 40
    data = training_data(core.AutoClassifier(), np.zeros((140, 1)), codes, np.where(is_heavy, 3, 1), None, None)
    right, wrong = np.eye(2)[codes], np.eye(2)[1 - codes]
    votes = np.where(is_heavy[:, np.newaxis], 0.35 * right + 0.65 * wrong, 0.7 * right + 0.3 * wrong)
    votes[5] = np.nan
    naive = np.where(is_heavy[:, np.newaxis], right, wrong)
    monkeypatch.setattr("core.automatic.naive_bayes.left_out_votes_of_naive_bayes", lambda *_: naive)
    mixed = with_naive_bayes(fit_of(data), votes, np.arange(1))
    assert mixed.share == 0.3
    np.testing.assert_allclose(mixed.votes, 0.7 * votes + 0.3 * naive)
    assert np.isnan(mixed.votes[5]).all()


def test_forests_that_are_always_right_keep_their_votes():
    X, y = table(400)
    data = data_of(X, y)
    votes = np.eye(3)[data.labels.codes.astype(int)] * 0.9 + 0.1 / 3
    mixed = with_naive_bayes(fit_of(data), votes, ALL)
    assert (mixed.share, mixed.votes is votes) == (0.0, True)


def test_there_is_none_with_groups():
    X, y = table()
    votes = np.full((len(X), 3), 1 / 3)
    mixed = with_naive_bayes(fit_of(data_of(X, y, groups=np.arange(len(X)) // 2)), votes, ALL)
    assert (mixed.share, mixed.votes is votes) == (0.0, True)


def test_it_stops_when_asked():
    X, y = table()
    stop_flag = np.ones(1, dtype=np.uint8)
    with pytest.raises(FitStopped):
        left_out_votes_of_naive_bayes(data_of(X, y), ALL, stop_flag)


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


def test_threads_make_no_difference_and_a_spent_time_budget_leaves_it_out():
    X, y = independent_features(500, 1)
    given = core.inject_noise(y, {"kind": "uniform", "rate": 0.4}, random_state=1).labels
    one, two = (core.AutoClassifier(random_state=0, n_fits=4, n_jobs=n_jobs).fit(X, given) for n_jobs in (1, 2))
    assert one.choice_.naive_bayes_share > 0
    assert one.choice_ == two.choice_
    assert one.predict_proba(X).tobytes() == two.predict_proba(X).tobytes()
    late = core.AutoClassifier(random_state=0, time_budget=1e-9).fit(X, given)
    assert late.choice_.naive_bayes_share == 0.0
