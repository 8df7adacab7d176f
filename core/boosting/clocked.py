"""What BrownBoost and RobustBoost share: rounds that use up a clock, and give up rows that lag too far behind it."""

from abc import abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.boosting.base_learner import BaseLearner
from core.boosting.boosted_classifier import BinaryProblem, Boosted, BoostedClassifier
from core.boosting.potential_steps import PotentialStep, solve_step
from core.boosting.rules import Rule

#: A rule whose weighted mean margin is no higher ends the rounds.
_LEAST_EDGE = 1e-9


class Clock(Protocol):
    """How rows are weighed at a margin while time passes. Margins and results (row,); `elapsed` counts from now."""

    time_left: float
    largest_weight: float  # of a rule

    def weights(self, margins: NDArray[np.float64], elapsed: float) -> NDArray[np.float64]:
        """What rows weigh: up to a factor, how fast their potential falls as their margin grows."""

    def potentials(self, margins: NDArray[np.float64], elapsed: float) -> NDArray[np.float64]:
        """The chance to end up on the wrong side."""

    def shrinkage(self, elapsed: float) -> float:
        """By what margins are multiplied as time passes."""

    def advance(self, elapsed: float) -> None:
        """Let time pass."""

    def unit(self) -> float:
        """The width of the potential now: scores are told in it."""


class ClockedBooster(BoostedClassifier):
    """Base of the two. Scores are in units of the potential's width at the end."""

    @abstractmethod
    def _new_clock(self) -> Clock:
        """A clock at its start."""

    def _boost(self, problem: BinaryProblem, learner: BaseLearner) -> Boosted:
        clock = self._new_clock()
        margins = np.zeros(len(problem.signs), dtype=np.float64)
        rules: list[Rule] = []
        weights = np.empty(0, dtype=np.float64)
        stop_reason = "n_rounds"
        for _ in range(int(self.n_rounds)):
            row_weights = problem.shares * clock.weights(margins, 0.0)
            if not row_weights.any():
                stop_reason = "edge"
                break
            grown = learner.grow(problem.signs * row_weights)
            gains = problem.signs * grown.labels()[grown.leaves]
            if row_weights @ gains <= _LEAST_EDGE * row_weights.sum():
                stop_reason = "edge"
                break
            step = _step(clock, problem.shares, margins, gains)
            shrinkage = clock.shrinkage(step.elapsed)
            margins = shrinkage * margins + step.weight * gains
            weights = np.append(shrinkage * weights, step.weight)
            rules.append(grown.rule(grown.labels()))
            clock.advance(step.elapsed)
            if step.is_last:
                stop_reason = "time"
                break
        return Boosted(rules, weights / clock.unit(), len(rules), stop_reason, {})

    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(1 + erf(score)) / 2, and with more classes shares of its odds."""
        from scipy.special import log_ndtr, softmax  # noqa: PLC0415  (a slow import that only boosters need)

        of_class, of_rest = log_ndtr(np.sqrt(2) * scores), log_ndtr(-np.sqrt(2) * scores)
        if scores.shape[1] == 1:
            return np.asarray(np.exp(np.column_stack([of_rest[:, 0], of_class[:, 0]])))
        return np.asarray(softmax(of_class - of_rest, axis=1))


def _step(
    clock: Clock, shares: NDArray[np.float64], margins: NDArray[np.float64], gains: NDArray[np.float64]
) -> PotentialStep:
    def moved(weight: float, elapsed: float) -> NDArray[np.float64]:
        return clock.shrinkage(elapsed) * margins + weight * gains

    def correlation(weight: float, elapsed: float) -> float:
        return float((shares * gains) @ clock.weights(moved(weight, elapsed), elapsed))

    def potential(weight: float, elapsed: float) -> float:
        return float(shares @ clock.potentials(moved(weight, elapsed), elapsed))

    return solve_step(correlation, potential, clock.time_left, clock.largest_weight)
