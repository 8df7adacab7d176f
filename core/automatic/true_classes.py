"""Probabilities of the true class of every row, by its label and the votes of forests, a regression and naive Bayes."""

import numpy as np
from numpy.typing import NDArray

from core.automatic.drawn_labels import TrueClasses, VoterShares
from core.automatic.naive_bayes import with_naive_bayes
from core.automatic.noise import SearchedNoise, true_class_probabilities
from core.automatic.ridge import with_regression
from core.automatic.search import SearchedPart, SearchResult
from core.forests.fitting import Fit
from core.growth.voting import votes
from core.losses.catalog import SquaredError
from core.monitoring import stopping_with


def true_classes_of_rows(
    fit: Fit, part: SearchedPart, result: SearchResult, noise: SearchedNoise, has_time: bool
) -> TrueClasses:
    """Return the probabilities of the true class of every row of the fit. Raises FitStopped.

    A row of a group that is in the search in part has no votes. Without time, only forests vote.
    """
    mixed, shares = _votes_of_forests(fit, part, result), VoterShares()
    if has_time:
        regression_share, mixed = with_regression(fit, part, result, mixed)
        share, mixed = with_naive_bayes(fit, mixed, result.most_important(fit.data.X.shape[1]))
        shares = VoterShares((1.0 - share) * regression_share, share)
    return TrueClasses(true_class_probabilities(noise, mixed, fit.data.labels.codes.astype(np.int64)), shares)


def _votes_of_forests(fit: Fit, part: SearchedPart, result: SearchResult) -> NDArray[np.float64]:
    """Return the mean votes of the best candidates on every row of the fit, (row, class); NaN for a row without.

    Rows that the search has left out have the votes of all trees, which were grown without them.
    """
    table = np.full((len(fit.data.X), len(fit.data.labels.classes)), np.nan)
    outside = part.is_outside(fit)
    if fit.data.groups is not None:
        outside &= ~np.isin(fit.data.groups, np.unique(fit.data.groups[part.rows]))
    if outside.any():
        table[outside] = _votes_on(fit, outside, result)
    table[part.rows] = result.mean_votes
    return table


def _votes_on(fit: Fit, rows: NDArray[np.bool_], result: SearchResult) -> NDArray[np.float64]:
    """Return the mean vote of the best candidates on rows that they were grown without, (row, class)."""
    X, vote = np.ascontiguousarray(fit.data.X[rows]), SquaredError().vote
    with stopping_with(fit.monitor):
        total = np.zeros((len(X), len(fit.data.labels.classes)))
        for one in result.best:
            total += votes(X, one.trees, vote, fit.n_threads)
    return total / len(result.best)
