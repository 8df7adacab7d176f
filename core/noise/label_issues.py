"""Ranking of labels by the probability that they are wrong."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.class_votes import winning_classes
from core.noise.estimation import FittedNoise, fit_noise
from core.noise.label_probabilities import check_label_probabilities
from core.validation.labels import labels_like

#: Models that probabilities are averaged over: half of them are drawn, the others are their mirror images.
_N_DRAWN_MODELS = 32
_ENTRIES_PER_BLOCK = 2**20
#: Margins that are equal when rounded to so many decimals are ties.
_MARGIN_DECIMALS = 9


class LabelIssues(NamedTuple):
    """Assessment of each label, in the order of y."""

    quality: NDArray[np.float64]  # (row,) in [0, 1], lowest for the labels that are most probably wrong
    suggested: Any  # (row,) the most probable true label, usually the observed one; in the form of y
    is_issue: NDArray[np.bool_]  # (row,) whether the observed label is more probably wrong than right


def rank_label_issues(probabilities: ArrayLike, y: Any, classes: ArrayLike | None = None) -> LabelIssues:
    """Assess labels y (row,) with class probabilities (row, class) from models that did not see the row's own label.

    `quality` is the probability that the label is right, given the label and the row's probabilities, under the noise
    that `estimate_transition` finds in the same rows. It is averaged over the error of that estimate: the parameters of
    the model are drawn from a normal distribution with their covariance. If fewer than one label is expected to be
    wrong, the qualities are in the order of the margins of the observed classes over the best other ones. If the labels
    show that this model of the noise does not hold, as human errors can, the probabilities are shrunk toward their mean
    (`core.noise.misfit`). A row whose probabilities are all NaN is assessed by its label alone and is never an issue.
    If the labels do not identify the noise (`TransitionEstimate.identification`), no row is an issue, and the quality
    is an order only.

    The columns are as in `estimate_transition`. Raises InvalidInput.
    """
    return label_issues(fit_noise(check_label_probabilities(probabilities, y, classes)), y)


def label_issues(noise: FittedNoise, y: Any) -> LabelIssues:
    """Return the result of `rank_label_issues` for noise that has already been fitted to the labels y."""
    rows, estimate = noise.rows, noise.estimate
    posterior = np.empty_like(rows.probabilities)
    posterior[rows.has_votes] = _averaged_posterior(noise)
    # A class that only rows without votes have would have a prior of 0, which rules out its own labels.
    priors = np.maximum(estimate.priors, 0.5 / len(rows.codes))
    posterior[~rows.has_votes] = noise.model.posterior_of_labels(priors)[rows.codes[~rows.has_votes]]
    right = np.take_along_axis(posterior, rows.codes[:, np.newaxis], axis=1)[:, 0]
    if estimate.noise_rate * rows.has_votes.sum() < 1:
        right[rows.has_votes] = _in_order_of_margins(right[rows.has_votes], noise)
    right = np.clip(estimate.misfit.shrunk(right, 1.0 - estimate.noise_rate), 0.0, 1.0)
    suggested = winning_classes(posterior)
    can_be_issue = rows.has_votes & estimate.identification.is_identified
    is_issue = can_be_issue & (right < 0.5) & (suggested != rows.codes)
    suggested = np.where(is_issue | (can_be_issue & (right < posterior.max(axis=1))), suggested, rows.codes)
    return LabelIssues(right, labels_like(y, rows.classes, suggested), is_issue)


def _averaged_posterior(noise: FittedNoise) -> NDArray[np.float64]:
    """Return the distribution of the clean class given the observed label, of the rows with votes, (row, class),
    averaged over the error of the parameters of the model.

    The draws do not depend on the order of the rows. The symmetric root of the covariance is a continuous function of
    it, so that differences in last digits stay small.
    """
    probabilities, codes = noise.rows.probabilities[noise.rows.has_votes], noise.rows.codes[noise.rows.has_votes]
    variances, axes = np.linalg.eigh(noise.covariance)
    root = (axes * np.sqrt(np.maximum(variances, 0.0))) @ axes.T
    draws = np.random.default_rng(0).standard_normal((_N_DRAWN_MODELS // 2, len(root))) @ root
    models = [noise.model.moved(step) for step in (*draws, *-draws)]
    averaged, block = np.empty_like(probabilities), max(1, _ENTRIES_PER_BLOCK // probabilities.shape[1])
    for first in range(0, len(codes), block):
        rows = slice(first, first + block)
        averaged[rows] = sum(model.posterior(probabilities[rows], codes[rows]) for model in models)
    return averaged / _N_DRAWN_MODELS


def _in_order_of_margins(right: NDArray[np.float64], noise: FittedNoise) -> NDArray[np.float64]:
    """Return the values of `right` (row,) of the rows with votes in the order of the margins of the observed classes
    over the best other classes. Rows with equal margins share their mean.

    Where hardly any label is wrong and there are many classes, this order puts more of the wrong labels first: the
    average precision on the verified errors of the CIFAR-10 test set is .29 instead of .25.
    """
    rows = noise.rows
    clean, codes = noise.model.clean_probabilities(rows.probabilities[rows.has_votes]), rows.codes[rows.has_votes]
    own = np.take_along_axis(clean, codes[:, np.newaxis], axis=1)[:, 0]
    np.put_along_axis(clean, codes[:, np.newaxis], 0.0, axis=1)
    margins = np.round(own - clean.max(axis=1), _MARGIN_DECIMALS)
    _, group, counts = np.unique(margins, return_inverse=True, return_counts=True)
    starts = np.cumsum(counts) - counts
    means = np.add.reduceat(np.sort(right), starts) / counts
    return np.asarray(means[group])
