"""A model of clean labels behind noisy ones, fitted to out-of-sample class probabilities by maximum likelihood.

The clean class of a row has the distribution that `core.noise.calibration` makes of the probabilities some classifier
gives the row's *given* label; the given label is drawn from row `clean class` of a transition matrix. Averaged votes
are less sure than they could be and noise flattens them further: the calibration undoes both, and what stays flat
however sure the votes are is noise. The confident joint (Northcutt, Jiang and Chuang 2021, "Confident learning") counts
the rows beyond a threshold instead, and so takes hard rows for wrong ones.

Three nested shapes of noise are fitted by expectation-maximisation: one rate for all, one rate for each clean class,
any matrix. What a richer shape adds is kept to the share 1 - B: the d further parameters are taken to vary around those
of the simpler shape, B is the share that chance has in their variance, and its likelihood is B^(d/2) exp(-B L / 2),
where L is twice the gain in log-likelihood (Strawderman 1971, "Proper Bayes minimax estimators"). Before any row is
seen the simpler shape is the true one, B = 1, with probability 1/2; else the root of B is as probably here as there. A
simpler shape that is still the more probable one is kept as it is (Barbieri and Berger 2004, "Optimal predictive model
selection").
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.monitoring import raise_if_stopped
from core.noise.calibration import FLOOR, Calibration, usual_calibration
from core.noise.noise_models import (
    any_matrix,
    even_pattern,
    matrix_of,
    one_rate,
    pattern_of,
    rate_of_each_class,
    rates_of,
)

_MOST_ROUNDS, _FEWEST_ROUNDS = 200, 4
#: Mean log-likelihood a row by which a round must gain to be followed by another.
_LEAST_GAIN = 3e-6
#: Values of B, and their prior.
_N_BELOW_ONE = 2000
_SHARES_OF_CHANCE = np.append(((np.arange(_N_BELOW_ONE) + 0.5) / _N_BELOW_ONE) ** 2, 1.0)
_PRIOR_OF_SHARES = np.append(np.full(_N_BELOW_ONE, 0.5 / _N_BELOW_ONE), 0.5)

_Shape = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class Refinement(NamedTuple):
    """What a richer shape of noise adds to a simpler one, and the share of it that is kept."""

    difference: NDArray[np.float64]  # as fitted, of rates (clean,) or patterns (clean, noisy)
    kept: float
    kept_error: float  # standard deviation


class LatentLabels(NamedTuple):
    """A fitted model, and what its matrix has beyond one rate and an even pattern."""

    transition: NDArray[np.float64]  # (clean, noisy)
    calibration: Calibration
    rates: Refinement
    pattern: Refinement

    def evidence(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the calibration is applied to, (row, class)."""
        return np.log(probabilities + FLOOR) - _log_shares(self.transition)

    def clean_probabilities(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distribution of the clean class without a look at the given label, (row, class)."""
        return self.calibration.clean_probabilities(self.evidence(probabilities))

    def posterior(self, probabilities: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Distribution of the clean class given the label too, (row, class)."""
        joint = self.clean_probabilities(probabilities) * self.transition.T[codes]
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))


class _Rows(NamedTuple):
    """In the order of their labels, so that sums by label are sums of neighbours."""

    logs: NDArray[np.float64]  # (row, class), of the probabilities
    codes: NDArray[np.int64]  # (row,), ascending
    present: NDArray[np.int64]  # (present class,)
    starts: NDArray[np.int64]  # (present class,), first row of each


class _Fit(NamedTuple):
    transition: NDArray[np.float64]
    calibration: Calibration
    log_likelihood: float


