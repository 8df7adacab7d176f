"""The transition matrix of label noise from out-of-sample class probabilities, with standard errors."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.noise.calibration import prior_precision
from core.noise.given_probabilities import GivenProbabilities, given_probabilities
from core.noise.latent_labels import LatentLabels, fit_latent_labels
from core.noise.noise_models import pattern_of, rates_of
from core.noise.transition import TransitionMatrix

#: Rows whose scores are held at a time.
_ROWS_AT_ONCE = 2**12
#: A number in 0..1 is never off by more on average than if it were 0 or 1 by the toss of a coin.
_MOST_ERROR_OF_SHARE = 0.5


class TransitionEstimate(NamedTuple):
    """What is known of the noise; errors are standard errors of the numbers before them.

    The truth that the matrix and the priors are meant to meet is what labels are drawn with, that of `noise_rate` the
    share of these very labels that are wrong, which is known better. The errors come from the curvature of the
    log-likelihood in the noise rates of the classes and the calibration together (outer products of the rows' scores),
    and for single cells also from the multinomial spread of a clean class' wrong labels. Of what a richer shape of
    noise adds, the error counts to the share kept, with the error of that share. They say what another draw of the
    labels would change, not what a wrong model of the probabilities does. All are of shares, and 0.5 at most: where the
    likelihood is all but flat, as for a class of one row, its curvature alone would give many times the range.
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


def fit_noise(given: GivenProbabilities, stop_flag: NDArray[np.uint8] | None = None) -> FittedNoise:
    """`estimate_transition` with what it rests on. Raises FitStopped when `stop_flag` (1,) is set."""
    probabilities, codes = given.probabilities[given.voted], given.codes[given.voted]
    model = fit_latent_labels(probabilities, codes, stop_flag)
    posterior = model.posterior(probabilities, codes)
    priors, right = posterior.mean(axis=0), posterior[np.arange(len(codes)), codes]
    slopes = _summed_slopes(model, probabilities, codes)
    covariance = _covariance(model, slopes, len(codes))
    variances = _variances(model, covariance, priors * len(codes))
    of_share = slopes.of_share / len(codes)
    estimate = TransitionEstimate(
        TransitionMatrix.from_rows(model.transition, given.classes),
        _error_of_share(variances),
        float(1.0 - right.mean()),
        float(_error_of_share((right * (1 - right)).mean() / len(codes) + of_share @ covariance @ of_share)),
        priors,
        _error_of_share(priors * (1 - priors) / len(codes) + priors**2 * np.diag(variances)),
    )
    return FittedNoise(estimate, model, given)


def _error_of_share(variance: Any) -> Any:
    return np.minimum(np.sqrt(variance), _MOST_ERROR_OF_SHARE)


class _Slopes(NamedTuple):
    """Sums over rows; parameters are the rates of clean classes, the logarithms of their sharpness and offsets."""

    products: NDArray[np.float64]  # (parameter, parameter), of the rows' slopes of log-likelihood
    of_likelihood: NDArray[np.float64]  # (parameter,)
    of_share: NDArray[np.float64]  # (parameter,), of the probability that the label is wrong


def _summed_slopes(model: LatentLabels, probabilities: NDArray[np.float64], codes: NDArray[np.int64]) -> _Slopes:
    n_parameters = 3 * len(model.transition)
    sums = _Slopes(np.zeros((n_parameters, n_parameters)), np.zeros(n_parameters), np.zeros(n_parameters))
    for first in range(0, len(codes), _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        of_likelihood, of_share = _slopes(model, probabilities[rows], codes[rows])
        sums.products[:] += of_likelihood.T @ of_likelihood
        sums.of_likelihood[:] += of_likelihood.sum(axis=0)
        sums.of_share[:] += of_share.sum(axis=0)
    return sums


def _slopes(
    model: LatentLabels, probabilities: NDArray[np.float64], codes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each row's log-likelihood and of the probability that its label is wrong, (row, parameter) each."""
    clean, posterior = model.clean_probabilities(probabilities), model.posterior(probabilities, codes)
    evidence = model.evidence(probabilities)
    further = pattern_of(model.transition)
    np.fill_diagonal(further, -1.0)
    of_labels = (further / np.maximum(model.transition, np.finfo(float).tiny)).T[codes]
    right = np.take_along_axis(posterior, codes[:, np.newaxis], axis=1)
    towards_others = right * posterior
    np.put_along_axis(towards_others, codes[:, np.newaxis], right * (right - 1), axis=1)
    return (
        np.hstack([posterior * of_labels, model.calibration.slopes(evidence, posterior - clean)]),
        np.hstack([towards_others * of_labels, model.calibration.slopes(evidence, towards_others)]),
    )


def _covariance(model: LatentLabels, slopes: _Slopes, n_rows: int) -> NDArray[np.float64]:
    """Of all parameters, (parameter, parameter): of a rate common to all classes, and the kept share of their own."""
    n_classes = len(model.transition)
    information = slopes.products + np.diag(np.r_[np.full(n_classes, 1e-6), np.zeros(2 * n_classes)])
    information[n_classes:, n_classes:] += prior_precision(n_classes)
    # At a rate of zero the likelihood falls in a straight line: its slope, not its curvature, says how far it reaches.
    at_zero = np.flatnonzero(rates_of(model.transition) * n_rows < 1)
    information[at_zero, at_zero] += slopes.of_likelihood[at_zero] ** 2
    in_common = np.eye(3 * n_classes)[:, n_classes - 1 :]
    in_common[:n_classes, 0] = 1.0
    common = in_common @ np.linalg.pinv(in_common.T @ information @ in_common, hermitian=True) @ in_common.T
    own = np.linalg.pinv(information, hermitian=True)
    covariance = common + model.rates.kept * (own - common)
    of_kept = model.rates.kept_error * model.rates.difference
    covariance[:n_classes, :n_classes] += np.outer(of_kept, of_kept)
    return np.asarray(covariance)


def _variances(
    model: LatentLabels, covariance: NDArray[np.float64], n_rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of each cell, (clean, noisy): of the rates, and of the kept share of the pattern. `n_rows` is by clean class."""
    rates, pattern, n_classes = rates_of(model.transition), pattern_of(model.transition), len(n_rows)
    of_rates = np.diag(covariance)[:n_classes] * pattern.sum(axis=1)
    of_draws = np.maximum(rates * (1 - rates), 1.0 / np.maximum(n_rows, 1.0)) / np.maximum(n_rows, 1.0)
    n_wrong = np.maximum(n_rows * rates, 1.0) * np.minimum(of_draws / np.maximum(of_rates, of_draws), 1.0)
    of_pattern = model.pattern.kept * pattern * (1 - pattern) / n_wrong[:, np.newaxis]
    of_pattern += (model.pattern.kept_error * model.pattern.difference) ** 2
    variances = pattern**2 * of_rates[:, np.newaxis] + rates[:, np.newaxis] ** 2 * of_pattern
    np.fill_diagonal(variances, of_rates)
    return np.asarray(variances)
