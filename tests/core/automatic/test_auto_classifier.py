"""The automatic classifier: what it chooses on clean and on noisy labels, and that nothing else decides."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

import core
from core.automatic import search as search_module
from core.automatic.calibration import FLOOR
from core.automatic.candidates import CANDIDATES
from core.automatic.decision import ASYMMETRIC_NOISE, HEAVY_NOISE
from core.automatic.drawn_labels import TrueClasses
from core.automatic.members import N_TREES_BESIDE_REGRESSION

with warnings.catch_warnings():
    # The estimators follow the contract without scikit-learn's base class; the checks verify this.
    warnings.filterwarnings("ignore", message=".*does not inherit from `sklearn.base.BaseEstimator`")
    scikit_learn_checks = parametrize_with_checks(
        [core.AutoClassifier(n_fits=1, random_state=0)],
        expected_failed_checks=lambda _: {
            "check_sample_weight_equivalence_on_dense_data": (
                "bootstrap samples of n weighted rows and of the rows duplicated by weight are different random draws"
            )
        },
    )


@scikit_learn_checks
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:900], y[:900], X[900:], y[900:]


def noisy(y, rate, seed=0):
    return core.inject_noise(y, {"kind": "uniform", "rate": rate}, random_state=seed).labels


def blobs(n_rows=300, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    return rng.normal(size=(n_rows, 4)) + 2.0 * y[:, np.newaxis], y


@pytest.fixture(scope="module")
def under_heavy_noise(digits):
    X, y, _, _ = digits
    return core.AutoClassifier(random_state=2, n_fits=8, n_jobs=2).fit(X, noisy(y, 0.4))


def test_heavy_noise_is_seen_and_answered(digits, under_heavy_noise):
    _, _, X_test, y_test = digits
    choice = under_heavy_noise.choice_
    assert choice.noise_rate == pytest.approx(0.4, abs=0.06)
    assert choice.draws_labels
    assert under_heavy_noise.score(X_test, y_test) > 0.85
    assert "drawn from the probabilities of the true classes" in under_heavy_noise.reason_


def test_heavy_noise_costs_much_less_than_in_a_forest():
    X, y = blobs(800)
    X_test, y_test = blobs(2000, seed=1)
    labels = noisy(y, 0.4)
    forest = core.ForestClassifier(random_state=0).fit(X, labels).score(X_test, y_test)
    assert core.AutoClassifier(random_state=0).fit(X, labels).score(X_test, y_test) > forest + 0.1


def test_noise_of_one_class_is_seen_and_answered():
    X, y = blobs(600)
    X_test, y_test = blobs(600, seed=1)
    one_sided = {"kind": "matrix", "transition": [[0.6, 0.4], [0.0, 1.0]]}
    labels = core.inject_noise(y, one_sided, random_state=0).labels
    model = core.AutoClassifier(random_state=0, n_fits=8).fit(X, labels)
    assert model.choice_.noise_rate < HEAVY_NOISE
    assert model.choice_.noise_asymmetry > ASYMMETRIC_NOISE
    assert model.choice_.draws_labels
    assert "some classes more often than others, so that trees are grown on labels drawn" in model.reason_
    accuracy = np.mean(model.predict(X_test) == y_test)
    forest = core.ForestClassifier(random_state=0).fit(X, labels)
    assert accuracy > 0.95
    assert accuracy > np.mean(forest.predict(X_test) == y_test) + 0.05


def test_uniform_noise_is_not_asymmetric(under_heavy_noise):
    assert under_heavy_noise.choice_.noise_asymmetry < ASYMMETRIC_NOISE
    assert "which is 30% or more" in under_heavy_noise.reason_


def test_clean_labels_are_taken_as_they_are(digits):
    X, y, X_test, y_test = digits
    model = core.AutoClassifier(random_state=0, n_fits=8).fit(X, y)
    assert model.choice_.noise_rate < 0.05
    assert not model.choice_.draws_labels
    forest = core.ForestClassifier(random_state=0).fit(X, y)
    assert model.score(X_test, y_test) >= forest.score(X_test, y_test) - 0.01
    assert "grown on the labels as they are" in model.reason_


def test_predictions_are_the_weighted_mean_of_the_members(digits, under_heavy_noise):
    X_test, ridge = digits[2], under_heavy_noise.choice_.kernel_ridge
    assert ridge is not None
    members, weights = under_heavy_noise.estimators_, under_heavy_noise.weights_
    assert len(under_heavy_noise.trees_) == N_TREES_BESIDE_REGRESSION == sum(len(member.trees_) for member in members)
    assert weights.sum() == pytest.approx(1.0 - ridge.share)
    mean = sum(weight * member.predict_proba(X_test) for weight, member in zip(weights, members, strict=True))
    mean += ridge.share * under_heavy_noise.kernel_ridge_.scores(X_test)
    positive = np.maximum(mean, 0.0)
    powers = (positive / positive.sum(axis=1, keepdims=True) + FLOOR) ** under_heavy_noise.choice_.calibration.power
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(under_heavy_noise.predict_proba(X_test), expected, atol=1e-10)
    np.testing.assert_array_equal(under_heavy_noise.predict(X_test), mean.argmax(axis=1))


def test_trees_on_drawn_labels_have_small_leaves(under_heavy_noise):
    assert max(member.min_samples_leaf for member in under_heavy_noise.estimators_) <= 4


def test_leaderboard_lists_every_candidate_best_first(under_heavy_noise):
    leaderboard = under_heavy_noise.leaderboard_
    assert {one.candidate for one in leaderboard} == set(CANDIDATES[:8])
    assert sorted(leaderboard, key=lambda one: one.rank) == list(leaderboard)
    expected = [one.expected_score for one in leaderboard]
    assert expected == sorted(expected, reverse=True)
    lines = under_heavy_noise.explain().splitlines()
    assert lines[0] == under_heavy_noise.reason_
    assert lines[2] == under_heavy_noise.choice_.meaning_of_probabilities()
    assert len(lines) == 4 + 1 + 8
    assert [line.endswith("yes") for line in lines[5:]] == [True] * 4 + [False] * 4


def test_equally_good_candidates_are_ranked_by_smoothing():
    rows = np.zeros((40, 1))  # every candidate predicts the majority
    y = np.array([0] * 30 + [1] * 10)
    leaderboard = core.AutoClassifier(random_state=0).fit(rows, y).leaderboard_
    assert {one.score for one in leaderboard} == {0.75}
    sizes = [one.candidate.min_samples_leaf for one in leaderboard]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_same_seed_gives_the_same_file_for_any_number_of_threads(tmp_path, rate):
    X, y = blobs()
    y = noisy(y, rate) if rate else y
    files = [tmp_path / name for name in ("one", "two")]
    for n_jobs, file in zip((1, 3), files, strict=True):
        core.save(core.AutoClassifier(random_state=7, n_fits=8, n_jobs=n_jobs).fit(X, y), file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_saved_model_explains_itself(tmp_path, digits, under_heavy_noise):
    core.save(under_heavy_noise, tmp_path / "model")
    loaded = core.load(tmp_path / "model")
    assert loaded.explain() == under_heavy_noise.explain()
    assert loaded.fit_summary() == under_heavy_noise.fit_summary()
    np.testing.assert_array_equal(loaded.predict_proba(digits[2]), under_heavy_noise.predict_proba(digits[2]))
    np.testing.assert_array_equal(loaded.weights_, under_heavy_noise.weights_)


def test_a_search_of_one_candidate_says_so():
    model = core.AutoClassifier(random_state=0, n_fits=1).fit(*blobs(60))
    assert len(model.leaderboard_) == 1
    assert model.reason_.startswith("Only one forest was compared in the search: it is right on ")


def test_rows_of_a_group_do_not_vote_on_each_other():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    copies, groups = np.repeat(np.arange(60), 5), np.repeat(np.arange(60), 5)
    apart = core.AutoClassifier(random_state=0, n_fits=2).fit(X[copies], y[copies])
    together = core.AutoClassifier(random_state=0, n_fits=2).fit(X[copies], y[copies], groups=groups)
    assert apart.leaderboard_[0].score > 0.9
    assert together.leaderboard_[0].score < 0.7
    with pytest.raises(core.TooFewGroups, match="at least two groups"):
        core.AutoClassifier().fit(X, y, groups=np.zeros(60))


def test_large_tables_are_searched_in_part_and_grown_in_whole(monkeypatch):
    monkeypatch.setattr(search_module, "MAX_SEARCH_ROWS", 200)
    X, y = blobs(900, n_classes=3)
    model = core.AutoClassifier(random_state=1, n_fits=2).fit(X, noisy(y, 0.45))
    assert model.choice_.draws_labels
    drawn_rows = {int(nodes.weighted_n_node_samples[0]) for nodes in model.trees_}
    assert drawn_rows == {900}
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("n_fits", [2, 4])
def test_trees_of_a_searched_part_are_not_those_of_the_result(monkeypatch, n_fits):
    monkeypatch.setattr(search_module, "MAX_SEARCH_ROWS", 200)
    model = core.AutoClassifier(random_state=0, n_fits=n_fits).fit(*blobs(900, n_classes=3))
    assert not model.choice_.draws_labels
    assert {int(nodes.weighted_n_node_samples[0]) for nodes in model.trees_} == {900}


def test_rows_of_weight_zero_change_nothing():
    X, y = blobs(120)
    weights = np.r_[np.ones(100), np.zeros(20)]
    model = core.AutoClassifier(random_state=0, n_fits=2).fit(X, y, sample_weight=weights)
    without = core.AutoClassifier(random_state=0, n_fits=2).fit(X[:100], y[:100])
    np.testing.assert_array_equal(model.predict_proba(X), without.predict_proba(X))


def test_balanced_class_weights_raise_the_recall_of_a_rare_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] + rng.normal(size=600) > 1.8).astype(int)
    plain, balanced = (
        core.AutoClassifier(random_state=0, n_fits=4, class_weight=weight).fit(X, y) for weight in (None, "balanced")
    )
    assert balanced.predict(X).sum() > plain.predict(X).sum()


def test_categories_and_missing_values_are_accepted():
    rng = np.random.default_rng(0)
    color = rng.integers(0, 4, 200).astype(float)
    X = np.column_stack([color, rng.normal(size=200)])
    X[::9, 1] = np.nan
    model = core.AutoClassifier(random_state=0, n_fits=2, categorical_features=[0]).fit(X, (color > 1).astype(int))
    assert model.score(X, (color > 1).astype(int)) > 0.95
    assert np.isfinite(model.predict_proba([[99.0, np.nan]])).all()


def test_the_labels_of_too_few_rows_for_an_estimate_are_learned_as_they_are():
    model = core.AutoClassifier(random_state=0, n_fits=2).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    assert model.noise_estimate_ is None
    assert model.choice_.noise_rate is None
    assert "too few rows of each class to estimate" in model.reason_


def test_class_weights_prevent_an_estimate():
    X, y = blobs(400)
    model = core.AutoClassifier(random_state=0, n_fits=2, class_weight={0: 1, 1: 10}).fit(X, noisy(y, 0.4))
    assert (model.choice_.noise_rate, model.choice_.draws_labels) == (None, False)
    assert "class weights would bias" in model.reason_


def test_a_class_of_few_rows_does_not_hide_the_noise_of_others_and_keeps_its_labels():
    X, y = blobs(900, n_classes=3, seed=1)
    labels = noisy(y, 0.4)
    far = np.full((6, 4), 50.0) + np.arange(24).reshape(6, 4)
    model = core.AutoClassifier(random_state=0, n_fits=4).fit(np.r_[X, far], np.r_[labels, np.full(6, 3)])
    assert model.choice_.noise_rate == pytest.approx(0.4, abs=0.06)
    assert model.choice_.draws_labels
    assert model.predict(far).tolist() == [3] * 6
    assert model.score(X, y) > 0.8


def test_one_class_is_no_lack_of_rows():
    model = core.AutoClassifier(random_state=0, n_fits=1).fit(np.arange(100.0)[:, np.newaxis], np.ones(100))
    assert "all labels are equal" in model.reason_


def test_noise_that_labels_do_not_identify_is_said():
    rng = np.random.default_rng(0)
    model = core.AutoClassifier(random_state=0, n_fits=4).fit(rng.normal(size=(400, 3)), rng.integers(0, 2, 400))
    assert not model.choice_.is_identified
    assert "too badly to identify the noise" in model.reason_


@pytest.mark.parametrize("share", [0.95, 1.0])
def test_classes_are_not_swapped_where_groups_hold_one_class_each(share):
    """Trees that have not seen the group of a row have not seen its class either, and contradict every label."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 5))
    X[:, 0] += 2 * y
    groups = np.where(rng.random(400) < share, y, 1 - y)
    model = core.AutoClassifier(random_state=0, n_fits=4).fit(X, y, groups=groups)
    assert not model.choice_.is_identified
    assert not model.choice_.draws_labels
    assert "but trees that have not seen a label agree with it less often than by chance, so that" in model.reason_
    assert model.score(X, y) > 0.8


