"""Estimation of transition matrices from class probabilities, compared with known noise."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

import core
from tests.core.noise.noisy_votes import draw_noisy_votes
from tests.shared_material import reference

UNEVEN = [[0.9, 0.1, 0.0], [0.15, 0.6, 0.25], [0.05, 0.15, 0.8]]
ONE_SIDED = [[0.7, 0.3], [0.0, 1.0]]


def uniform(rate, n_classes):
    return core.TransitionMatrix.uniform(rate, range(n_classes)).rows


@pytest.mark.parametrize("trained_on", ["clean labels", "noisy labels"])
@pytest.mark.parametrize(
    ("transition", "most_within_one"),
    [(UNEVEN, 0.9), (ONE_SIDED, 0.95), (uniform(0.3, 2), 0.9), (uniform(0.2, 6), 0.95)],
    ids=["uneven", "one sided", "two classes", "six classes"],
)
def test_standard_errors_cover_the_truth_as_often_as_they_should(transition, most_within_one, trained_on):
    distances, rate_distances = [], []
    for seed in range(20):
        votes = draw_noisy_votes(transition, 1500, seed)
        probabilities = (
            votes.probabilities if trained_on == "clean labels" else votes.probabilities @ np.asarray(transition)
        )
        estimate = core.estimate_transition(probabilities, votes.labels)
        possible = np.asarray(transition) > 0
        distances.append((np.abs(estimate.transition.rows - transition) / estimate.standard_error)[possible])
        rate_distances.append(
            abs(estimate.noise_rate - np.mean(votes.clean != votes.labels)) / estimate.noise_rate_error
        )
    assert 0.5 <= np.mean(np.array(distances) < 1) <= most_within_one
    assert np.mean(np.array(distances) < 2) >= 0.8
    assert 0.35 <= np.mean(np.array(rate_distances) < 1) <= 0.9
    assert np.mean(np.array(rate_distances) < 2) >= 0.7


def test_noise_rate_has_a_smaller_error_than_single_matrix_entries():
    votes = draw_noisy_votes(uniform(0.3, 3), 3000, 0)
    estimate = core.estimate_transition(votes.probabilities, votes.labels)
    assert estimate.noise_rate_error < 0.7 * estimate.standard_error[0, 0]
    assert estimate.standard_error[0, 0] == pytest.approx(np.sqrt(0.3 * 0.7 / 3000), rel=0.3)


def test_uniform_noise_leads_to_equal_off_diagonal_entries():
    votes = draw_noisy_votes(uniform(0.2, 4), 4000, 0)
    estimate = core.estimate_transition(votes.probabilities, votes.labels)
    off_diagonal = estimate.transition.rows[~np.eye(4, dtype=bool)]
    np.testing.assert_allclose(off_diagonal, off_diagonal[0], atol=1e-9)
    np.testing.assert_allclose(estimate.standard_error[0, 1], estimate.standard_error[0, 0] / 3)


def test_classes_that_are_harder_to_predict_are_not_estimated_as_noisier():
    rng = np.random.default_rng(0)
    votes = rng.dirichlet(np.full(4, 0.5), 6000)
    sharpened = (4 * votes + 1e-3) ** [1.0, 1.0, 6.0, 6.0]
    distributions = sharpened / sharpened.sum(axis=1, keepdims=True)
    clean = (rng.random((6000, 1)) >= distributions.cumsum(axis=1)[:, :-1]).sum(axis=1)
    labels = np.where(rng.random(6000) < 0.2, (clean + rng.integers(1, 4, 6000)) % 4, clean)
    estimate = core.estimate_transition(votes, labels)
    np.testing.assert_allclose(estimate.transition.rows, uniform(0.2, 4), atol=0.02)


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4])
def test_uniform_noise_is_estimated_despite_rows_that_are_hard_to_predict(rate):
    votes = draw_noisy_votes(uniform(rate, 5), 6000, 0, spread=3.0)
    estimate = core.estimate_transition(votes.probabilities, votes.labels)
    np.testing.assert_allclose(estimate.transition.rows, uniform(rate, 5), atol=0.035)
    assert np.mean(votes.probabilities.argmax(1) != votes.clean) > 0.15
    np.testing.assert_allclose(estimate.priors, np.bincount(votes.clean) / 6000, atol=4 * estimate.priors_error.max())


def test_priors_times_matrix_equal_the_label_distribution():
    votes = draw_noisy_votes(UNEVEN, 4000, 1)
    estimate = core.estimate_transition(votes.probabilities, votes.labels)
    np.testing.assert_allclose(estimate.priors @ estimate.transition.rows, np.bincount(votes.labels) / 4000, atol=0.01)


def test_reference_noise_is_estimated_from_certain_probabilities():
    for case in reference("noise.json")["pushforward"]:
        joint = np.round(40_000 * np.array(case["p"])[:, np.newaxis] * np.array(case["T"])).astype(int)
        clean, labels = (np.repeat(side.ravel(), joint.ravel()) for side in np.indices(joint.shape))
        estimate = core.estimate_transition(np.eye(len(joint))[clean], labels)
        np.testing.assert_allclose(estimate.transition.rows, case["T"], atol=0.01)
        np.testing.assert_allclose(estimate.priors, case["p"], atol=0.001)
        np.testing.assert_allclose(np.bincount(labels) / len(labels), case["p_noisy"], atol=0.001)


def test_order_of_rows_and_columns_does_not_matter():
    votes = draw_noisy_votes(UNEVEN, 1000, 2)
    rows, columns = np.random.default_rng(0).permutation(1000), np.array([2, 0, 1])
    original = core.estimate_transition(votes.probabilities, votes.labels)
    permuted = core.estimate_transition(votes.probabilities[rows][:, columns], votes.labels[rows], classes=columns)
    assert permuted.transition.classes.tolist() == [2, 0, 1]
    np.testing.assert_allclose(permuted.transition.rows, original.transition.rows[columns][:, columns], atol=1e-6)
    np.testing.assert_allclose(permuted.standard_error, original.standard_error[columns][:, columns], rtol=1e-3)


def test_rows_without_votes_are_ignored():
    votes = draw_noisy_votes(UNEVEN, 800, 3)
    with_missing = votes.probabilities.copy()
    with_missing[::4] = np.nan
    kept = np.arange(800) % 4 != 0
    partial = core.estimate_transition(with_missing, votes.labels)
    assert partial.transition == core.estimate_transition(votes.probabilities[kept], votes.labels[kept]).transition


def test_class_without_rows_requires_integer_labels_or_class_names():
    votes = draw_noisy_votes(uniform(0.1, 3), 300, 4)
    probabilities = np.pad(votes.probabilities, ((0, 0), (0, 1)))
    estimate = core.estimate_transition(probabilities, votes.labels)
    assert estimate.transition.classes.tolist() == [0, 1, 2, 3]
    assert estimate.priors[3] < 0.01
    names = np.array(["a", "b", "c", "d"])
    assert core.estimate_transition(probabilities, names[votes.labels], classes=names).transition.classes[3] == "d"
    with pytest.raises(core.InvalidInput, match=r"4 columns and y has 3 .*classes="):
        core.estimate_transition(probabilities, names[votes.labels])


def test_single_class_has_no_noise():
    estimate = core.estimate_transition(np.ones((5, 1)), ["only"] * 5)
    assert (estimate.transition.rows.tolist(), estimate.noise_rate, estimate.noise_rate_error) == ([[1.0]], 0.0, 0.0)
    assert np.isfinite(estimate.standard_error).all()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_standard_errors_are_at_most_one_half(n_classes):
    """The likelihood is nearly flat for a class of one row and for uninformative probabilities."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        labels = np.append(rng.integers(0, n_classes - 1, rng.integers(1, 6)), n_classes - 1)
        votes = rng.dirichlet(np.full(n_classes, 0.5), len(labels))
        estimate = core.estimate_transition(votes, labels, classes=range(n_classes))
        errors = np.r_[estimate.standard_error.ravel(), estimate.priors_error, estimate.noise_rate_error]
        assert ((errors >= 0) & (errors <= 0.5)).all()


