"""Calibration of averaged votes to the distribution of the clean class: vector scaling with priors (Guo, Pleiss, Sun
and Weinberger 2017, "On calibration of modern neural networks").

The clean class has the distribution softmax over k of s_k log(p_k / q_k) + b_k. p are the votes, which were learned
from observed labels, and q are the shares of the observed labels if all clean classes are equally likely. Averaged
votes are less confident than the data allow. The sharpness s corrects this for each class, because some classes are
harder to distinguish than others. The offsets b stay near 0.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Added to probabilities before the logarithm: a class without votes is unlikely, not impossible.
FLOOR = 1e-3
#: Prior of the logarithm of the sharpness: normal around log 3, a typical value for votes of trees, with the values of
#: the classes normal around their common value with the same standard deviation.
_PRIOR_LOG_SHARPNESS, _LOG_SHARPNESS_SD = np.log(3.0), 0.5
#: Prior precision of the offsets, which are normal around 0.
_OFFSET_PRECISION = 16.0
_MAX_STEP = 0.5


class Calibration(NamedTuple):
    """Parameters of the calibration."""

    log_sharpness: NDArray[np.float64]  # (class,)
    offsets: NDArray[np.float64]  # (class,)

    def clean_probabilities(self, evidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distribution of the clean class, (row, class), from log(p / q), (row, class)."""
        return _softmax(np.exp(self.log_sharpness) * evidence + self.offsets)

    def log_prior(self) -> float:
        """Return the logarithm of the prior density, up to a constant."""
        deviation = np.r_[self.log_sharpness - _PRIOR_LOG_SHARPNESS, self.offsets]
        return float(-deviation @ prior_precision(len(self.offsets)) @ deviation / 2)

    def gradient(self, evidence: NDArray[np.float64], score_gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient of each row in the logarithms of the sharpness and in the offsets, (row, 2 class), from
        the gradient in the arguments of the softmax, (row, class).
        """
        return np.hstack([score_gradient * evidence * np.exp(self.log_sharpness), score_gradient])

    def newton_step(
        self, evidence: NDArray[np.float64], clean: NDArray[np.float64], posterior: NDArray[np.float64]
    ) -> "Calibration":
        """Return the calibration after one Newton step towards `posterior` (row, class). `clean` (row, class) are the
        probabilities of this calibration.

        The step is one of the common sharpness, and after it one of the parameters of each class by themselves. A step
        of all parameters together would take time in proportion to the square of the number of classes for each row,
        and reaches the maximum in about as many steps.
        """
        n_classes = len(self.offsets)
        deviation = np.r_[self.log_sharpness - _PRIOR_LOG_SHARPNESS, self.offsets]
        scaled, residual = evidence * np.exp(self.log_sharpness), posterior - clean
        slope = np.r_[np.einsum("ik,ik->k", residual, scaled), residual.sum(axis=0)]
        damping = np.maximum(-slope[:n_classes], 0.0)
        step = _common_and_separate_steps(scaled, clean, slope - prior_precision(n_classes) @ deviation, damping)
        step /= max(1.0, float(np.abs(step[:n_classes]).max()) / _MAX_STEP)
        return Calibration(self.log_sharpness + step[:n_classes], self.offsets + step[n_classes:])


def prior_calibration(n_classes: int) -> Calibration:
    """Return the mean of the prior."""
    return Calibration(np.full(n_classes, _PRIOR_LOG_SHARPNESS), np.zeros(n_classes))


def prior_precision(n_classes: int) -> NDArray[np.float64]:
    """Return the prior precision of the logarithms of the sharpness and of the offsets, (2 class, 2 class)."""
    precision = np.diag(np.full(2 * n_classes, _OFFSET_PRECISION))
    sharpness_precision = np.eye(n_classes) - 1 / (n_classes + 1)  # the inverse of I + 1 1'
    precision[:n_classes, :n_classes] = sharpness_precision / _LOG_SHARPNESS_SD**2
    return precision


def _common_and_separate_steps(
    scaled: NDArray[np.float64], clean: NDArray[np.float64], gradient: NDArray[np.float64], damping: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a Newton step of the common sharpness, and after it one of the parameters of each class by themselves.

    damping (class,) is the curvature in the logarithms of the sharpness that the Fisher information leaves out where
    the likelihood falls with them. Without it, small sharpnesses would be passed again and again from both sides.
    """
    n_classes = clean.shape[1]
    common = np.r_[np.ones(n_classes), np.zeros(n_classes)]
    deviations = clean * (scaled - np.einsum("ik,ik->i", clean, scaled)[:, np.newaxis])
    curvature = np.r_[np.einsum("ik,ik->k", deviations, scaled) + damping, deviations.sum(axis=0)]
    curvature += prior_precision(n_classes) @ common
    length = (common @ gradient) / (common @ curvature)
    return np.asarray(length * common + _separate_steps(scaled, clean, gradient - length * curvature, damping))


def _separate_steps(
    scaled: NDArray[np.float64], clean: NDArray[np.float64], gradient: NDArray[np.float64], damping: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the Newton steps of the two parameters of each class as if the other classes kept theirs.

    They do not: the classes approach the same maximum from their sides, two classes by half of the way each.
    """
    n_classes = clean.shape[1]
    spread = clean * (1 - clean)
    sharpness = np.einsum("ik,ik,ik->k", spread, scaled, scaled) + damping + 1 / _LOG_SHARPNESS_SD**2
    mixed, offset = np.einsum("ik,ik->k", spread, scaled), spread.sum(axis=0) + _OFFSET_PRECISION
    of_sharpness, of_offset = gradient[:n_classes], gradient[n_classes:]
    steps = [offset * of_sharpness - mixed * of_offset, sharpness * of_offset - mixed * of_sharpness]
    share = (n_classes - 1) / n_classes
    return np.asarray(share * np.concatenate(steps) / np.tile(sharpness * offset - mixed**2, 2))


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
