"""Estimation of the transition matrix of label noise from out-of-sample class probabilities, with standard errors."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.groups import Groups, design_effect
from core.noise.calibration import prior_precision
from core.noise.identifiability import Identification, VotedLabels, identify_noise
from core.noise.label_probabilities import LabelProbabilities, check_label_probabilities
from core.noise.latent_labels import LatentLabels, fit_calibration, fit_latent_labels
from core.noise.misfit import NO_MISFIT, Misfit, compute_misfit
from core.noise.noise_models import class_noise_rates, noise_pattern
from core.noise.transition import TransitionMatrix

#: Rows whose gradients are in memory at a time.
_ROWS_PER_BLOCK = 2**12
#: Upper limit of a standard error: no random number in [0, 1] has a larger standard deviation.
MAX_STANDARD_ERROR = 0.5


class TransitionEstimate(NamedTuple):
    """Estimate of the label noise. Each error is the standard error of the field before it.

    `transition` and `priors` estimate the probabilities from which labels are drawn. `noise_rate` estimates the share
    of wrong labels among these very labels, which can be determined more precisely.

    The errors follow from the information matrix of the log-likelihood (sum of outer products of the rows' gradients)
    in the noise rates of the classes and the calibration together. The errors of single cells also include the
    multinomial variance of the wrong labels of a clean class. The part that a larger noise model adds counts by the
    weight that it has in the estimate, with the error of that weight. The errors describe the variation between draws
    of the labels. If the labels show that the model of the noise does not hold (`misfit`), they are multiplied by the
    root of the dispersion; a misfit that labels do not show is not covered. All are at most 0.5: if the likelihood is
    almost flat, as for a class with a single row, the information matrix alone would imply errors far beyond [0, 1].

    `identification` warns if the features hardly predict the labels, or if the labels do not identify the noise at all
    (`core.noise.identifiability`); then errors are 0.5, and no label is an issue.
    """

    transition: TransitionMatrix
    standard_error: NDArray[np.float64]  # (clean, noisy)
    noise_rate: float  # share of the observed labels that are wrong
    noise_rate_error: float
    priors: NDArray[np.float64]  # (class,), share of each clean class
    priors_error: NDArray[np.float64]  # (class,)
    rate_covariance: NDArray[np.float64]  # (clean, clean), of the noise rates of the classes
    misfit: Misfit = NO_MISFIT
    identification: Identification = Identification()


class FittedNoise(NamedTuple):
    """An estimate, the model behind it, and the rows that it was fitted to."""

    estimate: TransitionEstimate
    model: LatentLabels
    rows: LabelProbabilities
    #: Of the noise rates, log-sharpnesses and offsets of the clean classes, (parameter, parameter).
    covariance: NDArray[np.float64]


def estimate_transition(probabilities: ArrayLike, y: Any, classes: ArrayLike | None = None) -> TransitionEstimate:
    """Estimate P(observed label | clean label) from labels y (row,) and class probabilities (row, class) from models
    that did not see the row's own label, such as out-of-bag votes or cross-validated predictions.

    The columns are in the order of `classes` (class,). By default this is the order of the sorted distinct labels, or
    of the numbers 0..K-1 if y contains only such numbers. A row whose probabilities are all NaN had no votes and is
    skipped. See `core.noise.latent_labels` for the method. Raises InvalidInput.
    """
    return fit_noise(check_label_probabilities(probabilities, y, classes)).estimate


def fit_noise(
    rows: LabelProbabilities,
    stop_flag: NDArray[np.uint8] | None = None,
    given: TransitionMatrix | None = None,
    groups: Groups | None = None,
) -> FittedNoise:
    """Return the result of `estimate_transition` and the model behind it. If the matrix is `given`, for the classes of
    the rows, only the rest is estimated. Rows of one of the `groups` (row,) count as so many observations as their
    labels are independent. Raises FitStopped when `stop_flag` (1,) is set.
    """
    probabilities, codes = rows.probabilities[rows.has_votes], rows.codes[rows.has_votes]
    if given is None:
        model = fit_latent_labels(probabilities, codes, stop_flag)
    else:
        model = fit_calibration(probabilities, codes, given.rows, stop_flag)
    posterior = model.posterior(probabilities, codes)
    priors, right = posterior.mean(axis=0), posterior[np.arange(len(codes)), codes]
    labels = VotedLabels(probabilities, codes, right, None if groups is None else groups[rows.has_votes])
    effect = design_effect(right, labels.groups)
    n_rows, misfit = len(codes) / effect, compute_misfit(model, probabilities, codes, effect)
    gradients = _summed_gradients(model, probabilities, codes)
    covariance = _covariance(model, gradients, len(codes)) * effect * misfit.variance_factor
    variances = _cell_variances(model, covariance, priors * n_rows)
    rate_gradient = gradients.wrong_label / len(codes)
    rate_variance = (right * (1 - right)).mean() / n_rows + rate_gradient @ covariance @ rate_gradient
    estimate = TransitionEstimate(
        transition=TransitionMatrix.from_rows(model.transition, rows.classes),
        standard_error=_standard_error(variances),
        noise_rate=float(1.0 - right.mean()),
        noise_rate_error=float(_standard_error(rate_variance)),
        priors=priors,
        priors_error=_standard_error(priors * (1 - priors) / n_rows + priors**2 * np.diag(variances)),
        rate_covariance=covariance[: len(priors), : len(priors)],
        misfit=misfit,
    )
    return FittedNoise(_with_identification(estimate, model, labels), model, rows, covariance)


def _with_identification(estimate: TransitionEstimate, model: LatentLabels, labels: VotedLabels) -> TransitionEstimate:
    """Return the estimate with its warning, and the largest errors if the labels do not identify the noise."""
    identification = identify_noise(model, labels, estimate.priors)
    if identification.is_identified:
        return estimate._replace(identification=identification)
    return estimate._replace(
        standard_error=np.full_like(estimate.standard_error, MAX_STANDARD_ERROR),
        noise_rate_error=MAX_STANDARD_ERROR,
        priors_error=np.full_like(estimate.priors_error, MAX_STANDARD_ERROR),
        identification=identification,
    )


def _standard_error(variance: Any) -> Any:
    return np.minimum(np.sqrt(variance), MAX_STANDARD_ERROR)


class _Gradients(NamedTuple):
    """Sums over rows. The parameters are the noise rates, log-sharpnesses and offsets of the clean classes."""

    outer_products: NDArray[np.float64]  # (parameter, parameter), of each row's log-likelihood gradient with itself
    log_likelihood: NDArray[np.float64]  # (parameter,)
    wrong_label: NDArray[np.float64]  # (parameter,), of the probability that the label is wrong


def _summed_gradients(model: LatentLabels, probabilities: NDArray[np.float64], codes: NDArray[np.int64]) -> _Gradients:
    n_parameters = 3 * len(model.transition)
    sums = _Gradients(np.zeros((n_parameters, n_parameters)), np.zeros(n_parameters), np.zeros(n_parameters))
    for first in range(0, len(codes), _ROWS_PER_BLOCK):
        rows = slice(first, first + _ROWS_PER_BLOCK)
        log_likelihood, wrong_label = _row_gradients(model, probabilities[rows], codes[rows])
        sums.outer_products[:] += log_likelihood.T @ log_likelihood
        sums.log_likelihood[:] += log_likelihood.sum(axis=0)
        sums.wrong_label[:] += wrong_label.sum(axis=0)
    return sums


def _row_gradients(
    model: LatentLabels, probabilities: NDArray[np.float64], codes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the gradients of each row's log-likelihood and of the probability that its label is wrong, each
    (row, parameter).
    """
    clean, posterior = model.clean_probabilities(probabilities), model.posterior(probabilities, codes)
    evidence = model.evidence(probabilities)
    log_derivative = model.log_rate_derivative()[codes]
    right = np.take_along_axis(posterior, codes[:, np.newaxis], axis=1)
    wrong_gradient = right * posterior  # in the logarithms of the joint probabilities
    np.put_along_axis(wrong_gradient, codes[:, np.newaxis], right * (right - 1), axis=1)
    return (
        np.hstack([posterior * log_derivative, model.calibration.gradient(evidence, posterior - clean)]),
        np.hstack([wrong_gradient * log_derivative, model.calibration.gradient(evidence, wrong_gradient)]),
    )


def _covariance(model: LatentLabels, gradients: _Gradients, n_rows: int) -> NDArray[np.float64]:
    """Return the covariance of all parameters, (parameter, parameter): that of a common rate of all classes, blended
    with that of separate rates by the weight of the separate rates.
    """
    n_classes = len(model.transition)
    if model.is_given:
        return _calibration_covariance(gradients, n_classes)
    information = gradients.outer_products + np.diag(np.r_[np.full(n_classes, 1e-6), np.zeros(2 * n_classes)])
    information[n_classes:, n_classes:] += prior_precision(n_classes)
    # At a rate of zero the log-likelihood decreases linearly, so its gradient limits the rate instead of its curvature.
    at_zero = np.flatnonzero(class_noise_rates(model.transition) * n_rows < 1)
    information[at_zero, at_zero] += gradients.log_likelihood[at_zero] ** 2
    tie = np.eye(3 * n_classes)[:, n_classes - 1 :]
    tie[:n_classes, 0] = 1.0
    common = tie @ np.linalg.pinv(tie.T @ information @ tie, hermitian=True) @ tie.T
    separate = np.linalg.pinv(information, hermitian=True)
    covariance = common + model.rates.weight * (separate - common)
    weight_effect = model.rates.weight_error * model.rates.difference
    covariance[:n_classes, :n_classes] += np.outer(weight_effect, weight_effect)
    return np.asarray(covariance)


def _calibration_covariance(gradients: _Gradients, n_classes: int) -> NDArray[np.float64]:
    """Return the covariance of all parameters if the matrix is known, whose rates then have none."""
    covariance = np.zeros_like(gradients.outer_products)
    information = gradients.outer_products[n_classes:, n_classes:] + prior_precision(n_classes)
    covariance[n_classes:, n_classes:] = np.linalg.pinv(information, hermitian=True)
    return covariance


def _cell_variances(
    model: LatentLabels, covariance: NDArray[np.float64], n_rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the variance of each cell of the matrix, (clean, noisy), from its rate and from its share of the pattern.
    `n_rows` (clean,) are the rows of each clean class.
    """
    if model.is_given:
        return np.zeros_like(model.transition)
    rates, pattern, n_classes = class_noise_rates(model.transition), noise_pattern(model.transition), len(n_rows)
    rate_variance = np.diag(covariance)[:n_classes] * pattern.sum(axis=1)
    draw_variance = np.maximum(rates * (1 - rates), 1.0 / np.maximum(n_rows, 1.0)) / np.maximum(n_rows, 1.0)
    n_wrong = np.maximum(n_rows * rates, 1.0) * np.minimum(
        draw_variance / np.maximum(rate_variance, draw_variance), 1.0
    )
    pattern_variance = model.pattern.weight * pattern * (1 - pattern) / n_wrong[:, np.newaxis]
    pattern_variance += (model.pattern.weight_error * model.pattern.difference) ** 2
    variances = pattern**2 * rate_variance[:, np.newaxis] + rates[:, np.newaxis] ** 2 * pattern_variance
    np.fill_diagonal(variances, rate_variance)
    return np.asarray(variances)
