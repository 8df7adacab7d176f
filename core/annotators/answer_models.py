"""Models of how annotators answer: the probability of each answer if the true class of its item is known."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from core.annotators.answers import Answers

#: An annotator with few answers is taken to be like all together, who count as so many answers for each true class.
PRIOR_ANSWERS = 4.0
#: Largest number of these answers, where annotators hardly differ.
MAX_PRIOR_ANSWERS = 20.0

Posterior = NDArray[np.float64]  # (item, class), probability of each true class


class AnswerModel(ABC):
    """Model of the answers, fitted to answers and the probabilities of the true classes of their items."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers

    @abstractmethod
    def fit(self, posterior: Posterior) -> None:
        """Maximize the expected log-likelihood of the answers, with the prior of the parameters."""

    @abstractmethod
    def log_likelihood(self) -> NDArray[np.float64]:
        """Return the log-likelihood of all answers to an item for each of its true classes, (item, class)."""

    @abstractmethod
    def right(self, true_class: int) -> NDArray[np.float64]:
        """Return the probability that an answer to an item of this class is right, (answer,)."""


class OneCoin(AnswerModel):
    """Each annotator is right with one probability; wrong answers are equally likely for all other classes."""

    _rate: NDArray[np.float64]  # (annotator,)

    def fit(self, posterior: Posterior) -> None:
        answers = self.answers
        n_right = answers.sum_by_annotator(posterior[answers.item_of, answers.class_of])
        n_answers = answers.sum_by_annotator()
        pooled = (n_right.sum() + 2) / (n_answers.sum() + 3)
        self._rate = (n_right + PRIOR_ANSWERS * pooled) / (n_answers + PRIOR_ANSWERS)

    def log_likelihood(self) -> NDArray[np.float64]:
        return symmetric_log_likelihood(self.answers, self._rate[self.answers.annotator_of])

    def right(self, true_class: int) -> NDArray[np.float64]:
        return np.asarray(self._rate[self.answers.annotator_of])


def symmetric_log_likelihood(answers: Answers, right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-likelihood (item, class) of answers that are right with these probabilities (answer,), and
    otherwise any other class with equal probability.
    """
    log_wrong = np.log1p(-right) - np.log(answers.n_classes - 1)
    return answers.sum_by_class(np.log(right) - log_wrong) + answers.sum_by_item(log_wrong)[:, np.newaxis]


class DawidSkene(AnswerModel):
    """Each annotator has a confusion matrix (Dawid & Skene 1979, "Maximum likelihood estimation of observer error-rates
    using the EM algorithm"), with a Dirichlet prior around the confusion matrix of all annotators together.
    """

    _confusion: NDArray[np.float64]  # (annotator, true class, answered class)

    def __init__(self, answers: Answers) -> None:
        super().__init__(answers)
        self._answered = answered_classes(answers)

    def fit(self, posterior: Posterior) -> None:
        self._confusion = smoothed_confusion(confusion_counts(self._answered, posterior))

    def log_likelihood(self) -> NDArray[np.float64]:
        n_classes = self.answers.n_classes
        by_answer = np.log(self._confusion).transpose(0, 2, 1).reshape(-1, n_classes)
        return np.asarray(self._answered @ by_answer)

    def right(self, true_class: int) -> NDArray[np.float64]:
        return np.asarray(self._confusion[self.answers.annotator_of, true_class, true_class])


def answered_classes(answers: Answers) -> csr_array:
    """Return which annotator gave which class to an item: 1 in (item, annotator * number of classes + class)."""
    columns = answers.annotator_of * answers.n_classes + answers.class_of
    shape = (len(answers.items), len(answers.annotators) * answers.n_classes)
    return csr_array((np.ones(len(columns)), (answers.item_of, columns)), shape=shape)


def confusion_counts(columns: csr_array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the weights (item, class) of the items to which an annotator gave a class, float64 (annotator,
    true class, answered class). columns: `answered_classes`.
    """
    n_classes = weights.shape[1]
    return np.asarray(columns.T @ weights).reshape(-1, n_classes, n_classes).transpose(0, 2, 1)


def smoothed_confusion(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the confusion matrices (annotator, true class, answered class) of counts of answers of the same shape."""
    pooled = _pooled_confusion(counts)
    totals = counts + _prior_answers(counts, pooled) * pooled
    return np.asarray(totals / totals.sum(axis=2, keepdims=True))


def _prior_answers(counts: NDArray[np.float64], pooled: NDArray[np.float64]) -> float:
    """Return how many answers the pooled matrix counts for: many if annotators hardly differ from it.

    Moment estimate of the precision of a Dirichlet distribution, from the variance of the counts beyond that of
    multinomial ones, between `PRIOR_ANSWERS` and `MAX_PRIOR_ANSWERS`. With a weak prior, the rows of a rare class would
    fit the answers to whatever items are taken for it.
    """
    n_answers, variance = counts.sum(axis=2, keepdims=True), pooled * (1 - pooled)
    n_pairs = float((n_answers * np.maximum(n_answers - 1, 0) * variance).sum())
    excess = float(((counts - n_answers * pooled) ** 2 - n_answers * variance).sum())
    if excess <= 0 or n_pairs <= 0:
        return MAX_PRIOR_ANSWERS
    return float(np.clip(n_pairs / excess - 1, PRIOR_ANSWERS, MAX_PRIOR_ANSWERS))


def _pooled_confusion(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the confusion matrix (true class, answered class) of all annotators together.

    It takes an answer to be right rather than wrong where there are none.
    """
    pooled = counts.sum(axis=0) + 0.5 + np.eye(counts.shape[1])
    return np.asarray(pooled / pooled.sum(axis=1, keepdims=True))
