"""A model of clean labels behind noisy ones, fitted to out-of-sample class probabilities by maximum likelihood.

The clean class of row i has the distribution c_i = softmax(s log(p_i + FLOOR) + b), where p_i are the probabilities
that some classifier gives the row's *given* label; the given label is drawn from row `clean class` of a transition
matrix. Averaged votes are less sure than they could be and noise flattens them further: the sharpness s undoes both,
and what stays flat however sure the votes are is noise. The confident joint (Northcutt, Jiang and Chuang 2021,
"Confident learning") counts the rows beyond a threshold instead, and so takes hard rows for wrong ones.

Three nested shapes of noise are fitted by expectation-maximisation: one rate for all, one rate for each clean class,
any matrix. Each is kept to the share 1 - d / L of its difference from the simpler one, where L is twice the gain in
log-likelihood and d the number of its further parameters: the positive-part rule of James and Stein (1961).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Added to probabilities before the logarithm: a class without votes is unlikely, not impossible.
FLOOR = 1e-3
#: Sharpness before any row is seen: the logarithm is normal around log 3, which is common for votes of trees.
_USUAL_LOG_SHARPNESS, _SPREAD_OF_LOG_SHARPNESS = np.log(3.0), 0.5
#: Precision of the offsets, which are normal around 0.
OFFSET_PRECISION = 16.0
#: A common rate stays below this share of (K - 1) / K, where labels would say nothing; beyond it classes change names.
_LARGEST_SHARE = 0.95
_MOST_ROUNDS, _FEWEST_ROUNDS = 200, 4
#: Mean log-likelihood a row by which a round must gain to be followed by another.
_LEAST_GAIN = 1e-6

_Shape = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class LatentLabels(NamedTuple):
    """A fitted model; `kept_rates` and `kept_pattern` are the shares kept of the two richer shapes."""

    transition: NDArray[np.float64]  # (clean, noisy)
    sharpness: float
    offsets: NDArray[np.float64]  # (class,)
    kept_rates: float
    kept_pattern: float

    def clean_probabilities(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distribution of the clean class without a look at the given label, (row, class)."""
        return _softmax(self.sharpness * np.log(probabilities + FLOOR) + self.offsets)

    def posterior(self, probabilities: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Distribution of the clean class given the label too, (row, class)."""
        joint = self.clean_probabilities(probabilities) * self.transition.T[codes]
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))


class _Evidence(NamedTuple):
    """Rows in the order of their labels, so that sums by label are sums of neighbours."""

    logs: NDArray[np.float64]  # (row, class), of the probabilities
    codes: NDArray[np.int64]  # (row,), ascending
    present: NDArray[np.int64]  # (present class,)
    starts: NDArray[np.int64]  # (present class,), first row of each


class _Fit(NamedTuple):
    transition: NDArray[np.float64]
    log_sharpness: float
    offsets: NDArray[np.float64]
    log_likelihood: float


def fit_latent_labels(probabilities: NDArray[np.float64], codes: NDArray[np.int64]) -> LatentLabels:
    """Fit to probabilities (row, class) and class numbers (row,) of the given labels; at least one row."""
    n_classes = probabilities.shape[1]
    if n_classes == 1:
        return LatentLabels(np.ones((1, 1)), 1.0, np.zeros(1), 0.0, 0.0)
    evidence = _evidence(probabilities, codes)
    disagreeing = float(np.mean(probabilities.argmax(axis=1) != codes))
    first_rates = np.full(n_classes, min(max(disagreeing, 0.01), 0.8 * (n_classes - 1) / n_classes))
    start = _Fit(_flat(first_rates), float(_USUAL_LOG_SHARPNESS), np.zeros(n_classes), -np.inf)
    one_rate = _fitted(evidence, start, _one_rate)
    rates = _fitted(evidence, one_rate, _rate_of_each_class)
    pattern = _fitted(evidence, rates, _any_matrix) if n_classes > 2 else rates
    kept_rates = _kept(one_rate, rates, n_classes - 1)
    kept_pattern = _kept(rates, pattern, n_classes * (n_classes - 2))
    transition = one_rate.transition + kept_rates * (rates.transition - one_rate.transition)
    transition = transition + kept_pattern * (pattern.transition - rates.transition)
    transition = np.clip(transition, 0.0, 1.0)
    transition /= transition.sum(axis=1, keepdims=True)
    found = _fitted(evidence, one_rate._replace(transition=transition), lambda counts: transition)
    return LatentLabels(transition, float(np.exp(found.log_sharpness)), found.offsets, kept_rates, kept_pattern)


def _evidence(probabilities: NDArray[np.float64], codes: NDArray[np.int64]) -> _Evidence:
    order = np.argsort(codes, kind="stable")
    present, starts = np.unique(codes[order], return_index=True)
    return _Evidence(np.log(probabilities[order] + FLOOR), codes[order], present, starts)


def _kept(simple: _Fit, rich: _Fit, n_further: int) -> float:
    gain = 2 * (rich.log_likelihood - simple.log_likelihood)
    return max(0.0, 1.0 - n_further / gain) if gain > 0 else 0.0


def _fitted(evidence: _Evidence, start: _Fit, shape: _Shape) -> _Fit:
    """Expectation-maximisation from `start`; the log-likelihood includes the priors of sharpness and offsets."""
    transition, log_sharpness, offsets, _ = start
    log_likelihood = -np.inf
    for n_rounds in range(_MOST_ROUNDS):
        clean = _softmax(np.exp(log_sharpness) * evidence.logs + offsets)
        posterior = clean * transition.T[evidence.codes]
        of_label = posterior.sum(axis=1)
        posterior /= of_label[:, np.newaxis]
        deviation = (log_sharpness - _USUAL_LOG_SHARPNESS) / _SPREAD_OF_LOG_SHARPNESS
        reached = float(np.log(of_label).sum() - (OFFSET_PRECISION * offsets @ offsets + deviation**2) / 2)
        if n_rounds >= _FEWEST_ROUNDS and reached - log_likelihood < _LEAST_GAIN * len(clean):
            break
        log_likelihood = reached
        transition = shape(_counts(evidence, posterior))
        log_sharpness = log_sharpness + _step_of_sharpness(evidence.logs, clean, posterior, log_sharpness)
        pull = (posterior - clean).sum(axis=0) - OFFSET_PRECISION * offsets
        offsets = offsets + pull / (clean.sum(axis=0) + OFFSET_PRECISION)
    return _Fit(transition, log_sharpness, offsets, max(reached, log_likelihood))


def _counts(evidence: _Evidence, posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected rows by clean class and given label, (clean, noisy)."""
    counts = np.zeros((posterior.shape[1], posterior.shape[1]))
    counts[:, evidence.present] = np.add.reduceat(posterior, evidence.starts, axis=0).T
    return counts


def _step_of_sharpness(
    logs: NDArray[np.float64], clean: NDArray[np.float64], posterior: NDArray[np.float64], log_sharpness: float
) -> float:
    """One Newton step of the logarithm of the sharpness, of length 1/2 at most."""
    sharpness = np.exp(log_sharpness)
    means = (clean * logs).sum(axis=1)
    variance = float((clean * logs * logs).sum() - means @ means)
    pull = (_USUAL_LOG_SHARPNESS - log_sharpness) / _SPREAD_OF_LOG_SHARPNESS**2
    slope = sharpness * float(((posterior - clean) * logs).sum()) + pull
    return float(np.clip(slope / (sharpness**2 * variance + _SPREAD_OF_LOG_SHARPNESS**-2), -0.5, 0.5))


def _one_rate(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    rate = 1 - np.trace(counts) / counts.sum()
    return _flat(np.full(len(counts), min(rate, _LARGEST_SHARE * (len(counts) - 1) / len(counts))))


def _rate_of_each_class(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = counts.sum(axis=1)
    return _flat((rows - np.diag(counts)) / np.maximum(rows, np.finfo(float).tiny))


def _any_matrix(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = counts.sum(axis=1, keepdims=True)
    return np.where(rows > 0, counts / np.where(rows > 0, rows, 1.0), np.eye(len(counts)))


def _flat(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each clean class is mistaken for all others alike, `rates` (clean,) of the time."""
    rates = np.clip(rates, 1e-9, 1.0)
    matrix = np.repeat(rates[:, np.newaxis] / (len(rates) - 1), len(rates), axis=1)
    np.fill_diagonal(matrix, 1.0 - rates)
    return matrix


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
