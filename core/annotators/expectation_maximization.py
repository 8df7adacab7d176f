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


class FittedAnswers(NamedTuple):
    """True classes that explain answers."""

    posterior: Posterior  # as if the answers to an item were independent
    log_likelihood: NDArray[np.float64]  # (iteration,), of all answers
    converged: bool
    dispersion: float  # at least 1
    probabilities: Posterior  # with answers that are as dependent as the dispersion says


def fit_answers(model: AnswerModel, prior: ClassPrior) -> FittedAnswers:
    """Fit both to the answers, beginning with the shares of the answers of each item."""
    answers = model.answers
    posterior = vote_shares(answers)
    log_likelihood: list[float] = []
    converged = False
    while not converged and len(log_likelihood) < MAX_ITERATIONS:
        model.fit(posterior)
        prior.fit(posterior)
        joint = with_known_classes(answers, model.log_likelihood() + prior.log(), -np.inf)
        log_likelihood.append(float(logsumexp(joint, axis=1).sum()))
        updated = softmax(joint, axis=1)
        converged = bool(np.abs(updated - posterior).max() < TOLERANCE)
        posterior = updated
    dispersion = _dispersion(model, posterior)
    joint = with_known_classes(answers, model.log_likelihood() / dispersion + prior.log(), -np.inf)
    return FittedAnswers(posterior, np.array(log_likelihood), converged, dispersion, softmax(joint, axis=1))


def vote_shares(answers: Answers) -> Posterior:
    """Return the share of each class among the answers to an item, (item, class)."""
    shares = answers.sum_by_class() / answers.sum_by_item()[:, np.newaxis]
    return with_known_classes(answers, shares, 0.0, 1.0)


def with_known_classes(
    answers: Answers, table: NDArray[np.float64], others: float, known: float | None = None
) -> NDArray[np.float64]:
    """Return a table (item, class) in which items of a known class have the value `others` for all other classes, and
    `known` for their own, which keeps its value for None.
    """
    rows = np.flatnonzero(answers.known != UNKNOWN)
    changed = table.copy()
    changed[rows] = others
    own = answers.known[rows]
    changed[rows, own] = table[rows, own] if known is None else known
    return changed


def _dispersion(model: AnswerModel, posterior: Posterior) -> float:
    """Return how many times larger than for independent answers the variance of the number of right answers to an item
    is, at least 1 (Pearson's statistic, as in McCullagh & Nelder 1989, section 4.5).

    Annotators err on the same items: ten who agree are not ten independent witnesses.
    """
    answers, right = model.answers, np.broadcast_to(model.right(), (len(model.answers.item_of), posterior.shape[1]))
    expected = np.stack([answers.sum_by_item(column) for column in right.T], axis=1)
    variance = np.stack([answers.sum_by_item(column * (1 - column)) for column in right.T], axis=1)
    weights = posterior * (answers.sum_by_item() > 1)[:, np.newaxis]
    total = float((weights * variance).sum())
    squares = float((weights * (answers.sum_by_class() - expected) ** 2).sum())
    return max(1.0, squares / total) if total > 0 else 1.0
