"""Which labels are probably wrong, and what they should be."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.noise.estimation import FittedNoise, fit_noise
from core.noise.given_probabilities import given_probabilities


class LabelIssues(NamedTuple):
    """One entry a row, in the order of y."""

    quality: NDArray[np.float64]  # (row,) in [0, 1], least for the labels most probably wrong
    suggested: NDArray[Any]  # (row,) the most probable clean label, often the one given
    is_issue: NDArray[np.bool_]  # (row,) whether the given label is more probably wrong than right


def rank_label_issues(probabilities: ArrayLike, y: Any, classes: ArrayLike | None = None) -> LabelIssues:
    """Judge labels y (row,) by class probabilities (row, class) that were made without a look at the row's own label.

    `quality` is the probability that the label is right, given itself and the row's probabilities, under the noise
    that `estimate_transition` finds in the same rows. Where that leaves less than one wrong label among all rows, the
    probability says too little to order them, and quality is (1 + m) / 2 with m the margin of the given class over the
    best other one. A row that is NaN throughout is judged by its label alone and never an issue.

    Columns are as in `estimate_transition`. Raises InvalidInput.
    """
    return issues_under(fit_noise(given_probabilities(probabilities, y, classes)))


def issues_under(noise: FittedNoise) -> LabelIssues:
    """`rank_label_issues` with the noise known."""
    given, model = noise.given, noise.model
    posterior = np.empty_like(given.probabilities)
    posterior[given.voted] = model.posterior(given.probabilities[given.voted], given.codes[given.voted])
    joint = noise.estimate.priors[:, np.newaxis] * model.transition
    of_label = joint.sum(axis=0)
    by_label = np.where(of_label > 0, joint / np.where(of_label > 0, of_label, 1.0), np.eye(len(joint))).T
    posterior[~given.voted] = by_label[given.codes[~given.voted]]
    right = _of_label(posterior, given.codes)
    suggested = posterior.argmax(axis=1)
    is_issue = given.voted & (right < 0.5) & (suggested != given.codes)
    suggested = np.where(is_issue | (given.voted & (right < posterior.max(axis=1))), suggested, given.codes)
    quality = _margins(noise) if noise.estimate.noise_rate * given.voted.sum() < 1 else right
    return LabelIssues(np.clip(quality, 0.0, 1.0), given.classes[suggested], is_issue)


def _of_label(table: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.take_along_axis(table, codes[:, np.newaxis], axis=1)[:, 0]


def _margins(noise: FittedNoise) -> NDArray[np.float64]:
    """(1 + margin) / 2 of the given class over the best other one, 1 for rows without votes."""
    given, quality = noise.given, np.ones(len(noise.given.codes))
    if len(given.classes) == 1:
        return quality
    clean = noise.model.clean_probabilities(given.probabilities[given.voted])
    codes = given.codes[given.voted]
    of_label = _of_label(clean, codes)
    np.put_along_axis(clean, codes[:, np.newaxis], -1.0, axis=1)
    quality[given.voted] = (1 + of_label - clean.max(axis=1)) / 2
    return quality
