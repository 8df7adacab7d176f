"""Probabilities of the true class of an item before its answers: the shares of the classes, or predictions."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from core.annotators.answer_models import Posterior
from core.class_votes import rows_with_votes

#: Smallest probability of a class in predictions, which may be 0 in forests.
_SMALLEST = 1e-4


class ClassPrior(Protocol):
    """Probabilities of the true classes before the answers."""

    def fit(self, posterior: Posterior) -> None:
        """Maximize the expected log-probability of the true classes."""

    def log(self) -> NDArray[np.float64]:
        """Return the logarithms of the probabilities, (class,) or (item, class)."""


class ClassShares:
    """The same probabilities for all items: the shares of the classes."""

    _log: NDArray[np.float64]  # (class,)

    def fit(self, posterior: Posterior) -> None:
        counts = posterior.sum(axis=0) + 1
        self._log = np.log(counts / counts.sum())

    def log(self) -> NDArray[np.float64]:
        return self._log


class CalibratedPredictions:
    """Probabilities that a model predicts from the features of the item, which are calibrated on all items.

    The logarithms of the predictions are multiplied by one sharpness, and offset for each class. Predictions that have
    nothing to do with the answers get the sharpness 0. Items without a prediction have the shares of the classes.
    """

    def __init__(self, predictions: NDArray[np.float64]) -> None:
        """predictions: (item, class), NaN for items without."""
        self._has_votes = rows_with_votes(predictions)
        self._logs = np.log(np.maximum(predictions[self._has_votes], _SMALLEST))
        self._shares = ClassShares()
        #: The sharpness, then the offsets (class,).
        self._parameters = np.concatenate([[1.0], np.zeros(predictions.shape[1])])

    def fit(self, posterior: Posterior) -> None:
        self._shares.fit(posterior)
        targets = posterior[self._has_votes]
        bounds = [(0.0, None), *[(None, None)] * targets.shape[1]]
        found = minimize(self._loss, self._parameters, (targets,), method="L-BFGS-B", jac=True, bounds=bounds)
        self._parameters = found.x

    def log(self) -> NDArray[np.float64]:
        table = np.empty((len(self._has_votes), self._logs.shape[1]))
        table[:] = self._shares.log()
        table[self._has_votes] = log_softmax(self._scores(self._parameters), axis=1)
        return table

    def _scores(self, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(parameters[0] * self._logs + parameters[1:])

    def _loss(self, parameters: NDArray[np.float64], targets: Posterior) -> tuple[float, NDArray[np.float64]]:
        """Return the negative expected log-probability, with a prior of one item's weight at calibrated predictions."""
        from_prior = parameters - np.eye(1, len(parameters))[0]
        scores = self._scores(parameters)
        value = -(targets * log_softmax(scores, axis=1)).sum() + (from_prior**2).sum() / 2
        slope = softmax(scores, axis=1) - targets
        gradient = np.concatenate([[(slope * self._logs).sum()], slope.sum(axis=0)])
        return float(value), gradient + from_prior
