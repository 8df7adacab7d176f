"""Probabilities of the true classes by votes of a regression: when it counts, and what it changes."""

import numpy as np
import pytest

import core
from core.automatic import search as search_module
from core.automatic.candidates import CANDIDATES
from core.automatic.ridge import with_regression
from core.automatic.vote_shares import gains_clearly
from core.forests.fitting import Fit
from core.monitoring import FitStopped, NullMonitor
from core.randomness import SeedTree
from core.validation.training_data import training_data


def oblique_classes(n_rows, seed):
    """Return 30 features and the two classes on the sides of an oblique plane, which few trees cannot describe."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 30))
    return X, (X.sum(axis=1) > 0).astype(int)


def noisy(y, seed):
    return core.inject_noise(y, {"kind": "uniform", "rate": 0.2}, random_state=seed).labels


@pytest.fixture
def without_naive_bayes(monkeypatch):
    monkeypatch.setattr("core.automatic.naive_bayes.SHARES", (0.0,))


@pytest.fixture
def always_draws(monkeypatch):
    monkeypatch.setattr("core.automatic.decision.HEAVY_NOISE", 0.0)


@pytest.mark.usefixtures("without_naive_bayes", "always_draws")
def test_a_much_better_regression_informs_the_trees(monkeypatch):
    gains = []
    for seed in (1, 2):
        (X, y), (X_test, y_test) = oblique_classes(1_500, seed), oblique_classes(2_000, 100 + seed)
        model = core.AutoClassifier(random_state=0, n_fits=4).fit(X, noisy(y, seed))
        share = model.choice_.regression_share
        assert share >= 0.25
        assert (
            f"votes of forests ({1 - share:.0%}) and of a regression of the given labels ({share:.0%})" in model.reason_
        )
        assert model.choice_.to_json()["regression_share"] == share
        with monkeypatch.context() as patch:
            patch.setattr("core.automatic.ridge._CLEAR_GAIN_ERRORS", np.inf)
            without = core.AutoClassifier(random_state=0, n_fits=4).fit(X, noisy(y, seed))
        assert without.choice_.regression_share == 0.0
        assert "which follow from" not in without.reason_
        trees = [
            np.sum([member.predict_proba(X_test) for member in one.estimators_], axis=0) for one in (model, without)
        ]
        gains.append(np.subtract(*[np.mean(votes.argmax(axis=1) == y_test) for votes in trees]))
    assert np.mean(gains) > 0.02


@pytest.mark.usefixtures("always_draws")
def test_regression_and_naive_bayes_share_the_votes():
    X, y = oblique_classes(1_500, 1)
    choice = core.AutoClassifier(random_state=0, n_fits=4).fit(X, noisy(y, 1)).choice_
    assert choice.naive_bayes_share > 0
    assert 0 < choice.regression_share <= 0.75 * (1 - choice.naive_bayes_share)
    rest = 1 - choice.regression_share - choice.naive_bayes_share
    voters = (
        f"votes of forests ({rest:.0%}), of a regression of the given labels ({choice.regression_share:.0%}) "
        f"and of naive Bayes ({choice.naive_bayes_share:.0%})"
    )
    assert voters in choice.reason()


@pytest.mark.usefixtures("without_naive_bayes", "always_draws")
def test_rows_beside_the_search_have_votes_of_the_regression_too(monkeypatch):
    """The true classes of these rows are as probable as those of the rows of the search."""
    monkeypatch.setattr(search_module, "MAX_SEARCH_ROWS", 1_500)
    X, y = oblique_classes(2_500, 1)
    found = {}

    def watched(fit, part, result, votes):
        mixed = with_regression(fit, part, result, votes)
        found.update(share=mixed.share, votes=mixed.votes, outside=part.is_outside(fit), before=votes)
        return mixed

    monkeypatch.setattr("core.automatic.true_classes.with_regression", watched)
    core.AutoClassifier(random_state=0, n_fits=4).fit(X, noisy(y, 1))
    assert found["share"] > 0
    np.testing.assert_allclose(found["votes"].sum(axis=1), 1.0)
    assert found["votes"].min() >= 0
    right = {name: (found[name].argmax(axis=1) == y) for name in ("before", "votes")}
    for rows in (found["outside"], ~found["outside"]):
        assert right["votes"][rows].mean() > right["before"][rows].mean() + 0.03


@pytest.mark.usefixtures("always_draws")
def test_threads_make_no_difference_and_groups_and_a_spent_time_budget_leave_it_out():
    X, y = oblique_classes(1_500, 1)
    given = noisy(y, 1)
    one, two = (core.AutoClassifier(random_state=0, n_fits=4, n_jobs=n_jobs).fit(X, given) for n_jobs in (1, 2))
    assert one.choice_.regression_share > 0
    assert one.choice_ == two.choice_
    assert one.predict_proba(X).tobytes() == two.predict_proba(X).tobytes()
    late = core.AutoClassifier(random_state=0, time_budget=1e-9).fit(X, given)
    grouped = core.AutoClassifier(random_state=0, n_fits=1).fit(X, given, groups=np.arange(len(y)) // 2)
    for model in (late, grouped):
        assert model.choice_.draws_labels
        assert model.choice_.regression_share == model.choice_.naive_bayes_share == 0.0


@pytest.mark.usefixtures("always_draws")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_regression_that_is_better_by_chance_does_not_count(seed):
    X, y = np.random.default_rng(seed).normal(size=(600, 10)), np.random.default_rng(9 + seed).integers(0, 2, 600)
    choice = core.AutoClassifier(random_state=0, n_fits=4).fit(X, y).choice_
    assert (choice.draws_labels, choice.regression_share) == (True, 0.0)


def searched(X, y):
    """Return a fit, its search and the votes of its best candidates, as arguments of `with_regression`."""
    data = training_data(core.AutoClassifier(), X, y, None, None, None)
    part = search_module.part_to_search(Fit(data, SeedTree(0), NullMonitor(), 1))
    result = search_module.search(part, CANDIDATES[:2], None)
    return part.fit, part, result, result.mean_votes


def test_a_vote_of_the_regression_is_independent_of_the_label_of_its_row():
    X, y = oblique_classes(1_000, 1)
    fit, part, result, votes = searched(X, y)
    share, mixed = with_regression(fit, part, result, votes)
    row = int(np.abs(mixed[:, 0] - 0.5).argmin())  # votes near 0 and 1 are clipped
    y[row] = 1 - y[row]
    changed = fit._replace(data=training_data(core.AutoClassifier(), X, y, None, None, None))
    share_of_changed, after = with_regression(changed, part._replace(fit=changed), result, votes)
    assert share == share_of_changed > 0
    np.testing.assert_allclose(after[row], mixed[row], atol=1e-3)
    assert np.abs(after - mixed).max() > 5e-3  # votes on rows beside it do depend on its label


def test_the_regression_stops_when_asked():
    fit, part, result, votes = searched(*oblique_classes(300, 1))
    stopped = fit._replace(monitor=NullMonitor(np.ones(1, dtype=np.uint8)))
    with pytest.raises(FitStopped):
        with_regression(stopped, part._replace(fit=stopped), result, votes)


def gain(n_better, n_worse, n_equal=100, better_weight=1.0):
    """Return arguments of `gains_clearly` whose others are right on so many rows more, and on so many less."""
    codes = np.zeros(n_better + n_worse + n_equal, dtype=int)
    codes[-1] = 1
    right, wrong = np.eye(2)[codes], np.eye(2)[1 - codes]
    is_better, is_worse = np.arange(len(codes)) < n_better, np.arange(len(codes)) >= n_better + n_equal
    votes = np.where(is_better[:, np.newaxis], wrong, right)
    others = np.where(is_worse[:, np.newaxis], wrong, right)
    data = training_data(
        core.AutoClassifier(), np.zeros((len(codes), 1)), codes, np.where(is_better, better_weight, 1.0), None
    )
    return data, votes, others, 0.75


def test_a_gain_is_clear_from_so_many_errors_on():
    """Of 130 rows, 25 get right and 5 wrong: the gain of 20 is 3.85 times its error, sqrt(30 - 20 ** 2 / 130)."""
    assert gains_clearly(*gain(25, 5), 3.8)
    assert not gains_clearly(*gain(25, 5), 3.9)
    assert not gains_clearly(*gain(25, 5, better_weight=0.1), 0.0)
    assert not gains_clearly(*gain(5, 25), 0.0)
    assert not gains_clearly(*gain(0, 0), 3.0)


def test_rows_without_votes_do_not_count_for_a_gain():
    data, votes, others, share = gain(25, 5, n_equal=1_100)
    votes[25:1025] = np.nan
    assert gains_clearly(data, votes, others, share, 3.8)
    votes[:] = np.nan
    assert not gains_clearly(data, votes, others, share, 0.0)
