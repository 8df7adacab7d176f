"""Alternation between the true classes of items and the models of answers, until the probabilities no longer change."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from core.annotators.answer_models import AnswerModel, Posterior
from core.annotators.answers import UNKNOWN, Answers
from core.annotators.class_priors import ClassPrior

MAX_ITERATIONS = 500
#: Largest change of a probability at which the alternation ends.
TOLERANCE = 1e-5
#: Largest change in the last step for which it has converged: on a flat likelihood, steps may circle for long.
_ACCEPTED_CHANGE = 1e-3


class FittedAnswers(NamedTuple):
    """True classes that explain answers."""

    posterior: Posterior  # as if the answers to an item were independent
    log_likelihood: NDArray[np.float64]  # (iteration,), of all answers
    converged: bool
    dispersion: float  # at least 1
    probabilities: Posterior  # with answers that are as dependent as it follows from the dispersion


def fit_answers(model: AnswerModel, prior: ClassPrior) -> FittedAnswers:
    """Fit both to the answers, beginning with the shares of the answers of each item."""
    alternation = _Alternation(model, prior)
    posterior = alternation.run(vote_shares(model.answers))
    agreement = _agreement(model, posterior)
    likelihood = model.log_likelihood() / agreement.design_effects(model.answers)[:, np.newaxis]
    joint = with_known_classes(model.answers, likelihood + prior.log(), -np.inf)
    log_likelihood = np.array(alternation.log_likelihood)
    return FittedAnswers(posterior, log_likelihood, alternation.converged, agreement.dispersion, softmax(joint, axis=1))


class _Alternation:
    """Steps of expectation maximization, accelerated by extrapolation."""

    def __init__(self, model: AnswerModel, prior: ClassPrior) -> None:
        self._model, self._prior = model, prior
        self.log_likelihood: list[float] = []
        self._change = np.inf

    @property
    def converged(self) -> bool:
        """Whether the last steps hardly changed a probability."""
        return self._change < _ACCEPTED_CHANGE

    def run(self, posterior: Posterior) -> Posterior:
        """Return the probabilities of the true classes at which the steps end."""
        while len(self.log_likelihood) < MAX_ITERATIONS:
            first = self._step(posterior)
            second = self._step(first)
            self._change = float(np.abs(second - first).max())
            if self._change < TOLERANCE:
                return second
            posterior = self._step(_extrapolated(posterior, first, second))
        return posterior

    def _step(self, posterior: Posterior) -> Posterior:
        self._model.fit(posterior)
        self._prior.fit(posterior)
        joint = with_known_classes(self._model.answers, self._model.log_likelihood() + self._prior.log(), -np.inf)
        self.log_likelihood.append(float(logsumexp(joint, axis=1).sum()))
        return np.asarray(softmax(joint, axis=1))


def _extrapolated(start: Posterior, first: Posterior, second: Posterior) -> Posterior:
    """Return the point that two steps lead toward (Varadhan & Roland 2008, "Simple and globally convergent methods for
    accelerating the convergence of any EM algorithm", scheme S3).
    """
    step, change = first - start, second - 2 * first + start
    curvature = float(np.linalg.norm(change))
    length = max(1.0, float(np.linalg.norm(step)) / curvature) if curvature > 0 else 1.0
    moved = np.maximum(start + 2 * length * step + length**2 * change, 0.0)
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def vote_shares(answers: Answers) -> Posterior:
    """Return the share of each class among the answers to an item, (item, class)."""
    shares = answers.sum_by_class() / answers.sum_by_item()[:, np.newaxis]
    return with_known_classes(answers, shares, 0.0, 1.0)


def with_known_classes(
    answers: Answers, table: NDArray[np.float64], others: float, own_value: float | None = None
) -> NDArray[np.float64]:
    """Return a table (item, class) in which items of a known class have the value `others` for all other classes, and
    `own_value` for their own, which keeps its value for None.
    """
    rows = np.flatnonzero(answers.true_class != UNKNOWN)
    changed = table.copy()
    changed[rows] = others
    own = answers.true_class[rows]
    changed[rows, own] = table[rows, own] if own_value is None else own_value
    return changed


class _Agreement(NamedTuple):
    """Dependence of the answers to an item."""

    dispersion: float  # variance of the number of right answers over that of independent answers, at least 1
    correlation: float  # between two answers to an item, at least 0

    def design_effects(self, answers: Answers) -> NDArray[np.float64]:
        """Return how many times larger than for independent answers the variance of the sum of the answers to each
        item is, (item,): 1 for a single answer (Kish 1965, "Survey sampling").
        """
        return 1 + (answers.sum_by_item() - 1) * self.correlation


def _agreement(model: AnswerModel, posterior: Posterior) -> _Agreement:
    """Return the dependence from the variance of the numbers of right answers (Pearson's statistic, as in McCullagh &
    Nelder 1989, section 4.5).

    Annotators err on the same items: ten who agree are not ten independent witnesses.
    """
    answers = model.answers
    expected, variance = np.empty_like(posterior), np.empty_like(posterior)
    for k in range(posterior.shape[1]):
        right = model.right(k)
        expected[:, k], variance[:, k] = answers.sum_by_item(right), answers.sum_by_item(right * (1 - right))
    n_others = (answers.sum_by_item() - 1)[:, np.newaxis]
    weights = posterior * (n_others > 0)
    total, pairs = float((weights * variance).sum()), float((weights * variance * n_others).sum())
    if total <= 0 or pairs <= 0:
        return _Agreement(1.0, 0.0)
    excess = max(0.0, float((weights * (answers.sum_by_class() - expected) ** 2).sum()) - total)
    return _Agreement(1 + excess / total, min(1.0, excess / pairs))
