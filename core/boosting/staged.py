"""Staged predictions: those of a booster after each of its rounds.

A booster that adds one rule per round and keeps the weights of the earlier ones has a model after every round. Boosters
that solve the weights of all rules again in each round have only one model, that of the last round: the earlier weights
are not stored, and the first rules with their final weights are not a model that the fit ever had.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.boosting.boosted_classifier import BoostedClassifier
from core.boosting.rules import WeightedRules
from core.class_votes import decision_values, highest_scores
from core.growth.leaf_paths import leaves_of_trees
from core.validation.training_data import prediction_rows


class StagedBooster(BoostedClassifier):
    """Base of boosters whose first m rules are the model after m rounds.

    With more than two classes, stage m has the first m rules of every class, or all of a class with fewer.
    """

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield `decision_function` of X after each round, `n_rounds_` arrays."""
        return (decision_values(scores) for scores in self._staged_scores(X))

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield `predict_proba` of X after each round, `n_rounds_` arrays."""
        return (self._probabilities(scores) for scores in self._staged_scores(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield `predict` of X after each round, `n_rounds_` arrays."""
        return (self.classes_[highest_scores(scores)] for scores in self._staged_scores(X))

    def _staged_scores(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Check X, and return an iterator over the scores (row, score) after each round."""
        self._check_is_fitted("weighted_rules_")
        return _prefix_sums(self.weighted_rules_, prediction_rows(self, X))


def _prefix_sums(weighted: WeightedRules, rows: NDArray[Any]) -> Iterator[NDArray[np.float64]]:
    scores = np.zeros((len(rows), weighted.n_scores), dtype=np.float64)
    rules_of_classes = [np.flatnonzero(weighted.columns == column) for column in range(weighted.n_scores)]
    for stage in range(max(map(len, rules_of_classes))):
        for column, rules in enumerate(rules_of_classes):
            if stage < len(rules):
                rule, weight = weighted.rules[rules[stage]], weighted.weights[rules[stage]]
                scores[:, column] += weight * rule.outputs[leaves_of_trees((rule.nodes,), rows)[:, 0]]
        yield scores.copy()


def refused(reason: str) -> Any:
    """Return a property that raises AttributeError with `reason`, so that `hasattr` is false."""

    def raise_reason(booster: BoostedClassifier) -> Any:
        raise AttributeError(f"{type(booster).__name__} has no staged predictions of this kind: {reason}")

    return property(raise_reason, doc=f"Not available: {reason}")


_SOLVED_AGAIN = (
    "each round solves the weights of all rules again and keeps only the last ones, so that there is no model of an "
    "earlier round. Fit with a smaller n_rounds to get it."
)


class UnstagedBooster(BoostedClassifier):
    """Base of boosters that solve the weights of all rules again in each round."""

    staged_decision_function = refused(_SOLVED_AGAIN)
    staged_predict_proba = refused(_SOLVED_AGAIN)
    staged_predict = refused(_SOLVED_AGAIN)