def test_groups_larger_than_the_searched_part_are_searched_in_part(monkeypatch):
    monkeypatch.setattr(search_module, "MAX_SEARCH_ROWS", 200)
    X, y = blobs(900, n_classes=3)
    groups = np.repeat([0, 1, 2], 300)
    model = core.AutoClassifier(random_state=1, n_fits=2).fit(X, noisy(y, 0.45), groups=groups)
    assert model.choice_.draws_labels
    assert model.score(X, y) > 0.8


def test_the_expected_score_is_nearer_to_that_of_many_trees():
    """Each tree sees few of many noisy features, so that many trees are far better than few."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = y[:, np.newaxis] + rng.normal(scale=4, size=(400, 60))
    leaderboard = core.AutoClassifier(random_state=0, n_fits=4).fit(X, y).leaderboard_
    forests = [one.candidate.unfitted(1000).set_params(oob_score=True, random_state=1) for one in leaderboard]
    many = np.mean([forest.fit(X, y).oob_score_ for forest in forests])
    few, expected = np.mean([(one.score, one.expected_score) for one in leaderboard], axis=0)
    assert expected > few + 0.01
    assert abs(expected - many) < many - few


def test_the_expected_score_is_an_accuracy():
    X, y = blobs(60)
    leaderboard = core.AutoClassifier(random_state=0, n_fits=8).fit(X + 9 * y[:, np.newaxis], y).leaderboard_
    assert all(0 <= one.expected_score <= 1 for one in leaderboard)
    worst = leaderboard[-1]._replace(score=0.9, expected_increase=0.2)
    assert worst.expected_score == 1
    assert worst._replace(score=0.1, expected_increase=-0.2).expected_score == 0


def test_labels_are_drawn_with_their_probabilities():
    probabilities = np.tile([[0.2, 0.0, 0.5, 0.3]], (20_000, 1))
    drawn = TrueClasses(probabilities).draw(np.random.default_rng(0))
    shares = np.bincount(drawn, minlength=4) / len(drawn)
    assert drawn.dtype == np.uint16
    assert shares[1] == 0
    np.testing.assert_allclose(shares, probabilities[0], atol=0.02)


def test_certain_labels_are_always_drawn():
    certain = np.eye(3)[[0, 1, 2, 2]]
    assert TrueClasses(certain).draw(np.random.default_rng(0)).tolist() == [0, 1, 2, 2]


def test_extra_trees_cut_at_random_and_forests_at_the_best_place():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = (rng.uniform(0, 1, 120) + 9 * y)[:, np.newaxis]  # a wide gap between the classes
    model = core.AutoClassifier(random_state=0, n_fits=2).fit(X, y)
    roots = {
        type(member).__name__: {float(nodes.threshold[0]) for nodes in member.trees_} for member in model.estimators_
    }
    assert all(0.9 < threshold < 9.1 for threshold in roots["ForestClassifier"])
    assert any(threshold < 0.9 or threshold > 9.1 for threshold in roots["ExtraTreesClassifier"])
