"""Class probabilities of the automatic classifier: that they fit the true labels although the given ones are wrong."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import log_loss

import core
from core.artifact.state import estimator_state, rebuild
from core.automatic import search as search_module
from core.automatic.sharpness import FLOOR, MAX_POWER, sharpen

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
    choice = {**state.metadata["choice"], "sharpness": None}
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
    assert choice.sharpness.noise_rate == pytest.approx(max(0.0, lower))
    assert choice.to_json()["sharpness"] == choice.sharpness._asdict()
    whose = "the true class if" if lower > 0 else "the given label."
    assert f"Class probabilities are those of {whose}" in fitted.explain()


def test_with_class_weights_probabilities_are_those_of_the_given_label(table):
    X, y = table[0][:N_TRAIN], labels_with_noise(table[1][:N_TRAIN], 0.4)
    model = core.AutoClassifier(random_state=0, n_fits=2, class_weight="balanced").fit(X, y)
    assert model.choice_.sharpness.noise_rate == 0.0
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


def test_one_class_and_few_rows_are_sharpened_as_well():
    rng = np.random.default_rng(0)
    one = core.AutoClassifier(random_state=0, n_fits=1).fit(rng.normal(size=(30, 2)), np.zeros(30))
    assert one.predict_proba(np.zeros((2, 2))).tolist() == [[1.0], [1.0]]
    single = core.AutoClassifier(random_state=0, n_fits=1).fit([[0.0], [1.0]], [0, 1])
    np.testing.assert_allclose(single.predict_proba([[0.0], [1.0]]).sum(axis=1), 1.0)


@pytest.mark.parametrize("power", [0.25, 1.0, 3.0])
def test_sharpening_keeps_the_order_and_sums_to_one(power):
    votes = np.random.default_rng(0).normal(0.3, 0.5, (50, 4))
    votes[:, 0] = 1.0
    before = votes.copy()
    sharp = sharpen(votes, power)
    np.testing.assert_allclose(sharp.sum(axis=1), 1.0)
    np.testing.assert_array_equal(sharp.argmax(axis=1), before.argmax(axis=1))
    shares = np.maximum(before, 0) / np.maximum(before, 0).sum(axis=1, keepdims=True)
    ratios = ((shares + FLOOR) / (shares[:, :1] + FLOOR)) ** power
    np.testing.assert_allclose(sharp / sharp[:, :1], ratios)


def test_a_row_without_a_positive_vote_is_uniform():
    assert sharpen(np.array([[-1.0, 0.0]]), 2.0).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    "entry", [[0.0, 0.1], [-1.0, 0.1], [2 * MAX_POWER, 0.1], [True, 0.1], [1.0, 1.5], [1.0], ["1", 0.1], 1], ids=str
)
def test_a_file_with_an_impossible_sharpness_is_refused(fitted, entry):
    state = estimator_state(fitted, None)
    choice = {**state.metadata["choice"], "sharpness": entry}
    with pytest.raises(core.ArtifactError):
        rebuild(state._replace(metadata={**state.metadata, "choice": choice}))
