"""From averaged votes to the distribution of the clean class, against differences and against what is drawn."""

import numpy as np
import pytest

from core.noise.calibration import Calibration, prior_calibration, prior_precision


def rows(n_rows=300, n_classes=3, seed=0):
    """Evidence and posteriors, (row, class) each."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_classes)), rng.dirichlet(np.ones(n_classes), n_rows)


def moved(calibration, step):
    half = len(step) // 2
    return Calibration(calibration.log_sharpness + step[:half], calibration.offsets + step[half:])


def reached(calibration, evidence, posterior):
    return (posterior * np.log(calibration.clean_probabilities(evidence))).sum(axis=1)


def test_gradients_match_finite_differences():
    evidence, posterior = rows()
    at = Calibration(np.array([0.2, 1.0, -0.5]), np.array([0.3, 0.0, -0.1]))
    gradient = at.gradient(evidence, posterior - at.clean_probabilities(evidence))
    for parameter, step in enumerate(1e-6 * np.eye(6)):
        differences = reached(moved(at, step), evidence, posterior) - reached(moved(at, -step), evidence, posterior)
        np.testing.assert_allclose(gradient[:, parameter], differences / 2e-6, atol=1e-6)


def test_steps_end_where_nothing_near_is_better():
    evidence, posterior = rows()
    found = prior_calibration(3)
    for _ in range(60):
        found = found.newton_step(evidence, found.clean_probabilities(evidence), posterior)
    best = reached(found, evidence, posterior).sum() + found.log_prior()
    for step in np.vstack([np.eye(6), -np.eye(6)]) * 1e-3:
        near = moved(found, step)
        assert reached(near, evidence, posterior).sum() + near.log_prior() < best


def test_what_votes_were_made_of_is_found_again():
    rng = np.random.default_rng(1)
    sharpness, evidence = np.array([4.0, 2.0, 3.0]), rng.normal(size=(20_000, 3))
    true = Calibration(np.log(sharpness), np.array([0.2, -0.2, 0.0]))
    classes = (rng.random((20_000, 1)) >= true.clean_probabilities(evidence).cumsum(axis=1)[:, :-1]).sum(axis=1)
    found = prior_calibration(3)
    for _ in range(60):
        found = found.newton_step(evidence, found.clean_probabilities(evidence), np.eye(3)[classes])
    np.testing.assert_allclose(np.exp(found.log_sharpness), sharpness, rtol=0.1)
    np.testing.assert_allclose(found.offsets - found.offsets.mean(), true.offsets, atol=0.06)


@pytest.mark.parametrize("n_classes", [1, 2, 7])
def test_the_prior_of_sharpness_is_one_for_all_and_one_for_each(n_classes):
    covariance = np.linalg.inv(prior_precision(n_classes))
    np.testing.assert_allclose(covariance[:n_classes, :n_classes], 0.25 * (np.eye(n_classes) + 1))
    np.testing.assert_allclose(covariance[n_classes:, n_classes:], np.eye(n_classes) / 16)
