"""Votes of forests mixed with those of another classifier, and the accuracy of each share of it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.class_votes import winning_classes
from core.validation.training_data import TrainingData


def mixed_votes(votes: NDArray[np.float64], others: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return the mean of `votes` and `others`, which have `share` of it, all (row, class)."""
    return (1.0 - share) * votes + share * others


def accuracies_by_share(
    data: TrainingData, votes: NDArray[np.float64], others: NDArray[np.float64], shares: Sequence[float]
) -> NDArray[np.float64]:
    """Return the accuracy of `votes` with each share of `others`, both (row, class), on the given labels, (share,).

    Only rows with votes count; without any, all accuracies are 0.
    """
    has_votes = ~np.isnan(votes).any(axis=1)
    if not has_votes.any():
        return np.zeros(len(shares))
    codes, weights = data.labels.codes[has_votes], data.weights[has_votes]
    mixed = (mixed_votes(votes[has_votes], others[has_votes], share) for share in shares)
    return np.array([np.average(winning_classes(one) == codes, weights=weights) for one in mixed])
