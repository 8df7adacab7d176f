"""How annotators answer, given the probabilities of the true classes: confusion matrices with standard errors."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from core.annotators.answer_models import (
    PRIOR_ANSWERS,
    Posterior,
    answered_classes,
    confusion_counts,
    pooled_confusion,
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
    """Return the quality of each annotator, whose answers count together with `PRIOR_ANSWERS` of all annotators."""
    given = answered_classes(answers)
    counts = confusion_counts(given, posterior)
    totals = counts + PRIOR_ANSWERS * pooled_confusion(counts)
    confusion = totals / totals.sum(axis=2, keepdims=True)
    error = np.sqrt(dispersion) * _confusion_error(given, posterior, confusion)
    error = np.minimum(error, _MAX_ERROR)
    shares = posterior.mean(axis=0)
    diagonal, diagonal_error = (np.diagonal(table, axis1=1, axis2=2) for table in (confusion, error))
    reliability_error = np.sqrt(diagonal_error**2 @ shares**2)
    return AnnotatorQuality(confusion, error, diagonal @ shares, reliability_error)


def _confusion_error(given: csr_array, posterior: Posterior, confusion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard errors of the cells of confusion matrices, if answers were independent.

    The information in the answers is that for known classes minus that which is missing because the classes have to
    be inferred (Louis 1982, "Finding the observed information matrix when using the EM algorithm"), for each cell
    alone.
    """
    doubts = confusion_counts(given, posterior * (1 - posterior))
    row_doubts = doubts.sum(axis=2, keepdims=True)
    n_answers = confusion_counts(given, posterior).sum(axis=2, keepdims=True) + PRIOR_ANSWERS
    variance = confusion * (1 - confusion)
    missing = (doubts * (1 - 2 * confusion) + row_doubts * confusion**2) / variance
    return np.asarray(np.sqrt(variance / np.maximum(n_answers - missing, 1.0)))
