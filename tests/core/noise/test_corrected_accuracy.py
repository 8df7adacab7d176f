"""Accuracy on the true labels from noisy ones: algebra, unbiasedness, standard errors, and refusals."""

import numpy as np
import pytest

import core
from core.noise.corrected_accuracy import assisted_accuracy
from core.noise.estimation import fit_noise
from core.noise.label_probabilities import check_label_probabilities
from tests.core.noise.noisy_votes import draw_noisy_votes

UNEVEN = np.array([[0.8, 0.15, 0.05], [0.1, 0.9, 0.0], [0.2, 0.2, 0.6]])


def predictions(clean, rng, accuracy=0.85):
    """Return predicted class numbers, wrong ones one class higher."""
    return np.where(rng.random(len(clean)) < accuracy, clean, (clean + 1) % 3)


def draw(n_rows, seed):
    rng = np.random.default_rng(seed)
    clean = rng.choice(3, n_rows, p=[0.5, 0.3, 0.2])
    noisy = (rng.random((n_rows, 1)) > np.cumsum(UNEVEN, axis=1)[clean]).sum(axis=1)
    return clean, noisy, predictions(clean, rng)


def test_it_is_the_mean_backward_corrected_loss():
    _, noisy, predicted = draw(500, 0)
    zero_one = (np.arange(3)[:, np.newaxis] != np.arange(3)).astype(float)  # (predicted, clean)
    losses = [np.linalg.inv(UNEVEN)[b] @ zero_one[t] for b, t in zip(noisy, predicted, strict=True)]
    result = core.corrected_accuracy(noisy, predicted, UNEVEN)
    assert result.accuracy == pytest.approx(1 - np.mean(losses), abs=1e-12)
    assert result.standard_error == pytest.approx(np.std(losses) / np.sqrt(500), abs=1e-12)


def test_labels_without_noise_give_plain_accuracies():
    clean, _, predicted = draw(400, 1)
    result = core.corrected_accuracy(clean, predicted, np.eye(3))
    right = clean == predicted
    assert result.accuracy == pytest.approx(right.mean())
    np.testing.assert_allclose(result.class_errors, [1 - right[clean == k].mean() for k in range(3)])
    share = right.mean()
    assert result.standard_error == pytest.approx(np.sqrt(share * (1 - share) / 400))


def test_estimates_are_unbiased_and_errors_are_the_deviations_between_draws():
    results = [core.corrected_accuracy(*draw(600, seed)[1:], UNEVEN) for seed in range(300)]
    accuracies = np.array([result.accuracy for result in results])
    assert accuracies.mean() == pytest.approx(0.85, abs=0.005)
    assert np.mean([r.standard_error for r in results]) == pytest.approx(accuracies.std(), rel=0.1)
    class_errors = np.array([result.class_errors for result in results])
    np.testing.assert_allclose(class_errors.mean(axis=0), 0.15, atol=0.01)
    stated = np.mean([result.class_standard_errors for result in results], axis=0)
    np.testing.assert_allclose(stated, class_errors.std(axis=0), rtol=0.2)


def test_text_labels_follow_the_named_or_sorted_classes():
    _, noisy, predicted = draw(300, 2)
    names = np.array(["ant", "bee", "cow"])
    expected = core.corrected_accuracy(noisy, predicted, UNEVEN)
    order = [2, 0, 1]
    named = core.TransitionMatrix.from_rows(UNEVEN[np.ix_(order, order)], names[order])
    for matrix in (UNEVEN, core.TransitionMatrix.from_rows(UNEVEN, names), named):
        result = core.corrected_accuracy(names[noisy], names[predicted], matrix)
        assert result.accuracy == pytest.approx(expected.accuracy)


