"""Quality of annotators, given the probabilities of the true classes: confusion matrices and reliabilities, with
standard errors.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from core.annotators.answer_models import (
    PRIOR_ANSWERS,
    Posterior,
    answered_classes,
    confusion_counts,
    smoothed_confusion,
)
from core.annotators.answers import Answers

#: No random number in [0, 1] has a larger standard deviation.
_MAX_ERROR = 0.5


class AnnotatorQuality(NamedTuple):
    """Confusion matrices and reliabilities; each error is the standard error of the field before it."""

    confusion: NDArray[np.float64]  # (annotator, true class, answered class), rows sum to 1
    confusion_error: NDArray[np.float64]
    reliability: NDArray[np.float64]  # (annotator,), probability that an answer is right
    reliability_error: NDArray[np.float64]


def annotator_quality(answers: Answers, posterior: Posterior, dispersion: float) -> AnnotatorQuality:
    """Return the quality of each annotator, with a prior that all annotators together are like."""
    columns = answered_classes(answers)
    confusion = smoothed_confusion(confusion_counts(columns, posterior))
    error = _confusion_error(columns, posterior, confusion, dispersion)
    return AnnotatorQuality(confusion, error, *_reliability(answers, posterior, dispersion))


def _reliability(
    answers: Answers, posterior: Posterior, dispersion: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the share of right answers of each annotator and its standard error, both (annotator,).

    It is counted over the annotator's own items, not computed from the confusion matrices: these have many cells, and
    the prior of all of them together would outweigh the answers.
    """
    right = posterior[answers.item_of, answers.class_of]
    n_answers = answers.sum_by_annotator() + PRIOR_ANSWERS
    reliability = (answers.sum_by_annotator(right) + PRIOR_ANSWERS * right.mean()) / n_answers
    doubts = answers.sum_by_annotator(right * (1 - right))
    return reliability, _standard_error(reliability, n_answers, doubts, doubts, dispersion)


def _confusion_error(
    columns: csr_array, posterior: Posterior, confusion: NDArray[np.float64], dispersion: float
) -> NDArray[np.float64]:
    """Return the standard errors of the cells of confusion matrices, each cell alone."""
    doubts = confusion_counts(columns, posterior * (1 - posterior))
    n_answers = confusion_counts(columns, posterior).sum(axis=2, keepdims=True) + PRIOR_ANSWERS
    return _standard_error(confusion, n_answers, doubts, doubts.sum(axis=2, keepdims=True), dispersion)


def _standard_error(
    rate: NDArray[np.float64],
    n_answers: NDArray[np.float64],
    hit_doubts: NDArray[np.float64],
    doubts: NDArray[np.float64],
    dispersion: float,
) -> NDArray[np.float64]:
    """Return the standard errors of rates of answers.

    The information in the answers is that for known classes minus that which is missing because the classes have to be
    inferred (Louis 1982, "Finding the observed information matrix when using the EM algorithm"). Only the part of the
    variance that follows from inferred classes grows with the dispersion. Two more answers, one of which is a hit, keep
    the variance of rates near 0 and 1 from vanishing.

    hit_doubts, doubts: sums of the variances of the indicator of the class over the hits, and over all answers.
    """
    near = (rate * n_answers + 1) / (n_answers + 2)
    variance = near * (1 - near)
    missing = (hit_doubts * (1 - 2 * near) + doubts * near**2) / variance
    of_known = variance / n_answers
    of_inferred = variance / np.maximum(n_answers - missing, 1.0)
    return np.minimum(np.sqrt(of_known + dispersion * np.maximum(of_inferred - of_known, 0.0)), _MAX_ERROR)
