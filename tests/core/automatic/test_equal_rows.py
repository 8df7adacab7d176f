"""Labels of equal rows contradict an estimate of the noise that is too high."""

import numpy as np
import pytest
from scipy.stats import binom

import core
from core.automatic import decision
from core.automatic.equal_rows import EqualRows

N_ROWS, N_REPEATED = 150, 25


@pytest.fixture(scope="module")
def memory():
    """Return rows whose classes hardly follow from other rows, so that the votes seem to show noise, and their labels,
    all of them right. Some rows occur twice.
    """
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(N_ROWS, 4)).astype(float)
    y = np.where(rng.random(N_ROWS) < 0.35, X[:, 0] // 2, rng.integers(0, 3, N_ROWS)).astype(int)
    return np.r_[X, X[:N_REPEATED]], np.r_[y, y[:N_REPEATED]]


def fitted(X, y, **arguments):
    return core.AutoClassifier(random_state=0, n_fits=8).fit(X, y, **arguments)


def test_equal_rows_with_equal_labels_contradict_much_noise(memory):
    choice = fitted(*memory).choice_
    assert choice.noise_rate > 0.3
    assert choice.equal_rows.n_pairs >= N_REPEATED
    assert not choice.draws_labels
    agreeing, pairs = choice.equal_rows.n_agreeing, choice.equal_rows.n_pairs
    assert f"but {agreeing} of {pairs} pairs of rows with equal features have equal labels" in choice.reason()
    assert choice.to_json()["equal_rows"] == {"n_pairs": pairs, "n_agreeing": agreeing}


def test_without_the_check_labels_would_be_drawn(memory, monkeypatch):
    monkeypatch.setattr(decision, "contradicting_rows", lambda fit, noise: None)
    choice = fitted(*memory).choice_
    assert (choice.draws_labels, choice.equal_rows) == (True, None)


def test_wrong_labels_of_equal_rows_agree_with_much_noise(memory):
    X = memory[0]
    noisy = core.inject_noise(X[:, 0] // 2, {"kind": "uniform", "rate": 0.4}, random_state=0).labels
    choice = fitted(X, noisy).choice_
    assert (choice.draws_labels, choice.equal_rows) == (True, None)


@pytest.mark.parametrize("same", [(0.0, -0.0), (np.nan, -np.nan)])
def test_signs_of_zero_and_of_nan_do_not_make_rows_different(memory, same):
    X, y = memory
    X = np.c_[X, np.r_[np.full(N_ROWS, same[0]), np.full(N_REPEATED, same[1])]]
    assert fitted(X, y).choice_.equal_rows.n_pairs >= N_REPEATED


def test_pairs_of_rows_without_weight_do_not_count(memory):
    """Without the repeated rows, too few pairs are left."""
    X, y = memory
    weights = np.r_[np.ones(N_ROWS), np.zeros(N_REPEATED)]
    assert fitted(X, y, sample_weight=weights).choice_.equal_rows is None


def test_with_groups_nothing_is_checked(memory):
    X, y = memory
    choice = fitted(X, y, groups=np.r_[np.arange(N_ROWS), np.arange(N_REPEATED)]).choice_
    assert choice.equal_rows is None


@pytest.mark.parametrize("n_agreeing", [30, 24, 12])
def test_few_disagreements_are_those_of_a_binomial_test(memory, monkeypatch, n_agreeing):
    """30 pairs, whose labels differ with a probability that is set."""
    from core.automatic import equal_rows

    monkeypatch.setattr(equal_rows, "_agreements", lambda fit, classes: np.arange(30) < n_agreeing)
    monkeypatch.setattr(equal_rows, "smallest_disagreement", lambda noise: 0.42)
    choice = fitted(*memory).choice_
    p_value = binom.cdf(30 - n_agreeing, 30, 0.42)
    assert choice.equal_rows == (EqualRows(30, n_agreeing) if p_value < equal_rows.LEVEL else None)
