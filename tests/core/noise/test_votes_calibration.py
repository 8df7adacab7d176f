"""Calibration of averaged votes to class distributions, compared with finite differences and simulated labels."""

import numpy as np
import pytest

from core.noise.calibration import Calibration, prior_calibration, prior_precision


def rows(n_rows=300, n_classes=3, seed=0):
    """Return evidence and posteriors, each of shape (row, class)."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_classes)), rng.dirichlet(np.ones(n_classes), n_rows)


def shifted(calibration, step):
    half = len(step) // 2
    return Calibration(calibration.log_sharpness + step[:half], calibration.offsets + step[half:])


def log_likelihood(calibration, evidence, posterior):
    return (posterior * np.log(calibration.clean_probabilities(evidence))).sum(axis=1)


def test_gradients_match_finite_differences():
    evidence, posterior = rows()
    calibration = Calibration(np.array([0.2, 1.0, -0.5]), np.array([0.3, 0.0, -0.1]))
    gradient = calibration.gradient(evidence, posterior - calibration.clean_probabilities(evidence))
    for parameter, step in enumerate(1e-6 * np.eye(6)):
        above, below = (log_likelihood(shifted(calibration, s), evidence, posterior) for s in (step, -step))
        np.testing.assert_allclose(gradient[:, parameter], (above - below) / 2e-6, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3, 12])
def test_newton_steps_converge_to_a_local_maximum(n_classes):
    evidence, posterior = rows(n_classes=n_classes)
    fitted = prior_calibration(n_classes)
    for _ in range(60):
        fitted = fitted.newton_step(evidence, fitted.clean_probabilities(evidence), posterior)
    maximum = log_likelihood(fitted, evidence, posterior).sum() + fitted.log_prior()
    parameters = np.eye(2 * n_classes)
    for step in np.vstack([parameters, -parameters]) * 1e-3:
        neighbor = shifted(fitted, step)
        assert log_likelihood(neighbor, evidence, posterior).sum() + neighbor.log_prior() < maximum


def test_true_calibration_is_recovered():
    rng = np.random.default_rng(1)
    sharpness, evidence = np.array([4.0, 2.0, 3.0]), rng.normal(size=(20_000, 3))
    true = Calibration(np.log(sharpness), np.array([0.2, -0.2, 0.0]))
    classes = (rng.random((20_000, 1)) >= true.clean_probabilities(evidence).cumsum(axis=1)[:, :-1]).sum(axis=1)
    fitted = prior_calibration(3)
    for _ in range(60):
        fitted = fitted.newton_step(evidence, fitted.clean_probabilities(evidence), np.eye(3)[classes])
    np.testing.assert_allclose(np.exp(fitted.log_sharpness), sharpness, rtol=0.1)
    np.testing.assert_allclose(fitted.offsets - fitted.offsets.mean(), true.offsets, atol=0.06)


@pytest.mark.parametrize("n_classes", [1, 2, 7])
def test_prior_covariance_of_sharpness_has_a_shared_and_a_class_part(n_classes):
    covariance = np.linalg.inv(prior_precision(n_classes))
    np.testing.assert_allclose(covariance[:n_classes, :n_classes], 0.25 * (np.eye(n_classes) + 1))
    np.testing.assert_allclose(covariance[n_classes:, n_classes:], np.eye(n_classes) / 16)