HALVES = [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("probabilities", "y", "classes", "message"),
    [
        ([[0.5, 0.4], [0.5, 0.5]], [0, 1], None, "row 0 of probabilities sums to 0.9"),
        ([[1.5, -0.5], [0.5, 0.5]], [0, 1], None, "negative"),
        ([[np.inf, 0.5], [0.5, 0.5]], [0, 1], None, "infinite"),
        ([[0.5, np.nan], [0.5, 0.5]], [0, 1], None, "row 0 .* mixes NaN and numbers"),
        ([[np.nan, np.nan]] * 2, [0, 1], None, "all rows of probabilities are NaN"),
        (HALVES, [0, 1, 1], None, "2 rows and y has 3 labels"),
        ([0.5, 0.5], [0, 1], None, r"shape \(2,\)"),
        ([], [], None, r"shape \(0,\)"),
        ([["a", "b"]], [0], None, "not numbers"),
        (HALVES, ["a", "b"], ["a", "a"], "name each column once"),
        (HALVES, ["a", "c"], ["a", "b"], "'c'"),
        (HALVES, [0, 2], [0, 1], r"y contains 2, which is not one of the classes \[0, 1\]; name .* in classes=\.$"),
    ],
    ids=str,
)
def test_invalid_probabilities_are_refused(probabilities, y, classes, message):
    for function in (core.estimate_transition, core.rank_label_issues):
        with pytest.raises(core.InvalidInput, match=message):
            function(probabilities, y, classes)


@pytest.mark.parametrize("n_misspelled", [0, 1, 5])
def test_misspelled_labels_do_not_hide_the_noise_of_the_others(n_misspelled):
    """Even noise would replace as many labels by the misspelling as by the other class."""
    X, y = make_classification(1500, 10, n_informative=5, class_sep=1.0, flip_y=0, random_state=0)
    noisy = core.inject_noise(np.array(["no", "yes"])[y], {"kind": "uniform", "rate": 0.3}, random_state=0)
    labels = noisy.labels.astype("U4")
    labels[np.flatnonzero(labels == "yes")[:n_misspelled]] = "Yes"
    audit = core.audit_labels(X, labels, random_state=0)
    assert abs(audit.noise.noise_rate - noisy.flipped.mean()) < 0.05
    assert audit.issues.is_issue[noisy.flipped].mean() > 0.6


def test_a_class_without_labels_does_not_change_the_estimate():
    votes = draw_noisy_votes(uniform(0.3, 2), 800, 0, softness=6.0)
    without = core.estimate_transition(votes.probabilities, votes.labels)
    more = np.column_stack([votes.probabilities, np.zeros(800)])
    with_absent = core.estimate_transition(more, votes.labels, classes=[0, 1, 2])
    assert with_absent.noise_rate == pytest.approx(without.noise_rate, abs=0.01)
    assert with_absent.transition.rows[:2, 2].max() < 1e-3
