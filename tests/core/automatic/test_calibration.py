"""Class probabilities of the automatic classifier: that they fit the true labels although the given ones are wrong."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import log_loss

import core
from core.artifact.state import estimator_state, rebuild
from core.automatic import search as search_module
from core.automatic.calibration import (
    FLOOR,
    MAX_POWER,
    MIN_POWER,
    LeftOutVotes,
    calibrate,
    calibration_of,
)

N_TRAIN = 600


@pytest.fixture(scope="module")
def table():
    return make_classification(1600, 8, n_informative=5, n_classes=3, class_sep=1.5, random_state=0)


def labels_with_noise(y, rate):
    return core.inject_noise(y, {"kind": "uniform", "rate": rate}, random_state=0).labels if rate else y


@pytest.fixture(scope="module", params=[0.0, 0.2, 0.4])
def fitted(request, table):
    X, y = table
    return core.AutoClassifier(random_state=0, n_fits=4).fit(X[:N_TRAIN], labels_with_noise(y[:N_TRAIN], request.param))


def flat(model):
    """Return the model with the votes as its probabilities."""
    state = estimator_state(model, None)
    choice = {**state.metadata["choice"], "calibration": None}
    return rebuild(state._replace(metadata={**state.metadata, "choice": choice}))


def test_true_labels_are_more_likely_than_by_the_votes(fitted, table):
    X, y = table[0][N_TRAIN:], table[1][N_TRAIN:]
    assert log_loss(y, fitted.predict_proba(X)) < log_loss(y, flat(fitted).predict_proba(X)) - 0.02


def test_mean_probability_of_the_predicted_class_is_closer_to_the_accuracy(fitted, table):
    X, y = table[0][N_TRAIN:], table[1][N_TRAIN:]
    error, error_of_votes = (
        abs(model.predict_proba(X).max(axis=1).mean() - fitted.score(X, y)) for model in (fitted, flat(fitted))
    )
    assert error < min(0.15, error_of_votes)


def test_the_predicted_class_is_that_of_the_votes(fitted, table):
    np.testing.assert_array_equal(fitted.predict(table[0]), flat(fitted).predict(table[0]))


def test_less_noise_is_assumed_than_estimated(fitted):
    choice = fitted.choice_
    lower = choice.noise_rate - 2 * choice.noise_rate_error
    assert choice.calibration.noise_rate == pytest.approx(max(0.0, lower))
    assert choice.to_json()["calibration"] == choice.calibration._asdict()
    whose = "the true class, assuming that" if lower > 0 else "the given label"
    assert f"Class probabilities are those of {whose}" in fitted.explain()


def test_with_class_weights_probabilities_are_those_of_the_given_label(table):
    X, y = table[0][:N_TRAIN], labels_with_noise(table[1][:N_TRAIN], 0.4)
    model = core.AutoClassifier(random_state=0, n_fits=2, class_weight="balanced").fit(X, y)
    assert model.choice_.calibration.noise_rate == 0.0
    assert "those of the given label" in model.explain()


def test_rows_of_a_searched_part_decide(monkeypatch, table):
    X, y = table[0], labels_with_noise(table[1], 0.2)
    monkeypatch.setattr(search_module, "MAX_SEARCH_ROWS", 500)
    model = core.AutoClassifier(random_state=0, n_fits=2, n_jobs=2).fit(X[:1200], y[:1200])
    rest, truth = X[1200:], table[1][1200:]
    assert log_loss(truth, model.predict_proba(rest)) < log_loss(truth, flat(model).predict_proba(rest)) - 0.02


def test_many_classes_have_no_impossible_class():
    X, y = load_digits(return_X_y=True)
    model = core.AutoClassifier(random_state=0, n_fits=4).fit(X[:600], y[:600])
    probabilities = model.predict_proba(X[600:])
    assert probabilities.min() > 0
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert log_loss(y[600:], probabilities) < 0.35


def test_one_class_and_few_rows_are_calibrated_as_well():
    rng = np.random.default_rng(0)
    one = core.AutoClassifier(random_state=0, n_fits=1).fit(rng.normal(size=(30, 2)), np.zeros(30))
    assert one.predict_proba(np.zeros((2, 2))).tolist() == [[1.0], [1.0]]
    single = core.AutoClassifier(random_state=0, n_fits=1).fit([[0.0], [1.0]], [0, 1])
    np.testing.assert_allclose(single.predict_proba([[0.0], [1.0]]).sum(axis=1), 1.0)


@pytest.mark.parametrize("power", [0.25, 1.0, 3.0])
def test_calibration_keeps_the_order_and_sums_to_one(power):
    votes = np.random.default_rng(0).normal(0.3, 0.5, (50, 4))
    votes[:, 0] = 1.0
    before = votes.copy()
    probabilities = calibrate(votes, power)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), before.argmax(axis=1))
    shares = np.maximum(before, 0) / np.maximum(before, 0).sum(axis=1, keepdims=True)
    ratios = ((shares + FLOOR) / (shares[:, :1] + FLOOR)) ** power
    np.testing.assert_allclose(probabilities / probabilities[:, :1], ratios)


def test_a_row_without_a_positive_vote_is_uniform():
    assert calibrate(np.array([[-1.0, 0.0]]), 2.0).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    "entry",
    [
        [0.0, 0.1],
        [-1.0, 0.1],
        [MIN_POWER / 2, 0.0],
        [2 * MAX_POWER, 0.0],
        [True, 0.0],
        [1.0, 0.99],
        [1.0],
        ["1", 0.0],
        1,
    ],
    ids=str,
)
def test_a_file_with_an_impossible_calibration_is_refused(fitted, entry):
    state = estimator_state(fitted, None)
    choice = {**state.metadata["choice"], "calibration": entry}
    with pytest.raises(core.ArtifactError):
        rebuild(state._replace(metadata={**state.metadata, "choice": choice}))


def test_a_file_with_noise_that_was_not_estimated_is_refused(fitted):
    state = estimator_state(fitted, None)
    none = {"noise_rate": None, "noise_rate_error": None, "noise_asymmetry": None, "not_estimated": "few_rows"}
    choice = {**state.metadata["choice"], **none, "is_identified": False, "draws_labels": False, "equal_rows": None}
    rebuild(state._replace(metadata={**state.metadata, "choice": {**choice, "calibration": [2.0, 0.0]}}))
    with pytest.raises(core.ArtifactError, match="more noise"):
        rebuild(state._replace(metadata={**state.metadata, "choice": {**choice, "calibration": [2.0, 0.1]}}))


def test_older_models_say_that_their_votes_are_not_calibrated(fitted):
    assert "Class probabilities are mean votes, which are not calibrated." in flat(fitted).explain()


def test_votes_are_the_probabilities_before_the_calibration(fitted, table):
    X = table[0][:50]
    votes = fitted.predict_votes(X)
    np.testing.assert_array_equal(votes, flat(fitted).predict_proba(X))
    np.testing.assert_allclose(calibrate(votes, fitted.choice_.calibration.power), fitted.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_labels_that_the_features_do_not_predict_have_even_probabilities(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 5)), rng.integers(0, n_classes, 1000)
    probabilities = core.AutoClassifier(random_state=0, n_fits=4).fit(X, y).predict_proba(rng.normal(size=(500, 5)))
    assert probabilities.max(axis=1).mean() < 1 / n_classes + 0.15


def test_without_a_regression_the_power_is_the_best_on_new_rows(table):
    X, y = make_classification(6000, 8, n_informative=4, n_redundant=0, flip_y=0, class_sep=0.5, random_state=1)
    model = core.AutoClassifier(random_state=0, n_fits=4).fit(X[:2000], y[:2000], groups=np.arange(2000))
    assert model.kernel_ridge_ is None
    votes, powers = flat(model).predict_proba(X[2000:]), 2.0 ** (np.arange(-8, 13) / 4)
    losses = [log_loss(y[2000:], calibrate(votes.copy(), power)) for power in powers]
    assert log_loss(y[2000:], model.predict_proba(X[2000:])) < min(losses) + 0.01


def small_fit(codes, weights, n_classes):
    """Return what `calibration_of` reads of a fit."""
    labels = SimpleNamespace(codes=codes, classes=np.arange(n_classes))
    monitor = SimpleNamespace(stop_flag=np.zeros(1, dtype=np.uint8))
    return SimpleNamespace(data=SimpleNamespace(labels=labels, weights=weights), monitor=monitor)


def noise_of(transition, noise_rate, error):
    rows = SimpleNamespace(transition=SimpleNamespace(rows=np.array(transition)))
    estimate = SimpleNamespace(noise_rate=noise_rate, noise_rate_error=error, **vars(rows))
    return SimpleNamespace(fitted=SimpleNamespace(estimate=estimate), classes=np.arange(len(transition)))


def drawn_rows(transition, power, n_rows=20_000):
    """Return votes, and labels drawn from the probabilities that follow from them by `power` and the noise."""
    rng = np.random.default_rng(0)
    votes = rng.dirichlet([1.0, 1.0, 1.0], n_rows)
    truth = (rng.random((n_rows, 1)) > np.cumsum(calibrate(votes.copy(), power), axis=1)).sum(axis=1)
    cumulative = np.cumsum(np.array(transition)[truth], axis=1)
    return votes, (rng.random((n_rows, 1)) > cumulative).sum(axis=1).clip(max=2)


ONE_SIDED = [[0.6, 0.4, 0.0], [0.0, 0.9, 0.1], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0, 4.0])
def test_the_power_that_labels_were_drawn_with_is_found_through_one_sided_noise(power):
    votes, codes = drawn_rows(ONE_SIDED, power)
    fit = small_fit(codes, np.ones(len(codes)), 3)
    found = calibration_of(fit, LeftOutVotes(votes, None), noise_of(ONE_SIDED, 0.17, 0.0))
    assert found == (power, 0.17)
    transposed = calibration_of(fit, LeftOutVotes(votes, None), noise_of(np.transpose(ONE_SIDED), 0.17, 0.0))
    assert transposed.power != power


def test_rows_count_by_their_weights_and_rows_without_votes_do_not():
    votes, codes = drawn_rows(np.eye(3), 1.0, 300)
    confident, wrong = np.full((300, 3), [0.9, 0.05, 0.05]), np.ones(300, dtype=int)
    both, labels = np.concatenate([votes, confident]), np.concatenate([codes, wrong])

    def power(rows, codes, weights):
        return calibration_of(small_fit(codes, weights, 3), LeftOutVotes(rows, None), None).power

    alone = power(votes, codes, np.ones(300))
    assert power(both, labels, np.ones(600)) < alone
    assert power(both, labels, np.r_[np.ones(300), np.full(300, 1e-9)]) == pytest.approx(alone, rel=0.5)
    assert power(np.where(np.arange(600)[:, np.newaxis] < 300, both, np.nan), labels, np.ones(600)) == alone


def test_votes_that_know_the_labels_are_not_more_confident_than_the_others_are_accurate():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 2000)
    knowing, ignorant = np.full((2000, 2), 0.3), rng.dirichlet([5.0, 5.0], 2000)
    knowing[np.arange(2000), codes] = 0.7
    fit, noise = small_fit(codes, np.ones(2000), 2), noise_of([[0.7, 0.3], [0.3, 0.7]], 0.3, 0.0)
    free = calibration_of(fit, LeftOutVotes(knowing, None), noise).power
    bounded = calibration_of(fit, LeftOutVotes(knowing, ignorant), noise).power
    assert calibrate(knowing.copy(), free).max(axis=1).mean() > 0.9
    assert calibrate(knowing.copy(), bounded).max(axis=1).mean() < 0.6