def fit_latent_labels(
    probabilities: NDArray[np.float64], codes: NDArray[np.int64], stop_flag: NDArray[np.uint8] | None = None
) -> LatentLabels:
    """Fit to probabilities (row, class) and class numbers (row,) of the given labels; at least one row.

    Raises FitStopped when `stop_flag` (1,), which every round reads, is set.
    """
    n_classes = probabilities.shape[1]
    pattern, rows = even_pattern(n_classes), _rows(probabilities, codes)
    start, fitted = _start(probabilities, codes), partial(_fitted, rows, stop_flag)
    common = fitted(start, partial(one_rate, pattern))
    of_classes = fitted(start, partial(rate_of_each_class, pattern))
    rich = fitted(of_classes, any_matrix) if n_classes > 2 else of_classes
    of_pattern = _refinement(pattern_of(rich.transition) - pattern, of_classes, rich, n_classes * (n_classes - 2))
    if of_pattern.kept:
        pattern = pattern + of_pattern.kept * of_pattern.difference
        of_classes = fitted(_with_pattern(rich, pattern), partial(rate_of_each_class, pattern))
        common = fitted(_with_pattern(common, pattern), partial(one_rate, pattern))
    further = rates_of(of_classes.transition) - rates_of(common.transition)
    of_rates = _refinement(further, common, of_classes, n_classes - 1)
    transition = matrix_of(rates_of(common.transition) + of_rates.kept * further, pattern)
    nearest = of_classes if of_rates.kept > 0.5 else common
    found = fitted(nearest._replace(transition=transition), lambda counts: transition)
    return LatentLabels(transition, found.calibration, of_rates, of_pattern)


def _with_pattern(fit: _Fit, pattern: NDArray[np.float64]) -> _Fit:
    return fit._replace(transition=matrix_of(rates_of(fit.transition), pattern))


def _rows(probabilities: NDArray[np.float64], codes: NDArray[np.int64]) -> _Rows:
    order = np.argsort(codes, kind="stable")
    present, starts = np.unique(codes[order], return_index=True)
    return _Rows(np.log(probabilities[order] + FLOOR), codes[order], present, starts)


def _start(probabilities: NDArray[np.float64], codes: NDArray[np.int64]) -> _Fit:
    """The rate is that of labels which are not the most probable ones."""
    n_classes = probabilities.shape[1]
    disagreeing = float(np.mean(probabilities.argmax(axis=1) != codes))
    rate = min(max(disagreeing, 0.01), 0.8 * (n_classes - 1) / n_classes)
    transition = matrix_of(np.full(n_classes, rate), even_pattern(n_classes))
    return _Fit(transition, usual_calibration(n_classes), -np.inf)


def _refinement(difference: NDArray[np.float64], simple: _Fit, rich: _Fit, n_further: int) -> Refinement:
    if n_further < 1:
        return Refinement(difference, 0.0, 0.0)
    gain = max(2 * (rich.log_likelihood - simple.log_likelihood), 0.0)
    logs = n_further / 2 * np.log(_SHARES_OF_CHANCE) - _SHARES_OF_CHANCE * gain / 2
    weights = _PRIOR_OF_SHARES * np.exp(logs - logs.max())
    weights /= weights.sum()
    if weights[-1] > 0.5:
        return Refinement(difference, 0.0, 0.0)
    mean = float(weights @ _SHARES_OF_CHANCE)
    spread = float(np.sqrt(weights @ (_SHARES_OF_CHANCE - mean) ** 2))
    return Refinement(difference, 1.0 - mean, spread)


def _fitted(rows: _Rows, stop_flag: NDArray[np.uint8] | None, start: _Fit, shape: _Shape) -> _Fit:
    """Expectation-maximisation from `start`; the log-likelihood includes the prior of the calibration."""
    transition, calibration, _ = start
    log_likelihood = -np.inf
    for n_rounds in range(_MOST_ROUNDS):
        raise_if_stopped(stop_flag)
        evidence = rows.logs - _log_shares(transition)
        clean = calibration.clean_probabilities(evidence)
        posterior = clean * transition.T[rows.codes]
        of_label = posterior.sum(axis=1)
        posterior /= of_label[:, np.newaxis]
        reached = float(np.log(of_label).sum()) + calibration.log_prior()
        if n_rounds >= _FEWEST_ROUNDS and reached - log_likelihood < _LEAST_GAIN * len(clean):
            break
        log_likelihood = reached
        transition = shape(_counts(rows, posterior))
        calibration = calibration.nearer(evidence, clean, posterior)
    return _Fit(transition, calibration, max(reached, log_likelihood))


def _log_shares(transition: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of given labels where all clean classes are as probable, (noisy,)."""
    return np.asarray(np.log(transition.mean(axis=0) + FLOOR))


def _counts(rows: _Rows, posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected rows by clean class and given label, (clean, noisy)."""
    counts = np.zeros((posterior.shape[1], posterior.shape[1]))
    counts[:, rows.present] = np.add.reduceat(posterior, rows.starts, axis=0).T
    return counts
