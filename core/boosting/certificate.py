"""What the training of a minimax booster guarantees: bounds (13), (20) and (21) of Mazuelas and Alvarez 2025.

The bounds are the formulas as printed, not clipped to [0, 1]; see the fields for what each adds.
"""

import math
from typing import Any, NamedTuple

import numpy as np


class Certificate(NamedTuple):
    """Bound (20) on the error of the randomised rule, term by term; `bound` is their sum.

    As printed, with `estimation` from (13), the bound is to hold with probability 1 - 2 delta; `safe_bound` does. Both
    are about rows that all count alike. Without `noise_rate`, the term of label noise is left out: the bound is then on
    the error against labels as noisy as those of the training rows. The rule that names the likelier class errs at most
    twice as often.
    """

    minimax_risk: float  #: R, the optimal value of the linear program
    optimization: float  #: eps(delta) of (21): how far unseen rows may break the margin constraints
    estimation: float  #: eps_est ||mu||_1: averages over the training rows against expectations
    noise: float  #: 2 P_noise ||mu||_1
    regularization: float  #: -lambda ||mu||_1
    bound: float
    delta: float
    noise_rate: float | None  #: P_noise, the share of wrong training labels; None = not known
    is_vacuous: bool  #: the bound is 1 or more, so that it says nothing
    #: `bound` with the deviation term of (13) twice as large, as its proof asks for: y h(x) lies in [-1, 1], not [0, 1]
    safe_bound: float

    def to_json(self) -> dict[str, Any]:
        """The fields by name; None stands for an infinite one, as JSON has no infinity."""
        return {name: None if value == math.inf else value for name, value in self._asdict().items()}


class FittedRule(NamedTuple):
    """What the bounds depend on."""

    minimax_risk: float
    weight_norm: float  # ||mu||_1
    regularization: float  # lambda
    n_rows: int
    vc_dimension: float  # of the rules


def tree_vc_dimension(n_splits: int, n_features: int) -> float:
    """(2t + 1) log2(d + 2): bounds the VC dimension of trees of t decision nodes on d features."""
    return float((2 * n_splits + 1) * np.log2(n_features + 2))


def estimation_error(vc_dimension: float, n_rows: int, delta: float) -> float:
    """eps_est of (13), second form; infinite where the dimension exceeds the rows."""
    return 2 * _complexity(vc_dimension, n_rows) + _deviation(n_rows, delta)


def optimization_error(weight_norm: float, vc_dimension: float, n_rows: int, delta: float) -> float:
    """eps(delta) of (21): zero while ||mu||_1 <= 1/2, where no row can break a margin."""
    if weight_norm <= 1 / 2:
        return 0.0
    spread = float(np.sqrt(np.log(1 / delta) / (2 * n_rows)))
    return 2 * weight_norm * _complexity(vc_dimension, n_rows) + (weight_norm - 1 / 2) * spread


def certify(fitted: FittedRule, delta: float, noise_rate: float | None) -> Certificate:
    """Bound (20) with each of its terms."""
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
