"""Misfit of the model of the noise: seen for errors on hard rows, not for class-conditional noise."""

import numpy as np
import pytest

import core
from core.noise.misfit import NO_MISFIT, Misfit
from tests.core.noise.noisy_votes import draw_noisy_votes
from tests.core.noise.test_noise_estimation import UNEVEN, uniform


def errors_on_hard_rows(n_rows, seed=0):
    """Return votes with labels that are the second best class in half of the rows without a clear winner."""
    votes = draw_noisy_votes(np.eye(4), n_rows, seed)
    ranked = np.argsort(-votes.probabilities, axis=1)
    best = np.take_along_axis(votes.probabilities, ranked[:, :1], axis=1)[:, 0]
    is_hit = (best < 0.6) & (np.random.default_rng(seed).random(n_rows) < 0.5)
    other = np.where(ranked[:, 0] == votes.clean, ranked[:, 1], ranked[:, 0])
    far = np.random.default_rng(seed + 1).random(n_rows) < 0.02
    labels = np.where(is_hit, other, votes.clean)
    return votes, np.where(far, (labels + 1) % 4, labels)


@pytest.mark.parametrize("transition", [uniform(0.2, 4), UNEVEN])
def test_class_conditional_noise_has_no_misfit(transition):
    excesses = []
    for seed in range(10):
        votes = draw_noisy_votes(transition, 3000, seed)
        excesses.append(core.estimate_transition(votes.probabilities, votes.labels).misfit.excess)
    assert np.count_nonzero(excesses) <= 1


def test_misfit_widens_errors_and_shrinks_qualities_to_their_mean():
    misfit = Misfit(4.0, 0.5)
    quality = np.array([0.001, 0.3, 0.8, 0.999])
    shrunk = misfit.shrunk(quality, 0.8)
    assert np.all(np.diff(shrunk) > 0)
    assert shrunk[2] == pytest.approx(0.8)
    assert shrunk[0] > 0.005
    assert shrunk[3] < 0.997
    assert misfit.variance_factor == 4.0
    assert NO_MISFIT.variance_factor == 1.0
    assert NO_MISFIT.shrunk(quality, 0.8) is quality


def test_errors_on_hard_rows_are_seen():
    votes, labels = errors_on_hard_rows(20_000)
    estimate = core.estimate_transition(votes.probabilities, labels)
    assert estimate.misfit.dispersion > 3
    assert estimate.misfit.excess > 0.3


def test_a_table_of_few_rows_is_not_tested():
    votes = draw_noisy_votes(uniform(0.2, 3), 15, 0)
    assert core.estimate_transition(votes.probabilities, votes.labels).misfit.excess == 0.0
