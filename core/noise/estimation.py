"""The transition matrix of label noise from out-of-sample class probabilities, with standard errors."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.noise.given_probabilities import GivenProbabilities, given_probabilities
from core.noise.latent_labels import FLOOR, OFFSET_PRECISION, LatentLabels, fit_latent_labels
from core.noise.transition import TransitionMatrix

#: Rows whose scores are held at a time.
_ROWS_AT_ONCE = 2**12
#: Rates below count as this one where they divide.
_LEAST_RATE = 1e-9


class TransitionEstimate(NamedTuple):
    """What is known of the noise; errors are standard errors of the numbers before them.

    They come from the curvature of the log-likelihood in the noise rates of the classes, the sharpness and the offsets
    together (outer products of the rows' scores), and for single cells from the multinomial spread of a clean class'
    wrong labels. Shrinkage towards simpler shapes of noise makes them smaller, to the share kept plus its own spread.
    They say what another draw of the labels would change, not what a wrong model of the probabilities does.
    """

    transition: TransitionMatrix
    standard_error: NDArray[np.float64]  # (clean, noisy)
    noise_rate: float  # share of the given labels that are wrong
    noise_rate_error: float
    priors: NDArray[np.float64]  # (class,), share of each clean class
    priors_error: NDArray[np.float64]  # (class,)


class FittedNoise(NamedTuple):
    """An estimate, the model behind it, and what it was fitted to."""

    estimate: TransitionEstimate
    model: LatentLabels
    given: GivenProbabilities


def estimate_transition(probabilities: ArrayLike, y: Any, classes: ArrayLike | None = None) -> TransitionEstimate:
    """Estimate P(given label | clean label) from labels y (row,) and class probabilities (row, class) that were made
    without a look at the row's own label: out-of-bag votes, or predictions on folds held out.

    Columns are in the order of `classes` (class,); without it, of the sorted distinct labels, or of the numbers
    0..K-1 where y holds such numbers only. A row that is NaN throughout had no votes and is passed over.
    The method is that of `core.noise.latent_labels`. Raises InvalidInput.
    """
    return fit_noise(given_probabilities(probabilities, y, classes)).estimate


def fit_noise(given: GivenProbabilities) -> FittedNoise:
    """`estimate_transition` with what it rests on."""
    probabilities, codes = given.probabilities[given.voted], given.codes[given.voted]
    model = fit_latent_labels(probabilities, codes)
    posterior = model.posterior(probabilities, codes)
    priors = posterior.mean(axis=0)
    rates = np.maximum(1.0 - np.diag(model.transition), _LEAST_RATE)
    covariance = _covariance_of_rates(model, probabilities, codes)
    common = 1.0 / max(float(np.linalg.pinv(covariance, hermitian=True).sum()), np.finfo(float).tiny)
    variances = _errors_squared(model, covariance, common, priors * len(codes))
    estimate = TransitionEstimate(
        TransitionMatrix.from_rows(model.transition, given.classes),
        np.sqrt(variances),
        float(1.0 - posterior[np.arange(len(codes)), codes].mean()) if len(given.classes) > 1 else 0.0,
        _error_of_rate(model, covariance, common, priors),
        priors,
        np.sqrt(priors * (1 - priors) / len(codes) + priors**2 * np.diag(variances) * (rates > _LEAST_RATE)),
    )
    return FittedNoise(estimate, model, given)


def _error_of_rate(
    model: LatentLabels, covariance: NDArray[np.float64], common: float, priors: NDArray[np.float64]
) -> float:
    """Of the mean of the classes' rates, weighted by `priors` (class,)."""
    if len(priors) == 1:
        return 0.0
    free = max(float(priors @ covariance @ priors) - common, 0.0)
    return float(np.sqrt(common + _with_spread(model.kept_rates, len(priors) - 1) * free))


def _covariance_of_rates(
    model: LatentLabels, probabilities: NDArray[np.float64], codes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Of the noise rates of clean classes, (class, class), with sharpness and offsets unknown as well."""
    n_classes = len(model.transition)
    information = np.diag(np.r_[np.full(n_classes, 1e-6), 4.0, np.full(n_classes, OFFSET_PRECISION)])
    slope = np.zeros(2 * n_classes + 1)
    for first in range(0, len(codes), _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        scores = _scores(model, probabilities[rows], codes[rows])
        information += scores.T @ scores
        slope += scores.sum(axis=0)
    # At a rate of zero the likelihood falls in a straight line: its slope, not its curvature, says how far it reaches.
    at_zero = np.flatnonzero((1.0 - np.diag(model.transition)) * len(codes) < 1)
    information[at_zero, at_zero] += slope[at_zero] ** 2
    return np.linalg.pinv(information, hermitian=True)[:n_classes, :n_classes]


def _scores(model: LatentLabels, probabilities: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Slopes of each row's log-likelihood, (row, parameter): rates (class), log sharpness, offsets (class)."""
    clean, posterior = model.clean_probabilities(probabilities), model.posterior(probabilities, codes)
    rates = np.maximum(1.0 - np.diag(model.transition), _LEAST_RATE)
    slopes = _pattern(model.transition)
    np.fill_diagonal(slopes, -1.0)
    of_label = (clean * model.transition.T[codes]).sum(axis=1, keepdims=True)
    of_rates = clean * slopes.T[codes] / of_label
    of_offsets = posterior - clean
    of_sharpness = model.sharpness * (of_offsets * np.log(probabilities + FLOOR)).sum(axis=1, keepdims=True)
    return np.hstack([of_rates * (rates < 1), of_sharpness, of_offsets])


def _pattern(transition: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where the wrong labels of each clean class go, (clean, noisy); rows sum to 1, the diagonal is 0."""
    n_classes = len(transition)
    wrong = transition * ~np.eye(n_classes, dtype=bool)
    rates = wrong.sum(axis=1, keepdims=True)
    even = np.where(np.eye(n_classes, dtype=bool), 0.0, 1.0 / max(n_classes - 1, 1))
    return np.where(rates > _LEAST_RATE, wrong / np.maximum(rates, _LEAST_RATE), even)


def _errors_squared(
    model: LatentLabels, covariance: NDArray[np.float64], common: float, n_rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Variance of each cell (clean, noisy): of the common rate, and the kept shares of what richer shapes add."""
    n_classes = len(model.transition)
    if n_classes == 1:
        return np.zeros((1, 1))
    rates, pattern = 1.0 - np.diag(model.transition), _pattern(model.transition)
    kept_rates = _with_spread(model.kept_rates, n_classes - 1)
    of_rates = common + kept_rates * np.maximum(np.diag(covariance) - common, 0.0)
    n_wrong = np.maximum(n_rows * rates, 1.0)
    missing = np.diag(covariance) * n_rows / np.maximum(rates * (1 - rates), 1.0 / np.maximum(n_rows, 1.0))
    of_pattern = pattern * (1 - pattern) * (rates**2 * np.maximum(missing, 1.0) / n_wrong)[:, np.newaxis]
    if n_classes > 2:
        of_pattern *= _with_spread(model.kept_pattern, n_classes * (n_classes - 2))
    variances = pattern**2 * of_rates[:, np.newaxis] + of_pattern
    np.fill_diagonal(variances, of_rates)
    return variances


def _with_spread(kept: float, n_further: int) -> float:
    """The share kept and one standard deviation of it, as far as chance alone moves a chi-squared of `n_further`."""
    return min(1.0, kept + float(np.sqrt(2.0 / n_further)))
