"""Votes of naive Bayes, from which the probabilities of the true classes follow in part where labels are drawn.

Naive Bayes takes each feature on its own. Where labels carry little information, there are too few rows to learn how
features work together, and a classifier that does not try can be more accurate (Bickel and Levina 2004, "Some theory
for Fisher's linear discriminant function, 'naive Bayes', and some alternatives when there are many more variables than
observations"). Its errors are not those of forests. It has no vote in the fitted model, so that a prediction takes no
longer.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.automatic.vote_shares import MixedVotes, accuracies_by_share, mixed_votes
from core.forests.fitting import Fit
from core.monitoring import raise_if_stopped
from core.validation.training_data import TrainingData

#: Shares of the vote that are compared.
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4)
#: Numbers are divided into so many intervals with about equally many rows, unless they have as few distinct values.
_N_INTERVALS = 8
#: Categories with more levels than this share of the rows tell rows apart rather than classes.
_MAX_LEVELS = 0.1
#: Rows of mean weight that the intervals or categories of each class have beforehand, in the mean.
_PRIOR_ROWS = 5.0
#: Smallest weight of the other rows of a class, whose logarithm is finite.
_LEAST_WEIGHT = 1e-9


def with_naive_bayes(fit: Fit, votes: NDArray[np.float64], features: NDArray[np.int64]) -> MixedVotes:
    """Return `votes` (row, class), NaN for a row without, with the share of naive Bayes that is most accurate.

    features: numbers of the features that it takes into account. Accuracy is that on the given labels; both votes on a
    row are independent of its label. Rows of one group cannot be kept apart, so that the share is 0 with groups. Raises
    FitStopped.
    """
    if fit.data.groups is not None:
        return MixedVotes(0.0, votes)
    naive = left_out_votes_of_naive_bayes(fit.data, features, fit.monitor.stop_flag)
    share = SHARES[int(np.argmax(accuracies_by_share(fit.data, votes, naive, SHARES)))]
    return MixedVotes(share, mixed_votes(votes, naive, share) if share else votes)


class _Table(NamedTuple):
    """Weights of the rows of each class."""

    codes: NDArray[np.int64]  # (row,)
    weights: NDArray[np.float64]  # (row,), 1 in the mean
    of_classes: NDArray[np.float64]  # (class,)


def left_out_votes_of_naive_bayes(
    data: TrainingData, features: NDArray[np.int64], stop_flag: NDArray[np.uint8] | None
) -> NDArray[np.float64]:
    """Return class probabilities of each row by some features and the labels of all other rows, (row, class).

    The intervals are those of all rows. Raises FitStopped.
    """
    codes, weights = data.labels.codes.astype(np.int64), data.weights / data.weights.mean()
    table = _Table(codes, weights, np.bincount(codes, weights, len(data.labels.classes)).astype(np.float64))
    with_row = np.tile(np.log(np.maximum(table.of_classes, _LEAST_WEIGHT)), (len(codes), 1))
    # Only the evidence for its own class changes if a row is left out.
    without_row = np.log(np.maximum(table.of_classes[codes] - weights, _LEAST_WEIGHT))
    for feature in features:
        raise_if_stopped(stop_flag)
        values = data.X[:, feature].astype(np.float64)
        known = np.flatnonzero(~np.isnan(values))
        cells = _cells(values[known], bool(data.is_categorical[feature]))
        if cells is not None:
            _add_evidence(with_row, without_row, table, known, cells)
    with_row[np.arange(len(codes)), codes] = without_row
    probabilities = np.exp(with_row - with_row.max(axis=1, keepdims=True))
    return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))


def _cells(values: NDArray[np.float64], is_categorical: bool) -> NDArray[np.int64] | None:
    """Return the number of the category or of the interval of each value, (value,); None if they have no use."""
    distinct = np.unique(values)
    if len(distinct) <= 1 or (is_categorical and len(distinct) > max(_N_INTERVALS, _MAX_LEVELS * len(values))):
        return None
    if is_categorical or len(distinct) <= _N_INTERVALS:
        return np.searchsorted(distinct, values)
    shares = np.linspace(0.0, 1.0, _N_INTERVALS + 1)[1:-1]
    bounds = np.unique(np.quantile(values, shares, method="inverted_cdf"))
    if np.mean(values == bounds[0]) > 1 / _N_INTERVALS and bounds[0] > distinct[0]:
        # A value that many rows have must not hide the smaller ones.
        bounds = np.insert(bounds, 0, distinct[np.searchsorted(distinct, bounds[0]) - 1])
    return np.searchsorted(bounds, values)


def _add_evidence(
    with_row: NDArray[np.float64],
    without_row: NDArray[np.float64],
    table: _Table,
    rows: NDArray[np.int64],
    cells: NDArray[np.int64],
) -> None:
    """Add the log likelihoods of the values of one feature to those of the rows that have one."""
    codes, weights = table.codes[rows], table.weights[rows]
    n_cells, n_classes = int(cells.max()) + 1, len(table.of_classes)
    counts = np.bincount(cells * n_classes + codes, weights, n_cells * n_classes).reshape(n_cells, n_classes)
    totals, n_before = counts.sum(axis=0), _PRIOR_ROWS * n_cells
    before = n_before * np.bincount(cells, weights, n_cells) / weights.sum()  # as many as the cell has of all rows
    likelihoods = np.log((counts + before[:, np.newaxis]) / (totals + n_before))
    with_row[rows] += likelihoods[cells]
    others_in_cell = np.maximum(counts[cells, codes] - weights, 0.0)
    others = np.maximum(totals[codes] - weights, 0.0)
    without_row[rows] += np.log((others_in_cell + before[cells]) / (others + n_before))
