"""Ranking of labels by the probability that they are wrong."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.class_votes import winning_classes
from core.noise.estimation import FittedNoise, fit_noise
from core.noise.label_probabilities import check_label_probabilities
from core.noise.latent_labels import LatentLabels
from core.validation.labels import labels_like

#: Wrong labels that are expected at least. If none were expected, all labels would be right with certainty.
_MIN_EXPECTED_WRONG = 0.5
_ENTRIES_PER_BLOCK = 2**20


class LabelIssues(NamedTuple):
    """Assessment of each label, in the order of y."""

    quality: NDArray[np.float64]  # (row,) in [0, 1], lowest for the labels that are most probably wrong
    suggested: Any  # (row,) the most probable true label, usually the observed one; in the form of y
    is_issue: NDArray[np.bool_]  # (row,) whether the observed label is more probably wrong than right


def rank_label_issues(probabilities: ArrayLike, y: Any, classes: ArrayLike | None = None) -> LabelIssues:
    """Assess labels y (row,) with class probabilities (row, class) from models that did not see the row's own label.

    `quality` is the probability that the label is right, given the label and the row's probabilities, under the noise
    that `estimate_transition` finds in the same rows, but with at least half a wrong label in total. It is averaged
    over the error of the calibration, which moves it towards 1/2 if there are few rows (MacKay 1992, "The evidence
    framework applied to classification networks", section 3). If fewer than one label is expected to be wrong, the
    qualities are in the order of the margins of the observed classes over the best other ones. If the labels show that
    this model of the noise does not hold, as human errors can, the probabilities are shrunk towards their mean
    (`core.noise.misfit`). A row whose probabilities are all NaN is assessed by its label alone and is never an issue.
    If the labels do not identify the noise (`TransitionEstimate.identification`), no row is an issue, and the quality
    is an order only.

    The columns are as in `estimate_transition`. Raises InvalidInput.
    """
    return label_issues(fit_noise(check_label_probabilities(probabilities, y, classes)), y)


def label_issues(noise: FittedNoise, y: Any) -> LabelIssues:
    """Return the result of `rank_label_issues` for noise that has already been fitted to the labels y."""
    rows, estimate = noise.rows, noise.estimate
    model = noise.model.with_least_rate(_MIN_EXPECTED_WRONG / len(rows.codes))
    posterior = np.empty_like(rows.probabilities)
    posterior[rows.has_votes] = model.posterior(rows.probabilities[rows.has_votes], rows.codes[rows.has_votes])
    posterior[~rows.has_votes] = model.posterior_of_labels(estimate.priors)[rows.codes[~rows.has_votes]]
    right = np.take_along_axis(posterior, rows.codes[:, np.newaxis], axis=1)[:, 0]
    right[rows.has_votes] = _averaged(noise, model, posterior[rows.has_votes])
    if estimate.noise_rate * rows.has_votes.sum() < 1:
        right[rows.has_votes] = _in_order_of_margins(right[rows.has_votes], noise)
    right = estimate.misfit.shrunk(right, 1.0 - estimate.noise_rate)
    suggested = winning_classes(posterior)
    can_be_issue = rows.has_votes & estimate.identification.is_identified
    is_issue = can_be_issue & (right < 0.5) & (suggested != rows.codes)
    suggested = np.where(is_issue | (can_be_issue & (right < posterior.max(axis=1))), suggested, rows.codes)
    return LabelIssues(right, labels_like(y, rows.classes, suggested), is_issue)


def _in_order_of_margins(right: NDArray[np.float64], noise: FittedNoise) -> NDArray[np.float64]:
    """Return the values of `right` (row,) of the rows with votes in the order of the margins of the observed classes
    over the best other classes.

    Where hardly any label is expected to be wrong, this order finds more of the wrong labels of many classes: the
    average precision on the verified errors of the CIFAR-10 test set is .29 instead of .25.
    """
    rows = noise.rows
    clean, codes = noise.model.clean_probabilities(rows.probabilities[rows.has_votes]), rows.codes[rows.has_votes]
    own = np.take_along_axis(clean, codes[:, np.newaxis], axis=1)[:, 0]
    np.put_along_axis(clean, codes[:, np.newaxis], 0.0, axis=1)
    ordered = np.empty_like(right)
    ordered[np.argsort(own - clean.max(axis=1), kind="stable")] = np.sort(right)
    return ordered


def _averaged(noise: FittedNoise, model: LatentLabels, posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability that each label is right, averaged over the error of the calibration, for the rows with
    votes, whose clean classes have the distributions `posterior` (row, class).
    """
    from scipy.special import expit  # noqa: PLC0415  (a slow import that only estimates of noise need)

    probabilities, codes = noise.rows.probabilities[noise.rows.has_votes], noise.rows.codes[noise.rows.has_votes]
    n_classes = posterior.shape[1]
    covariance, log_odds = noise.covariance[n_classes:, n_classes:], np.empty(len(codes))
    step = max(1, _ENTRIES_PER_BLOCK // n_classes)
    for first in range(0, len(codes), step):
        rows = slice(first, first + step)
        log_odds[rows], score_gradient = _log_odds_of_right(posterior[rows], codes[rows])
        gradient = model.calibration.gradient(model.evidence(probabilities[rows]), score_gradient)
        log_odds[rows] /= np.sqrt(1 + np.pi / 8 * np.einsum("ij,ij->i", gradient @ covariance, gradient))
    return np.asarray(expit(log_odds))


def _log_odds_of_right(
    posterior: NDArray[np.float64], codes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log-odds that each label is right (row,), and their gradient in the logarithms of the joint
    probabilities of the clean classes and the label (row, class).
    """
    own, tiny = codes[:, np.newaxis], np.finfo(float).tiny
    gradient, right = posterior.copy(), np.take_along_axis(posterior, own, axis=1)
    np.put_along_axis(gradient, own, 0.0, axis=1)
    wrong = np.maximum(gradient.sum(axis=1, keepdims=True), tiny)
    gradient /= -wrong
    np.put_along_axis(gradient, own, 1.0, axis=1)
    return np.log(np.maximum(right, tiny) / wrong)[:, 0], gradient
