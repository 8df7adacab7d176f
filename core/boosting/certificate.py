"""Certificate of a minimax booster: bounds (13), (20) and (21) of Mazuelas and Alvarez 2025 on its error.

The bounds are the formulas as printed and are not clipped to [0, 1].
"""

import math
from typing import Any, NamedTuple

import numpy as np


class Certificate(NamedTuple):
    """Bound (20) on the error of the randomized classifier, term by term. `bound` is the sum of the terms.

    The paper states that the bound, with `estimation` from (13), holds with probability 1 - 2 delta. Its proof supports
    this for `safe_bound`. Both apply to rows of equal weight. If `noise_rate` is None, the noise term is omitted, and
    the bound is on the error against labels that are as noisy as the training labels. The error of the deterministic
    classifier, which predicts the more probable class, is at most twice as large.
    """

    minimax_risk: float  #: R, the optimal value of the linear program
    optimization: float  #: eps(delta) of (21): violation of the margin constraints by unseen rows
    estimation: float  #: eps_est ||mu||_1: deviation of averages over the training rows from expectations
    noise: float  #: 2 P_noise ||mu||_1
    regularization: float  #: -lambda ||mu||_1
    bound: float
    delta: float
    noise_rate: float | None  #: P_noise, the share of wrong training labels; None if unknown
    is_vacuous: bool  #: whether the bound is at least 1 and thus not informative
    #: `bound` with twice the deviation term of (13), as its proof requires: y h(x) lies in [-1, 1], not in [0, 1]
    safe_bound: float

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name. Infinite values become None, because JSON has no infinity."""
        return {name: None if value == math.inf else value for name, value in self._asdict().items()}


class FittedClassifier(NamedTuple):
    """Properties of a fitted classifier on which the bounds depend."""

    minimax_risk: float
    weight_norm: float  # ||mu||_1
    regularization: float  # lambda
    n_rows: int
    vc_dimension: float  # of the rules


def tree_vc_dimension(n_splits: int, n_features: int) -> float:
    """Return (2t + 1) log2(d + 2), a bound on the VC dimension of trees with t decision nodes on d features."""
    return float((2 * n_splits + 1) * np.log2(n_features + 2))


def estimation_error(vc_dimension: float, n_rows: int, delta: float) -> float:
    """Return eps_est of (13), second form. Infinite if the dimension exceeds the number of rows."""
    return 2 * _complexity(vc_dimension, n_rows) + _deviation(n_rows, delta)


def optimization_error(weight_norm: float, vc_dimension: float, n_rows: int, delta: float) -> float:
    """Return eps(delta) of (21). Zero if ||mu||_1 <= 1/2, because then no row can violate a margin constraint."""
    if weight_norm <= 1 / 2:
        return 0.0
    deviation = float(np.sqrt(np.log(1 / delta) / (2 * n_rows)))
    return 2 * weight_norm * _complexity(vc_dimension, n_rows) + (weight_norm - 1 / 2) * deviation


def certify(fitted: FittedClassifier, delta: float, noise_rate: float | None) -> Certificate:
    """Return bound (20) with its terms."""
    norm = fitted.weight_norm
    estimation = estimation_error(fitted.vc_dimension, fitted.n_rows, delta) * norm if norm > 0 else 0.0
    terms = (
        fitted.minimax_risk,
        optimization_error(norm, fitted.vc_dimension, fitted.n_rows, delta),
        estimation,
        2 * (noise_rate or 0.0) * norm,
        -fitted.regularization * norm,
    )
    bound = sum(terms)
    safe_bound = bound + _deviation(fitted.n_rows, delta) * norm
    return Certificate(*terms, bound, delta, noise_rate, bound >= 1, safe_bound)


def _deviation(n_rows: int, delta: float) -> float:
    return float(np.sqrt(np.log(2 / delta) / (2 * n_rows)))


def _complexity(vc_dimension: float, n_rows: int) -> float:
    if vc_dimension > n_rows:
        return float("inf")
    return float(np.sqrt(2 * vc_dimension * np.log(3 * n_rows / vc_dimension) / n_rows))