def test_an_estimated_matrix_adds_to_the_standard_error():
    votes = draw_noisy_votes(UNEVEN, 1500, 3)
    estimate = core.estimate_transition(votes.probabilities, votes.labels)
    predicted = predictions(votes.clean, np.random.default_rng(3))
    given = core.corrected_accuracy(votes.labels, predicted, estimate.transition)
    estimated = core.corrected_accuracy(votes.labels, predicted, estimate)
    assert estimated.accuracy == given.accuracy
    assert estimated.standard_error > 1.02 * given.standard_error


def test_the_delta_method_has_the_gradient_of_the_accuracy():
    _, noisy, predicted = draw(2000, 4)
    plain = core.corrected_accuracy(noisy, predicted, UNEVEN)
    step = 1e-4
    for k in range(3):
        moved = UNEVEN.copy()
        pattern = UNEVEN[k] / (1 - UNEVEN[k, k])
        moved[k] += step * pattern
        moved[k, k] = UNEVEN[k, k] - step
        slope = (core.corrected_accuracy(noisy, predicted, moved).accuracy - plain.accuracy) / step
        covariance = np.zeros((3, 3))
        covariance[k, k] = 0.04**2
        errors = np.zeros((3, 3))
        estimate = core.TransitionEstimate(
            core.TransitionMatrix.from_rows(UNEVEN), errors, 0.2, 0.0, np.full(3, 1 / 3), np.zeros(3), covariance
        )
        with_error = core.corrected_accuracy(noisy, predicted, estimate).standard_error
        added = np.sqrt(with_error**2 - plain.standard_error**2)
        assert added == pytest.approx(abs(slope) * 0.04, rel=0.01)


@pytest.mark.parametrize("is_given", [True, False])
def test_votes_make_the_estimate_more_precise_and_intervals_hold_the_truth(is_given):
    distances, errors, alone = [], [], []
    for seed in range(25):
        votes = draw_noisy_votes(UNEVEN, 800, seed)
        rows = check_label_probabilities(votes.probabilities, votes.labels, np.arange(3))
        noise = fit_noise(rows, given=core.TransitionMatrix.from_rows(UNEVEN) if is_given else None)
        blurred = np.random.default_rng(seed).normal(size=(800, 3)) / 2 + np.log(votes.probabilities)
        predicted = blurred.argmax(axis=1)
        result = assisted_accuracy(noise, votes.probabilities, votes.labels, predicted)
        true = np.mean(predicted == votes.clean)
        distances.append(abs(result.accuracy - true))
        errors.append(result.standard_error)
        alone.append(abs(core.corrected_accuracy(votes.labels, predicted, noise.estimate).accuracy - true))
    assert np.mean(distances) < 0.9 * np.mean(alone)
    assert np.mean(np.array(distances) < 1.96 * np.array(errors)) > 0.85


def test_a_class_without_rows_has_no_error():
    result = core.corrected_accuracy([0, 1, 0, 1], [0, 1, 1, 1], core.TransitionMatrix.from_rows(np.eye(3)))
    assert np.isnan(result.class_errors).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("labels", "predicted", "matrix", "error", "message"),
    [
        ([], [], np.eye(2), core.InvalidInput, "y_noisy has 0 labels"),
        ([0, 1], [0], np.eye(2), core.InvalidInput, "y_noisy has 2 labels and y_pred has 1"),
        ([0, 1], [0, 1], [[0.5, 0.5], [0.5, 0.5]], core.InvalidNoise, "condition number"),
        (["a", "b", "c"], ["a", "b", "c"], np.eye(2), core.InvalidNoise, "2 x 2 and the labels have 3 classes"),
    ],
)
def test_unusable_input_is_refused(labels, predicted, matrix, error, message):
    with pytest.raises(error, match=message):
        core.corrected_accuracy(labels, predicted, matrix)


def test_a_standard_error_is_at_most_that_of_a_share():
    labels, predicted = np.array([0, 1] * 5), np.array([1, 0, 1, 1] + [0, 1] * 3)
    result = core.corrected_accuracy(labels, predicted, core.TransitionMatrix.uniform(0.49, [0, 1]))
    assert result.standard_error <= 0.5
    assert result.class_standard_errors.max() <= 0.5
