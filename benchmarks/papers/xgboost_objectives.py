"""XGBoost with a quadratic potential and with Robust-GBDT's focal loss, as custom objectives.

Mazuelas and Álvarez 2025 compare with both ("XGB-Quad", "Robust-GBDT") and state no parameters; ours are the
defaults of `xgboost.train`, 10 trees of depth 6. With 100 trees, the errors under noise are farther from the published
ones. Both need `xgboost`: pip install -e '.[benchmarks]'.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

N_TREES = 10
FOCUS, TRUNCATION = 0.5, 0.3  # r and q of the robust focal loss, in the middle of the grids of its authors
_MIN_CURVATURE = 1e-6
_MIN_PROBABILITY = 1e-12

#: Derivatives by the margin z of labels -1 and 1: first and second.
Potential = Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]


def quadratic_potential(margins: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the derivatives of (1 − z)² / 2."""
    return margins - 1.0, np.ones_like(margins)


def focal_loss(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (1 − p)^r (1 − p^q) / q of the probability p of the label (Luo et al. 2023, robust focal loss)."""
    return (1 - p) ** FOCUS * (1 - p**TRUNCATION) / TRUNCATION


def focal_potential(margins: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the derivatives of the robust focal loss of p = 1 / (1 + exp(−z)); the second is bounded from below.

    The loss is not convex, and XGBoost needs a positive second derivative.
    """
    r, q = FOCUS, TRUNCATION
    p = np.clip(1 / (1 + np.exp(-margins)), _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)
    wrong, truncated = 1 - p, (1 - p**q) / q
    # The loss is wrong^r * truncated; dp/dz = p * wrong.
    first = -r * p * wrong**r * truncated - wrong ** (r + 1) * p**q
    focus = p * wrong ** (r + 1) * truncated - r * p**2 * wrong**r * truncated - p ** (q + 1) * wrong ** (r + 1)
    cut = q * wrong ** (r + 2) * p**q - (r + 1) * wrong ** (r + 1) * p ** (q + 1)
    return first, np.maximum(-r * focus - cut, _MIN_CURVATURE)


class PotentialXGBoost(BaseEstimator):  # type: ignore[misc]
    """XGBoost for labels 0 and 1 whose loss is a potential of the margin."""

    def __init__(self, potential: Potential, n_rounds: int = N_TREES, random_state: int = 0) -> None:
        self.potential = potential
        self.n_rounds = n_rounds
        self.random_state = random_state

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Self:
        import xgboost  # noqa: PLC0415  (an optional package)

        signs = np.where(y == 1, 1.0, -1.0)

        def objective(scores: NDArray[Any], _: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            first, second = self.potential(signs * scores.astype(np.float64))
            return signs * first, second

        parameters = {"seed": self.random_state, "nthread": 1, "base_score": 0.0}
        data = xgboost.DMatrix(X, label=y)
        self.booster_ = xgboost.train(parameters, data, self.n_rounds, obj=objective)
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[np.int64]:
        import xgboost  # noqa: PLC0415  (an optional package)

        return (self.booster_.predict(xgboost.DMatrix(X), output_margin=True) > 0).astype(np.int64)
