"""Votes of forests mixed with those of another classifier, and the accuracy of each share of it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.class_votes import rows_with_votes, winning_classes
from core.validation.training_data import TrainingData


class MixedVotes(NamedTuple):
    """Mean votes with a share of another classifier."""

    share: float
    votes: NDArray[np.float64]  # (row, class), NaN for a row without


def mixed_votes(votes: NDArray[np.float64], others: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return the mean of `votes` and `others`, which have `share` of it, all (row, class)."""
    return (1.0 - share) * votes + share * others


def accuracies_by_share(
    data: TrainingData, votes: NDArray[np.float64], others: NDArray[np.float64], shares: Sequence[float]
) -> NDArray[np.float64]:
    """Return the accuracy of `votes` with each share of `others`, both (row, class), on the given labels, (share,).

    Only rows with votes count; without any, all accuracies are 0.
    """
    has_votes = rows_with_votes(votes)
    if not has_votes.any():
        return np.zeros(len(shares))
    weights = data.weights[has_votes]
    return np.array([np.average(_is_right(data, votes, others, share)[has_votes], weights=weights) for share in shares])


def gains_clearly(
    data: TrainingData, votes: NDArray[np.float64], others: NDArray[np.float64], share: float, n_errors: float
) -> bool:
    """Return whether `share` of `others` makes `votes`, both (row, class), more accurate on the given labels by more
    than `n_errors` standard errors of the gain. Only rows with votes count.
    """
    has_votes = rows_with_votes(votes)
    right = [_is_right(data, votes, others, one)[has_votes].astype(np.float64) for one in (0.0, share)]
    weights = data.weights[has_votes]
    gains = weights * (right[1] - right[0])
    deviations = gains - weights * gains.sum() / weights.sum()
    return bool(gains.sum() > n_errors * np.sqrt(np.sum(deviations**2)))


def _is_right(
    data: TrainingData, votes: NDArray[np.float64], others: NDArray[np.float64], share: float
) -> NDArray[np.bool_]:
    """Return whether the given label of each row wins the vote with a share of `others`, (row,)."""
    return np.asarray(winning_classes(mixed_votes(votes, others, share)) == data.labels.codes)
