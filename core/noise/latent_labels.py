"""Latent-label model: clean labels behind observed ones, fitted to out-of-sample class probabilities by maximum
likelihood.

A classifier gives each row probabilities for its *observed* label. `core.noise.calibration` maps them to the
distribution of the row's clean class, and the observed label is drawn from the row of a transition matrix that belongs
to the clean class. Averaged votes are less confident than the data allow, and noise flattens them further. The
calibration corrects for both. Disagreement that remains however confident the votes are is attributed to noise. The
confident joint (Northcutt, Jiang and Chuang 2021, "Confident learning") counts rows above a threshold instead, and
therefore mistakes hard rows for mislabeled ones.

Three nested noise models are fitted by expectation maximization: one rate for all classes, one rate per clean class,
and any matrix. In the first two, wrong labels are spread evenly over the other classes, or, where that is more likely
and some classes have few labels, in proportion to their labels. The difference between a larger and a smaller model is
shrunk by the factor 1 - B: the d additional parameters are assumed to vary around those of the smaller model, B is the
share of sampling error in their variance, and the likelihood of B is B^(d/2) exp(-B L / 2), where L is twice the gain
in log-likelihood (Strawderman 1971, "Proper Bayes minimax estimators"). A priori, the smaller model is true (B = 1)
with probability 1/2, and otherwise the square root of B is uniform. A smaller model that is still more probable than
not is used as it is (Barbieri and Berger 2004, "Optimal predictive model selection").
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.class_votes import winning_classes
from core.monitoring import raise_if_stopped
from core.noise.calibration import FLOOR, Calibration, prior_calibration
from core.noise.noise_models import (
    MAX_RATE_SHARE,
    MIN_RATE,
    class_noise_rates,
    even_pattern,
    fit_class_rates,
    fit_common_rate,
    fit_full_matrix,
    frequency_pattern,
    noise_pattern,
    rate_derivative,
    transition_rows,
)

_MAX_ITERATIONS, _MIN_ITERATIONS = 200, 4
#: Iterations end when the gain in mean log-likelihood per row is smaller.
_MIN_GAIN = 3e-6
#: Where the largest class has more than so many times the labels of the smallest, noise need not be even.
_UNBALANCED = 3.0
#: Grid of values of B, and its prior.
_N_BELOW_ONE = 2000
_ERROR_SHARES = np.append(((np.arange(_N_BELOW_ONE) + 0.5) / _N_BELOW_ONE) ** 2, 1.0)
_ERROR_SHARE_PRIOR = np.append(np.full(_N_BELOW_ONE, 0.5 / _N_BELOW_ONE), 0.5)

#: From expected counts (clean, noisy) to the most likely matrix.
_NoiseModel = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class Refinement(NamedTuple):
    """Difference between a larger and a smaller noise model, and its weight 1 - B in the estimate."""

    difference: NDArray[np.float64]  # as fitted, of rates (clean,) or patterns (clean, noisy)
    weight: float
    weight_error: float  # standard deviation


class LatentLabels(NamedTuple):
    """Fitted model, and the refinements of its matrix beyond one rate and an even pattern."""

    transition: NDArray[np.float64]  # (clean, noisy)
    calibration: Calibration
    rates: Refinement
    pattern: Refinement
    is_given: bool = False  # whether the matrix was given instead of fitted

    def evidence(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the input of the calibration, (row, class)."""
        return np.log(probabilities + FLOOR) - _log_shares(self.transition)

    def clean_probabilities(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distribution of the clean class without regard to the observed label, (row, class)."""
        return self.calibration.clean_probabilities(self.evidence(probabilities))

    def posterior(self, probabilities: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distribution of the clean class given the observed label, (row, class)."""
        joint = self.clean_probabilities(probabilities) * self.transition.T[codes]
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    def posterior_of_labels(self, priors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distribution of the clean class given the observed label alone, float64 (observed, clean).

        `priors` (clean,) are the shares of the clean classes. A label of probability 0 is taken to be right.
        """
        joint = priors[:, np.newaxis] * self.transition
        shares = joint.sum(axis=0)
        is_possible = shares > 0
        return np.where(is_possible, joint / np.where(is_possible, shares, 1.0), np.eye(len(joint))).T

    def moved(self, step: NDArray[np.float64]) -> "LatentLabels":
        """Return the model with noise rates, log-sharpnesses and offsets of the clean classes that differ by `step`
        (parameter,). Each rate stays between `MIN_RATE` and the larger of its value and the limit of a common rate.
        """
        rate_step, sharpness_step, offset_step = np.split(step, 3)
        n_classes, rates = len(rate_step), class_noise_rates(self.transition)
        largest = np.maximum(rates, MAX_RATE_SHARE * (n_classes - 1) / n_classes)
        moved = np.clip(rates + rate_step, MIN_RATE, largest)
        calibration = Calibration(
            self.calibration.log_sharpness + sharpness_step, self.calibration.offsets + offset_step
        )
        transition = transition_rows(moved, noise_pattern(self.transition))
        return self._replace(transition=transition, calibration=calibration)

    def log_rate_derivative(self) -> NDArray[np.float64]:
        """Return the derivative of the logarithm of each label's probability in the rate of its clean class, (noisy,
        clean).
        """
        return np.asarray((rate_derivative(self.transition) / np.maximum(self.transition, np.finfo(float).tiny)).T)


class _Rows(NamedTuple):
    """Rows sorted by label, so that sums by label are sums over contiguous rows."""

    # (row, class), of the probabilities; in column order, in which sums over few classes take half the time
    logs: NDArray[np.float64]
    codes: NDArray[np.int64]  # (row,), ascending
    present: NDArray[np.int64]  # (present class,)
    starts: NDArray[np.int64]  # (present class,), first row of each


class _Fit(NamedTuple):
    """Result of expectation maximization, or its starting point."""

    transition: NDArray[np.float64]
    calibration: Calibration
    log_likelihood: float


class _SimpleFits(NamedTuple):
    """Fits of noise with a pattern that was not fitted."""

    pattern: NDArray[np.float64]  # (clean, noisy)
    common: _Fit
    separate: _Fit


def fit_latent_labels(
    probabilities: NDArray[np.float64], codes: NDArray[np.int64], stop_flag: NDArray[np.uint8] | None = None
) -> LatentLabels:
    """Fit the model to probabilities (row, class) and class numbers (row,) of the observed labels, at least one row.

    Raises FitStopped when `stop_flag` (1,), which is read in each iteration, is set.
    """
    n_classes, maximize = probabilities.shape[1], partial(_best_fit, _sorted_rows(probabilities, codes), stop_flag)
    even, counted = _even_start(probabilities, codes), _counted_start(probabilities, codes)
    simple = [_simple_fits(maximize, pattern, even, counted) for pattern in _simple_patterns(codes, n_classes)]
    pattern, common, separate = max(simple, key=lambda fits: fits.separate.log_likelihood)
    full = maximize([separate, counted], fit_full_matrix) if n_classes > 2 else separate
    pattern_difference = noise_pattern(full.transition, pattern) - pattern
    pattern_refinement = _refinement(pattern_difference, separate, full, n_classes * (n_classes - 2))
    if pattern_refinement.weight:
        pattern = pattern + pattern_refinement.weight * pattern_difference
        starts = [_with_pattern(full, pattern), _with_pattern(common, pattern)]
        separate = maximize(starts[:1], partial(fit_class_rates, pattern))
        common = maximize(starts, partial(fit_common_rate, pattern))
    common_rates = class_noise_rates(common.transition)
    rate_difference = class_noise_rates(separate.transition) - common_rates
    rate_refinement = _refinement(rate_difference, common, separate, n_classes - 1)
    transition = transition_rows(common_rates + rate_refinement.weight * rate_difference, pattern)
    nearest = separate if rate_refinement.weight > 0.5 else common
    final = maximize([nearest._replace(transition=transition)], lambda counts: transition)
    return LatentLabels(transition, final.calibration, rate_refinement, pattern_refinement)


def _simple_patterns(codes: NDArray[np.int64], n_classes: int) -> Iterator[NDArray[np.float64]]:
    """Yield the patterns that are not fitted. Even noise would give rare classes more wrong labels than they have, as
    it would a misspelled label or a class without labels, so that its rate would be close to zero.
    """
    yield even_pattern(n_classes)
    counts = np.bincount(codes, minlength=n_classes)
    if n_classes > 2 and counts.max() > _UNBALANCED * counts.min():
        yield frequency_pattern(counts)


def _simple_fits(
    maximize: Callable[[Sequence[_Fit], _NoiseModel], _Fit], pattern: NDArray[np.float64], even: _Fit, counted: _Fit
) -> "_SimpleFits":
    starts = [_with_pattern(start, pattern) for start in (even, counted)]
    common = maximize(starts[:1], partial(fit_common_rate, pattern))
    return _SimpleFits(pattern, common, maximize(starts, partial(fit_class_rates, pattern)))


def fit_calibration(
    probabilities: NDArray[np.float64],
    codes: NDArray[np.int64],
    transition: NDArray[np.float64],
    stop_flag: NDArray[np.uint8] | None = None,
) -> LatentLabels:
    """Fit the calibration only, for labels whose matrix `transition` (clean, noisy) is known. Raises FitStopped."""
    start = _even_start(probabilities, codes)._replace(transition=transition)
    fit = _maximize_likelihood(_sorted_rows(probabilities, codes), stop_flag, start, lambda counts: transition)
    none = Refinement(np.zeros(len(transition)), 0.0, 0.0)
    return LatentLabels(transition, fit.calibration, none, none, is_given=True)


def _with_pattern(fit: _Fit, pattern: NDArray[np.float64]) -> _Fit:
    return fit._replace(transition=transition_rows(class_noise_rates(fit.transition), pattern))


def _sorted_rows(probabilities: NDArray[np.float64], codes: NDArray[np.int64]) -> _Rows:
    order = np.argsort(codes, kind="stable")
    present, starts = np.unique(codes[order], return_index=True)
    return _Rows(np.asfortranarray(np.log(probabilities[order] + FLOOR)), codes[order], present, starts)


def _even_start(probabilities: NDArray[np.float64], codes: NDArray[np.int64]) -> _Fit:
    """Return even noise with the rate at which labels differ from the most probable class."""
    n_classes = probabilities.shape[1]
    disagreeing = float(np.mean(winning_classes(probabilities) != codes))
    rate = min(max(disagreeing, 0.01), 0.8 * (n_classes - 1) / n_classes)
    transition = transition_rows(np.full(n_classes, rate), even_pattern(n_classes))
    return _Fit(transition, prior_calibration(n_classes), -np.inf)


def _counted_start(probabilities: NDArray[np.float64], codes: NDArray[np.int64]) -> _Fit:
    """Return the matrix of the labels by most probable class, with half a row more on its diagonal.

    Even noise that fits badly has a rate of almost zero, from which expectation maximization does not find a pattern.
    """
    n_classes = probabilities.shape[1]
    counts = np.eye(n_classes) / 2
    np.add.at(counts, (winning_classes(probabilities), codes), 1.0)
    return _Fit(fit_full_matrix(counts), prior_calibration(n_classes), -np.inf)


def _refinement(difference: NDArray[np.float64], small: _Fit, large: _Fit, n_additional: int) -> Refinement:
    """Return the refinement that `large` with `n_additional` more parameters is of `small`."""
    if n_additional < 1:
        return Refinement(difference, 0.0, 0.0)
    gain = max(2 * (large.log_likelihood - small.log_likelihood), 0.0)
    logs = n_additional / 2 * np.log(_ERROR_SHARES) - _ERROR_SHARES * gain / 2
    weights = _ERROR_SHARE_PRIOR * np.exp(logs - logs.max())
    weights /= weights.sum()
    if weights[-1] > 0.5:
        return Refinement(difference, 0.0, 0.0)
    mean = float(weights @ _ERROR_SHARES)
    spread = float(np.sqrt(weights @ (_ERROR_SHARES - mean) ** 2))
    return Refinement(difference, 1.0 - mean, spread)


def _best_fit(
    rows: _Rows, stop_flag: NDArray[np.uint8] | None, starts: Sequence[_Fit], noise_model: _NoiseModel
) -> _Fit:
    """Return the most likely of the fits from all starting points."""
    fits = [_maximize_likelihood(rows, stop_flag, start, noise_model) for start in starts]
    return max(fits, key=lambda fit: fit.log_likelihood)


def _maximize_likelihood(
    rows: _Rows, stop_flag: NDArray[np.uint8] | None, start: _Fit, noise_model: _NoiseModel
) -> _Fit:
    """Run expectation maximization from `start`. The log-likelihood includes the prior of the calibration."""
    transition, calibration, _ = start
    log_likelihood = -np.inf
    for iteration in range(_MAX_ITERATIONS):
        raise_if_stopped(stop_flag)
        evidence = rows.logs - _log_shares(transition)
        clean = calibration.clean_probabilities(evidence)
        posterior = clean * transition[:, rows.codes].T
        label_likelihood = posterior.sum(axis=1)
        posterior /= label_likelihood[:, np.newaxis]
        current = float(np.log(label_likelihood).sum()) + calibration.log_prior()
        if iteration >= _MIN_ITERATIONS and current - log_likelihood < _MIN_GAIN * len(clean):
            break
        log_likelihood = current
        transition = noise_model(_expected_counts(rows, posterior))
        calibration = calibration.newton_step(evidence, clean, posterior)
    return _Fit(transition, calibration, max(current, log_likelihood))


def _log_shares(transition: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the shares of observed labels if all clean classes are equally likely, (noisy,)."""
    return np.asarray(np.log(transition.mean(axis=0) + FLOOR))


def _expected_counts(rows: _Rows, posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expected number of rows by clean class and observed label, (clean, noisy)."""
    counts = np.zeros((posterior.shape[1], posterior.shape[1]))
    counts[:, rows.present] = np.add.reduceat(posterior, rows.starts, axis=0).T
    return counts
