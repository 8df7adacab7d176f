"""Distribution of the clean class given the label alone."""

import numpy as np

from core.automatic.noise import SearchedNoise, true_class_probabilities
from core.noise.estimation import FittedNoise, fit_noise
from core.noise.label_probabilities import check_label_probabilities
from tests.core.noise.noisy_votes import draw_noisy_votes

UNEVEN = np.array([[0.9, 0.1, 0.0], [0.15, 0.6, 0.25], [0.05, 0.15, 0.8]])
#: No clean class has the last label.
WITHOUT_LAST_LABEL = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.5, 0.5, 0.0]])
PRIORS = np.array([0.5, 0.3, 0.2])


def noise_with(transition) -> FittedNoise:
    """Return the noise of rows of three classes, with another matrix and other shares of the classes."""
    votes = draw_noisy_votes(UNEVEN, 200, 0)
    fitted = fit_noise(check_label_probabilities(votes.probabilities, votes.labels, [0, 1, 2]))
    model = fitted.model._replace(transition=np.asarray(transition))
    return fitted._replace(model=model, estimate=fitted.estimate._replace(priors=PRIORS))


def test_it_is_the_share_of_each_clean_class_among_drawn_labels():
    generator = np.random.default_rng(0)
    clean = generator.choice(3, size=200_000, p=PRIORS)
    labels = (generator.random((len(clean), 1)) >= UNEVEN.cumsum(axis=1)[clean, :-1]).sum(axis=1)
    shares = [np.bincount(clean[labels == label], minlength=3) / np.sum(labels == label) for label in range(3)]
    np.testing.assert_allclose(noise_with(UNEVEN).model.posterior_of_labels(PRIORS), shares, atol=0.01)


def test_a_label_of_probability_zero_is_taken_to_be_right():
    posterior = noise_with(WITHOUT_LAST_LABEL).model.posterior_of_labels(PRIORS)
    np.testing.assert_array_equal(posterior[2], [0, 0, 1])
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)


def test_rows_without_votes_keep_a_label_of_probability_zero():
    noise = SearchedNoise(noise_with(WITHOUT_LAST_LABEL), np.arange(3))
    probabilities = true_class_probabilities(noise, np.full((2, 3), np.nan), np.array([2, 0]))
    np.testing.assert_array_equal(probabilities[0], [0, 0, 1])
    np.testing.assert_allclose(probabilities[1], noise.fitted.model.posterior_of_labels(PRIORS)[0])
