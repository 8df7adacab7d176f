"""Calibration of the votes of a fitted ensemble: from them to class probabilities.

Votes are less confident than the data allow, since averages of trees are seldom near 0 or 1, and wrong labels flatten
them further; those of a regression, in turn, are clipped to 0. So the probability of a class with the vote v is made
proportional to (v + FLOOR) ** power. One power for all classes keeps their order, and thus the predicted class.

The power is that under which the labels of the rows are most likely by votes without the label of the row. If the noise
is estimated, a label has the probabilities p @ transition[clean, noisy], where p are those of the true class (Patrini,
Rozza, Menon, Nock and Qu 2017, "Making deep neural networks robust to label noise: a loss correction approach", their
forward correction). So p describes the true class, although all labels may be wrong. Where more noise is assumed than
there is, p is too confident, which costs more than p that is not confident enough. So the noise rates are taken to be
lower than estimated, by two standard errors of the share of wrong labels: `docs/decisions/0029`.

Trees on drawn labels depend on the label of a row that they leave out, because the probabilities of other rows
depend on it. So the mean probability of the predicted class is then at most the accuracy on the true labels of votes
that do not depend on it, as it follows from their accuracy on the given labels and the transition matrix (Natarajan,
Dhillon, Ravikumar and Tewari 2013, "Learning with noisy labels", lemma 1).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.automatic.noise import NotEstimated, SearchedNoise
from core.class_votes import rows_with_votes, winning_classes
from core.forests.fitting import Fit
from core.kernels.row_scans import raise_rows_to_power
from core.monitoring import raise_if_stopped
from core.noise.corrected_accuracy import backward_table

#: Added to votes, so that a class without votes is unlikely, not impossible.
FLOOR = 0.03
#: Powers that are compared.
_POWERS = 2.0 ** (np.arange(-8, 13) / 4)
MIN_POWER, MAX_POWER = float(_POWERS[0]), float(_POWERS[-1])
#: Prior precision of the logarithm of the power, which is normal around 0. It matters if there are few rows.
_LOG_POWER_PRECISION = 4.0
#: Standard errors that the share of wrong labels is assumed to be below its estimate.
_N_ERRORS = 2.0


class VoteCalibration(NamedTuple):
    """Power that votes are raised to, and the share of wrong labels for which it is right."""

    power: float
    noise_rate: float  # 0 if no noise is assumed; probabilities are then those of the given label


class LeftOutVotes(NamedTuple):
    """Votes on the rows of the search, (row, class), by models that leave the row out; NaN for rows without votes."""

    fitted: NDArray[np.float64]  # of the models that vote in the end
    independent: NDArray[np.float64] | None  # that do not depend on the label of the row; None if no others do


class _LabeledVotes(NamedTuple):
    """Rows with votes."""

    votes: NDArray[np.float64]  # (row, class)
    codes: NDArray[np.int64]  # (row,), of the given labels
    weights: NDArray[np.float64]  # (row,), with a mean of about 1


class _AssumedNoise(NamedTuple):
    rate: float  # share of wrong labels
    transition: NDArray[np.float64]  # [clean, noisy] among all classes


def calibrate(votes: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Replace votes (row, class) in C order, some of which may be negative, by the class probabilities that follow from
    them, and return them.
    """
    raise_rows_to_power(votes, FLOOR, power)
    return votes


def calibration_of(fit: Fit, votes: LeftOutVotes, noise: SearchedNoise | NotEstimated | None) -> VoteCalibration:
    """Return the calibration of votes on the rows of the fit. Raises FitStopped.

    noise: estimate of the noise of the labels; a reason or None if there is none that can be relied on.
    """
    assumed = _assumed_noise(noise, len(fit.data.labels.classes))
    rows = _rows_with_votes(fit, votes.fitted)
    power = _most_likely_power(fit, rows, assumed.transition)
    if votes.independent is not None and noise is not None and not isinstance(noise, str):
        transition = _among_all(noise, noise.fitted.estimate.transition.rows, len(assumed.transition))
        accuracy = _accuracy_on_true_labels(_rows_with_votes(fit, votes.independent), transition)
        power = _bounded_power(rows.votes, power, accuracy)
    return VoteCalibration(power, assumed.rate)


def _rows_with_votes(fit: Fit, votes: NDArray[np.float64]) -> _LabeledVotes:
    has_votes = rows_with_votes(votes)
    weights = fit.data.weights[has_votes] / fit.data.weights.mean()
    return _LabeledVotes(votes[has_votes], fit.data.labels.codes[has_votes].astype(np.int64), weights)


def _most_likely_power(fit: Fit, rows: _LabeledVotes, transition: NDArray[np.float64]) -> float:
    by_class = transition.T[rows.codes]  # (row, clean class), of the given label

    def log_posterior(power: float) -> float:
        raise_if_stopped(fit.monitor.stop_flag)
        of_label = np.einsum("ij,ij->i", calibrate(rows.votes.copy(), power), by_class)
        log_likelihood = rows.weights @ np.log(np.maximum(of_label, np.finfo(float).tiny))
        return float(log_likelihood - _LOG_POWER_PRECISION * np.log(power) ** 2 / 2)

    return float(_POWERS[np.argmax([log_posterior(power) for power in _POWERS])])


def _bounded_power(votes: NDArray[np.float64], power: float, accuracy: float) -> float:
    """Return the largest of the powers up to `power` with which the mean largest probability is at most `accuracy`, or
    the smallest power if there is none.
    """
    powers = _POWERS[power >= _POWERS]
    suitable = [one for one in powers if calibrate(votes.copy(), one).max(axis=1).mean() <= accuracy]
    return float(max(suitable, default=MIN_POWER))


def _accuracy_on_true_labels(rows: _LabeledVotes, transition: NDArray[np.float64]) -> float:
    """Return the estimated share of rows whose true class wins the vote."""
    row_shares = rows.weights / rows.weights.sum()
    # A singular matrix, which only has a pseudo-inverse, must not end the fit.
    inverse = np.asarray(np.linalg.pinv(transition), dtype=np.float64)
    table = backward_table(inverse, rows.codes, winning_classes(rows.votes), row_shares)
    return float(np.clip(np.trace(table), 1.0 / len(transition), 1.0))


def _assumed_noise(noise: SearchedNoise | NotEstimated | None, n_classes: int) -> _AssumedNoise:
    """Return less noise than estimated; classes without an estimate have none."""
    if noise is None or isinstance(noise, str):
        return _AssumedNoise(0.0, np.eye(n_classes))
    estimate = noise.fitted.estimate
    rate = max(0.0, estimate.noise_rate - _N_ERRORS * estimate.noise_rate_error)
    part = rate / estimate.noise_rate if rate else 0.0
    among = part * estimate.transition.rows + (1.0 - part) * np.eye(len(noise.classes))
    return _AssumedNoise(rate, _among_all(noise, among, n_classes))


def _among_all(noise: SearchedNoise, among: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return a matrix [clean, noisy] among the estimated classes as one among all; the other classes have no noise."""
    transition = np.eye(n_classes)
    transition[np.ix_(noise.classes, noise.classes)] = among
    return transition
