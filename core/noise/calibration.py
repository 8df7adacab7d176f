"""Distribution of the clean class by averaged votes: vector scaling (Guo, Pleiss, Sun and Weinberger 2017, "On
calibration of modern neural networks"), with priors.

The clean class has the distribution softmax over k of s_k log(p_k / q_k) + b_k: p are the votes, which were learnt from
given labels, and q the shares that given labels have where all clean classes are as probable. The sharpness s undoes
that averaged votes are less sure than they could be, by class, since some classes are harder to tell than others; the
offsets b stay near 0.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Added to probabilities before the logarithm: a class without votes is unlikely, not impossible.
FLOOR = 1e-3
#: Before any row is seen, the logarithm of the sharpness is normal around log 3, which is common for votes of trees,
#: and that of each class is normal around it with the same spread.
_USUAL_LOG_SHARPNESS, _SPREAD_OF_LOG_SHARPNESS = np.log(3.0), 0.5
#: Offsets are normal around 0.
_PRECISION_OF_OFFSETS = 16.0
_LONGEST_STEP = 0.5


class Calibration(NamedTuple):
    log_sharpness: NDArray[np.float64]  # (class,)
    offsets: NDArray[np.float64]  # (class,)

    def clean_probabilities(self, evidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """(row, class) of log(p / q), (row, class)."""
        return _softmax(np.exp(self.log_sharpness) * evidence + self.offsets)

    def log_prior(self) -> float:
        """Up to a constant."""
        deviation = np.r_[self.log_sharpness - _USUAL_LOG_SHARPNESS, self.offsets]
        return float(-deviation @ prior_precision(len(self.offsets)) @ deviation / 2)

    def slopes(self, evidence: NDArray[np.float64], of_scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """In the logarithms of the sharpness and in the offsets, (row, 2 class), from those in the scores that the
        softmax is taken of, (row, class).
        """
        return np.hstack([of_scores * evidence * np.exp(self.log_sharpness), of_scores])

    def nearer(
        self, evidence: NDArray[np.float64], clean: NDArray[np.float64], posterior: NDArray[np.float64]
    ) -> "Calibration":
        """One step of Newton's method towards `posterior`, (row, class), from `clean`, which is this calibration's."""
        n_classes = len(self.offsets)
        precision = prior_precision(n_classes)
        deviation = np.r_[self.log_sharpness - _USUAL_LOG_SHARPNESS, self.offsets]
        scaled, surprise = evidence * np.exp(self.log_sharpness), posterior - clean
        slope = np.r_[np.einsum("ik,ik->k", surprise, scaled), surprise.sum(axis=0)] - precision @ deviation
        curvature = _curvature(scaled, clean)
        step = np.linalg.solve(curvature + precision, slope)
        step /= max(1.0, float(np.abs(step[:n_classes]).max()) / _LONGEST_STEP)
        return Calibration(self.log_sharpness + step[:n_classes], self.offsets + step[n_classes:])


def usual_calibration(n_classes: int) -> Calibration:
    """What the prior says."""
    return Calibration(np.full(n_classes, _USUAL_LOG_SHARPNESS), np.zeros(n_classes))


def prior_precision(n_classes: int) -> NDArray[np.float64]:
    """Of the logarithms of the sharpness, then of the offsets, (2 class, 2 class)."""
    precision = np.diag(np.full(2 * n_classes, _PRECISION_OF_OFFSETS))
    of_sharpness = np.eye(n_classes) - 1 / (n_classes + 1)  # the inverse of I + 1 1'
    precision[:n_classes, :n_classes] = of_sharpness / _SPREAD_OF_LOG_SHARPNESS**2
    return precision


def _curvature(scaled: NDArray[np.float64], clean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of minus the log-likelihood of classes that are known, (2 class, 2 class)."""
    weighted = clean * scaled
    sides = np.hstack([weighted, clean])
    curvature = -sides.T @ sides
    n_classes = clean.shape[1]
    of_sharpness, of_offsets = np.arange(n_classes), np.arange(n_classes, 2 * n_classes)
    curvature[of_sharpness, of_sharpness] += np.einsum("ik,ik->k", weighted, scaled)
    curvature[of_offsets, of_offsets] += clean.sum(axis=0)
    curvature[of_sharpness, of_offsets] += weighted.sum(axis=0)
    curvature[of_offsets, of_sharpness] += weighted.sum(axis=0)
    return curvature


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
