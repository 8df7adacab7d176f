"""Test of whether labels and class probabilities identify the noise of the labels.

Noise is recognized by labels that contradict the features. If the features do not predict the labels, right and wrong
labels look the same, and a fit of the noise ends at the rate at which labels carry no information.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.groups import Groups, design_effect
from core.noise.latent_labels import LatentLabels
from core.noise.noise_models import MAX_RATE_SHARE, class_noise_rates

#: Agreement of votes and labels that is not by chance, in standard deviations over permuted labels; below 0,
#: disagreement.
_EVIDENT_AGREEMENT = 2.0
#: Largest difference between the share of wrong labels and the noise rates of the matrix; fits differ by 0.01.
_MAX_DIFFERENCE = 0.05

NOT_PREDICTED = (
    "the features do not evidently predict the labels better than the shares of the classes do, so that right and "
    "wrong labels cannot be told apart; check that the labels belong to these rows and that the "
    "features say something about them"
)


class VotedLabels(NamedTuple):
    """Labels with the votes on them, and the probability that each is right."""

    probabilities: NDArray[np.float64]  # (row, class)
    codes: NDArray[np.int64]  # (row,)
    right: NDArray[np.float64]  # (row,)
    groups: Groups | None  # (row,)


class Identification(NamedTuple):
    """Whether labels identify their noise."""

    is_identified: bool = True
    warning: str | None = None  # why they hardly do, or do not; None if they do
    #: Whether votes agree with the labels evidently less than with permuted ones, or, of rows in groups, less and so
    #: rarely that the estimated noise does not explain it.
    is_below_chance: bool = False


def identify_noise(model: LatentLabels, labels: VotedLabels, priors: NDArray[np.float64]) -> Identification:
    """Return whether the noise of these labels can be estimated. `priors` (class,) are the shares of the clean classes.

    Votes that agree with the labels less than by chance identify nothing. Votes that agree more, but not evidently so,
    leave a doubt, because real tables with 40 % noise are among them.
    """
    n_classes = len(model.transition)
    if n_classes == 1 or model.is_given:
        return Identification()
    score, rate = agreement(labels), float(1.0 - labels.right.mean())
    explained = float(priors @ class_noise_rates(model.transition))
    is_contradicted = rate >= MAX_RATE_SHARE * (n_classes - 1) / n_classes or rate - explained > _MAX_DIFFERENCE
    if score < _EVIDENT_AGREEMENT:
        # Few large groups are few observations, with which hardly any disagreement is evident on its own.
        disagrees = score < 0 and is_contradicted and labels.groups is not None
        is_below_chance = score < -_EVIDENT_AGREEMENT or disagrees
        return Identification(score >= 0 and not is_contradicted, NOT_PREDICTED, is_below_chance)
    return Identification(False, _contradiction(rate)) if is_contradicted else Identification()


def _contradiction(rate: float) -> str:
    return (
        f"{rate:.0%} of the labels contradict the features, more than labels can that are more often right than wrong; "
        "check that the labels belong to these rows and that their classes are not swapped"
    )


def agreement(labels: VotedLabels) -> float:
    """Return how far the votes for the classes of the labels exceed those for permuted labels, in standard deviations
    (Hoeffding 1951, "A combinatorial central limit theorem"). Rows of a group count as so many observations as they
    agree independently. Infinite if all labels are of one class.
    """
    probabilities, codes = labels.probabilities, labels.codes
    n_rows, shares = len(codes), np.bincount(codes, minlength=probabilities.shape[1]) / len(codes)
    if shares.max() == 1.0:
        return float("inf")
    excess = probabilities - probabilities.mean(axis=0)
    excess -= (excess @ shares)[:, np.newaxis]
    own = np.take_along_axis(excess, codes[:, np.newaxis], axis=1)[:, 0]
    variance = float((excess**2 @ shares).sum()) * n_rows / (n_rows - 1) * design_effect(own, labels.groups)
    return float(own.sum()) / float(np.sqrt(variance)) if variance > 0 else 0.0
