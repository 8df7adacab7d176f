"""Ranking of labels by the probability that they are wrong."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.class_votes import winning_classes
from core.noise.estimation import FittedNoise, fit_noise
from core.noise.label_probabilities import check_label_probabilities
from core.validation.labels import labels_like


class LabelIssues(NamedTuple):
    """Assessment of each label, in the order of y."""

    quality: NDArray[np.float64]  # (row,) in [0, 1], lowest for the labels that are most probably wrong
    suggested: Any  # (row,) the most probable true label, usually the observed one; in the form of y
    is_issue: NDArray[np.bool_]  # (row,) whether the observed label is more probably wrong than right


def rank_label_issues(probabilities: ArrayLike, y: Any, classes: ArrayLike | None = None) -> LabelIssues:
    """Assess labels y (row,) with class probabilities (row, class) from models that did not see the row's own label.

    `quality` is the probability that the label is right, given the label and the row's probabilities, under the noise
    that `estimate_transition` finds in the same rows. If the labels show that this model of the noise does not hold, as
    human errors can, the probabilities are shrunk towards their mean (`core.noise.misfit`). If fewer than one wrong
    label is expected in total, this probability hardly distinguishes the rows, and quality is (1 + m) / 2 instead,
    where m is the margin of the observed class over the best other class. A row whose probabilities are all NaN is
    assessed by its label alone and is never an issue. If the labels do not identify the noise
    (`TransitionEstimate.identification`), no row is an issue, and the quality is an order only.

    The columns are as in `estimate_transition`. Raises InvalidInput.
    """
    return label_issues(fit_noise(check_label_probabilities(probabilities, y, classes)), y)


def label_issues(noise: FittedNoise, y: Any) -> LabelIssues:
    """Return the result of `rank_label_issues` for noise that has already been fitted to the labels y."""
    rows, model = noise.rows, noise.model
    posterior = np.empty_like(rows.probabilities)
    posterior[rows.has_votes] = model.posterior(rows.probabilities[rows.has_votes], rows.codes[rows.has_votes])
    posterior[~rows.has_votes] = model.posterior_of_labels(noise.estimate.priors)[rows.codes[~rows.has_votes]]
    right = _label_column(posterior, rows.codes)
    right = noise.estimate.misfit.shrunk(right, 1.0 - noise.estimate.noise_rate)
    suggested = winning_classes(posterior)
    can_be_issue = rows.has_votes & noise.estimate.identification.is_identified
    is_issue = can_be_issue & (right < 0.5) & (suggested != rows.codes)
    suggested = np.where(is_issue | (can_be_issue & (right < posterior.max(axis=1))), suggested, rows.codes)
    quality = _margin_quality(noise) if noise.estimate.noise_rate * rows.has_votes.sum() < 1 else right
    return LabelIssues(np.clip(quality, 0.0, 1.0), labels_like(y, rows.classes, suggested), is_issue)


def _label_column(table: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the entry of each row of `table` in the column of its label."""
    return np.take_along_axis(table, codes[:, np.newaxis], axis=1)[:, 0]


def _margin_quality(noise: FittedNoise) -> NDArray[np.float64]:
    """Return (1 + margin) / 2 of the observed class over the best other class, 1 for rows without votes."""
    rows, quality = noise.rows, np.ones(len(noise.rows.codes))
    if len(rows.classes) == 1:
        return quality
    clean = noise.model.clean_probabilities(rows.probabilities[rows.has_votes])
    codes = rows.codes[rows.has_votes]
    own = _label_column(clean, codes)
    np.put_along_axis(clean, codes[:, np.newaxis], -1.0, axis=1)
    quality[rows.has_votes] = (1 + own - clean.max(axis=1)) / 2
    return quality
