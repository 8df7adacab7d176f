"""Robust minimax boosting as published (Mazuelas and Alvarez 2025), as a reference.

It uses scikit-learn trees. Each round solves the complete, dense linear program from scratch: problem (6) with two
constraints per margin and two per rule, and weights (19).
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier


class PublishedRMBoost(BaseEstimator):  # type: ignore[misc]
    """Published method for labels 0 and 1; a fit sets `minimax_risk_` and `n_rounds_`."""

    def __init__(self, n_rounds: int, rule_output: str) -> None:
        self.n_rounds = n_rounds
        self.rule_output = rule_output

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Self:
        labels = np.where(y == 1, 1.0, -1.0)
        regularization = 1 / np.sqrt(len(y))
        signed_weights, rules = labels / len(y), np.empty((len(y), 0))
        self.minimax_risk_ = 0.5
        for _ in range(self.n_rounds):
            rule = self._rule(X, signed_weights)
            if signed_weights @ rule <= regularization:
                break
            rules = np.column_stack([rules, rule])
            self.minimax_risk_, duals = _solve(rules, labels, regularization)
            signed_weights = labels / len(y) - duals
        self.n_rounds_ = rules.shape[1]
        return self

    def _rule(self, X: NDArray[Any], signed_weights: NDArray[np.float64]) -> NDArray[np.float64]:
        tree = DecisionTreeClassifier(max_leaf_nodes=10, random_state=0)
        tree.fit(X, signed_weights > 0, sample_weight=len(signed_weights) * np.abs(signed_weights))
        mean_label = 2 * tree.predict_proba(X)[:, -1] - 1
        return mean_label if self.rule_output == "confidence" else np.where(mean_label > 0, 1.0, -1.0)


def _solve(
    rules: NDArray[np.float64], labels: NDArray[np.float64], regularization: float
) -> tuple[float, NDArray[np.float64]]:
    """Return R and alpha - beta (row,); the variables are the rules' weights and bounds on their absolute values."""
    n_rows, n_rules = rules.shape
    identity, zeros = np.eye(n_rules), np.zeros((n_rows, n_rules))
    limits = np.block([[rules, zeros], [-rules, zeros], [identity, -identity], [-identity, -identity]])
    bounds = np.concatenate([np.full(2 * n_rows, 0.5), np.zeros(2 * n_rules)])
    cost = np.concatenate([-(labels @ rules) / n_rows, np.full(n_rules, regularization)])
    solution = linprog(cost, A_ub=limits, b_ub=bounds, bounds=(None, None), method="highs")
    duals = -solution.ineqlin.marginals
    return 0.5 + solution.fun, duals[:n_rows] - duals[n_rows : 2 * n_rows]
