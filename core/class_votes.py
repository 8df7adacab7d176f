"""Votes, scores or probabilities of classes: the class that they decide for, and the rows that have any."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def winning_classes(votes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of the class with the largest vote in each row of `votes` (row, class); ties go to the first
    class.
    """
    return np.asarray(votes.argmax(axis=1))


def rows_with_votes(votes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether each row of `votes` (row, class) has votes, bool (row,); one without has NaN in its columns."""
    return np.logical_not(np.isnan(votes).any(axis=1))


def highest_scores(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of the class with the highest of the scores (row, class), or for scores (row, 1) of the second
    of two classes, whether they are above zero.
    """
    return (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else winning_classes(scores)


def decision_values(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores (row, score) in scikit-learn's shape: (row,) with two classes, else (row, class)."""
    return scores[:, 0] if scores.shape[1] == 1 else scores
