"""Sharpness of class probabilities: how far the votes of a fitted ensemble have to be drawn apart.

Votes are less confident than the data allow, since averages of trees are seldom near 0 or 1, and wrong labels flatten
them further; those of a regression, in turn, are clipped to 0. So the probability of a class with the vote v is made
proportional to (v + FLOOR) ** power. One power for all classes keeps their order, and thus the predicted class.

The power is that under which the labels of the rows are most likely by votes without the label of the row. If the noise
is estimated, a label has the probabilities p @ transition[clean, noisy], where p are those of the true class (Patrini,
Rozza, Menon, Nock and Qu 2017, "Making deep neural networks robust to label noise: a loss correction approach", their
forward correction). So p describes the true class, although all labels may be wrong. Where more noise is assumed than
there is, p is too sharp, which costs more than p that is too flat. So the noise rates are taken to be lower than
estimated, by two standard errors of the share of wrong labels: `docs/decisions/0029`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.automatic.noise import NotEstimated, SearchedNoise
from core.automatic.ridge import SharedRidge, mixed_votes
from core.forests.fitting import Fit
from core.growth.out_of_bag import OutOfBagVotes
from core.kernels.row_scans import sharpen_rows
from core.monitoring import raise_if_stopped

#: Added to votes, so that a class without votes is unlikely, not impossible.
FLOOR = 0.03
#: Powers that are compared.
_POWERS = 2.0 ** (np.arange(-8, 13) / 4)
MAX_POWER = float(_POWERS[-1])
#: Prior precision of the logarithm of the power, which is normal around 0. It matters if there are few rows.
_LOG_POWER_PRECISION = 4.0
#: Standard errors that the share of wrong labels is assumed to be below its estimate.
_N_ERRORS = 2.0


class Sharpness(NamedTuple):
    """Power that votes are raised to, and the share of wrong labels for which it is right."""

    power: float
    noise_rate: float  # 0 if the noise is not estimated; probabilities are then those of the given label


class _AssumedNoise(NamedTuple):
    rate: float  # share of wrong labels
    transition: NDArray[np.float64]  # [clean, noisy] among all classes


def sharpen(votes: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Replace votes (row, class) in C order, some of which may be negative, by the class probabilities that follow from
    them, and return them.
    """
    sharpen_rows(votes, FLOOR, power)
    return votes


def sharpness_of(
    fit: Fit, votes: OutOfBagVotes, ridge: SharedRidge | None, noise: SearchedNoise | NotEstimated | None
) -> Sharpness:
    """Return the sharpness for the votes of trees on the rows of the fit that they leave out, and for those of the
    regression if there is one. Raises FitStopped.

    noise: estimate of the noise of the labels; a reason or None if there is none that can be relied on.
    """
    has_votes = votes.n_trees > 0
    mean = votes.mean[has_votes]
    if ridge is not None:
        mean = mixed_votes(mean, ridge.left_out_scores[has_votes], ridge.share.share)
    assumed = _assumed_noise(noise, len(fit.data.labels.classes))
    by_class = assumed.transition.T[fit.data.labels.codes[has_votes]]  # (row, clean class), of the given label
    weights = fit.data.weights[has_votes] / fit.data.weights.mean()

    def log_posterior(power: float) -> float:
        raise_if_stopped(fit.monitor.stop_flag)
        of_label = np.einsum("ij,ij->i", sharpen(mean.copy(), power), by_class)
        log_likelihood = weights @ np.log(np.maximum(of_label, np.finfo(float).tiny))
        return float(log_likelihood - _LOG_POWER_PRECISION * np.log(power) ** 2 / 2)

    best = int(np.argmax([log_posterior(power) for power in _POWERS]))
    return Sharpness(float(_POWERS[best]), assumed.rate)


def _assumed_noise(noise: SearchedNoise | NotEstimated | None, n_classes: int) -> _AssumedNoise:
    """Return less noise than estimated; classes that are not judged have none."""
    transition = np.eye(n_classes)
    if noise is None or isinstance(noise, str):
        return _AssumedNoise(0.0, transition)
    estimate = noise.fitted.estimate
    rate = max(0.0, estimate.noise_rate - _N_ERRORS * estimate.noise_rate_error)
    part = rate / estimate.noise_rate if rate else 0.0
    among = part * estimate.transition.rows + (1.0 - part) * np.eye(len(noise.classes))
    transition[np.ix_(noise.classes, noise.classes)] = among
    return _AssumedNoise(rate, transition)
