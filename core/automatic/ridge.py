"""Kernel ridge regression beside the forests of a search: how much of the vote it gets.

Trees cut the space of the features along its axes and do not see that a class changes smoothly with a feature. A smooth
classifier errs on other rows, so that their mean is often more accurate than either, above all with few rows. Where it
is much better, as on images, the probabilities of the true classes follow from its votes as well.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.automatic.drawn_labels import TrueClasses
from core.automatic.search import SearchedPart, SearchResult
from core.automatic.vote_shares import MixedVotes, accuracies_by_share, gains_clearly, mixed_votes
from core.forests.fitting import Fit
from core.kernel_ridge.fitting import FittedRidge, fit_kernel_ridge
from core.kernel_ridge.model import KernelRidge
from core.monitoring import stopping_with
from core.noise.correction import clip_to_simplex
from core.randomness import Purpose

#: Shares of the vote that are compared.
SHARES = (0.0, 0.25, 0.5, 0.75)
#: With more classes, the table of coefficients is large and each class has few rows.
_MOST_CLASSES = 100
#: Standard errors that the accuracy on the given labels must gain for a share in the votes that the probabilities of
#: the true classes follow from. The best of three shares gains two errors by chance often enough to cost accuracy on
#: small tables: `docs/decisions/0033`.
_CLEAR_GAIN_ERRORS = 3.0


class RidgeShare(NamedTuple):
    """Share of a kernel ridge regression in the vote, and what it changes on left-out rows."""

    share: float
    forests_score: float  # accuracy of the mean vote of the best forests on the given labels, out of bag
    score: float  # the same with the share of a regression of these labels, by fits without the label of the row


class SharedRidge(NamedTuple):
    """A regression that has a share of the vote."""

    share: RidgeShare
    model: KernelRidge
    by_targets: NDArray[np.float64]  # (row of the search, class), scores by fits without the target of the row
    by_labels: NDArray[np.float64]  # the same if the targets are the labels; independent of the label of the row


def may_have_regression(fit: Fit) -> bool:
    """Return whether a regression is tried beside the forests if there is time."""
    return fit.data.groups is None and 2 <= len(fit.data.labels.classes) <= _MOST_CLASSES


def ridge_of_search(part: SearchedPart, result: SearchResult, true_classes: TrueClasses | None) -> SharedRidge | None:
    """Return the regression with the share of the vote that is most accurate out of bag, or None if none helps.

    It is fitted to the probabilities of the true classes if they are given, or else to the labels, and compares rows by
    the features that are most important to the trees. Rows of one group cannot be kept apart, so there is none with
    groups.

    The probabilities of a row depend on the labels of similar rows. So votes of a regression of probabilities that
    leaves a row out still depend on its label, and seem too accurate; those of a regression of the labels do
    not. A share must not lower the accuracy with the second, and of these it is the best with the first, which varies
    less. Raises FitStopped.
    """
    fit = part.fit
    if not may_have_regression(fit):
        return None
    labels = _indicators(fit)
    fitted = _fitted(fit, result, labels if true_classes is None else true_classes.probabilities[part.rows])
    if fitted is None:
        return None
    of_labels = fitted if true_classes is None else fitted.with_targets(labels)
    on_labels = accuracies_by_share(fit.data, result.mean_votes, of_labels.left_out_scores, SHARES)
    by_targets = accuracies_by_share(fit.data, result.mean_votes, fitted.left_out_scores, SHARES)
    best = int(np.argmax(np.where(on_labels >= on_labels[0], by_targets, -np.inf)))
    share = RidgeShare(SHARES[best], float(on_labels[0]), float(on_labels[best]))
    return SharedRidge(share, fitted.model, fitted.left_out_scores, of_labels.left_out_scores) if share.share else None


def with_regression(fit: Fit, part: SearchedPart, result: SearchResult, votes: NDArray[np.float64]) -> MixedVotes:
    """Return `votes` of the best candidates (row of the fit, class), NaN for a row without, with the share of a
    regression of the given labels.

    It is the share that is most accurate on the given labels if that is a clear gain, or else 0. Both votes on a row
    are independent of its label. Raises FitStopped.
    """
    fitted = _fitted(part.fit, result, _indicators(part.fit)) if may_have_regression(fit) else None
    if fitted is None:
        return MixedVotes(0.0, votes)
    data, of_search, scores = part.fit.data, votes[part.rows], fitted.left_out_scores
    share = SHARES[int(np.argmax(accuracies_by_share(data, of_search, scores, SHARES)))]
    if not gains_clearly(data, of_search, scores, share, _CLEAR_GAIN_ERRORS):
        return MixedVotes(0.0, votes)
    mixed, outside = votes.copy(), part.is_outside(fit)
    mixed[part.rows] = mixed_votes(of_search, scores, share)
    mixed[outside] = _with_scores(fit, fitted.model, outside, votes[outside], share)
    return MixedVotes(share, clip_to_simplex(mixed))


def _with_scores(
    fit: Fit, model: KernelRidge, rows: NDArray[np.bool_], votes: NDArray[np.float64], share: float
) -> NDArray[np.float64]:
    """Return the votes on some rows of the fit with a share of a regression that was fitted without them."""
    with stopping_with(fit.monitor):
        model.mix_into(votes, np.ascontiguousarray(fit.data.X[rows]), share, fit.n_threads)
    return votes


def _indicators(fit: Fit) -> NDArray[np.float64]:
    """Return 1 for the label of each row and 0 for other classes, (row, class)."""
    return np.asarray(np.eye(len(fit.data.labels.classes))[fit.data.labels.codes])


def _fitted(fit: Fit, result: SearchResult, targets: NDArray[np.float64]) -> FittedRidge | None:
    """Return the regression of targets (row of the search, class), or None if there is none. Raises FitStopped."""
    features, generator = result.most_important(fit.data.X.shape[1]), fit.seeds.generator(Purpose.LANDMARKS)
    return fit_kernel_ridge(fit.data, targets, features, generator, fit.n_threads, fit.monitor.stop_flag)


def searched_votes(result: SearchResult, ridge: SharedRidge | None) -> NDArray[np.float64]:
    """Return the mean votes of the best candidates and the regression of the labels, (row of the search, class).

    The votes on a row are independent of its label. NaN for a row without votes in one of the candidates.
    """
    votes = result.mean_votes
    return votes if ridge is None else mixed_votes(votes, ridge.by_labels, ridge.share.share)
