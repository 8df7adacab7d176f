"""Boosting with a potential that depends on time: the rounds of BrownBoost and RobustBoost.

Each round uses up some of a fixed amount of time. Rows whose margin falls too far behind lose their weight, so that the
fit stops learning from examples that stay misclassified.
"""

from abc import abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.boosting.base_learner import BaseLearner
from core.boosting.boosted_classifier import BinaryProblem, BoostingResult
from core.boosting.potential_steps import PotentialStep, solve_step
from core.boosting.rules import Rule
from core.boosting.staged import StagedBooster, refused

#: The rounds end at a rule whose weighted mean margin is not larger.
_MIN_EDGE = 1e-9


class TimedPotential(Protocol):
    """Potential of a row as a function of its margin and of time. Margins and results are (row,), and `elapsed` is
    measured from the current time.
    """

    time_left: float
    max_rule_weight: float

    def weights(self, margins: NDArray[np.float64], elapsed: float) -> NDArray[np.float64]:
        """Return the weights of rows: minus the derivative of the potential in the margin, up to a factor."""

    def potentials(self, margins: NDArray[np.float64], elapsed: float) -> NDArray[np.float64]:
        """Return the potentials of rows: the probability of ending up misclassified."""

    def shrinkage(self, elapsed: float) -> float:
        """Return the factor by which margins shrink while time passes."""

    def advance(self, elapsed: float) -> None:
        """Advance the current time."""

    def width(self) -> float:
        """Return the width of the potential at the current time, which is the unit of scores."""


class TimedBooster(StagedBooster):
    """Base of BrownBoost and RobustBoost. Scores are in units of the width of the final potential.

    So are staged scores: later rounds scale the weights of all earlier rules by a common positive factor, so that the
    predictions of two classes after a round are those of that round.
    """

    staged_predict_proba = refused(
        "probabilities refer to the potential at the end of the fit, and earlier rounds had other potentials. Use "
        "staged_predict or staged_decision_function."
    )

    @abstractmethod
    def _new_potential(self) -> TimedPotential:
        """Return the potential at the start of a fit."""

    def _boost(self, problem: BinaryProblem, learner: BaseLearner) -> BoostingResult:
        potential = self._new_potential()
        margins = np.zeros(len(problem.signs), dtype=np.float64)
        rules: list[Rule] = []
        weights = np.empty(0, dtype=np.float64)
        stop_reason = "n_rounds"
        for _ in range(int(self.n_rounds)):
            row_weights = problem.row_shares * potential.weights(margins, 0.0)
            if not row_weights.any():
                stop_reason = "edge"
                break
            grown = learner.grow(problem.signs * row_weights)
            gains = problem.signs * grown.labels()[grown.leaves]
            if row_weights @ gains <= _MIN_EDGE * row_weights.sum():
                stop_reason = "edge"
                break
            step = _step(potential, problem.row_shares, margins, gains)
            shrinkage = potential.shrinkage(step.elapsed)
            margins = shrinkage * margins + step.weight * gains
            weights = np.append(shrinkage * weights, step.weight)
            rules.append(grown.rule(grown.labels()))
            potential.advance(step.elapsed)
            if step.is_last:
                stop_reason = "time"
                break
        return BoostingResult(rules, weights / potential.width(), len(rules), stop_reason, {})

    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (1 + erf(score)) / 2. With more than two classes, return the normalized odds of these values."""
        from scipy.special import log_ndtr, softmax  # noqa: PLC0415  (a slow import that only boosters need)

        positive, negative = log_ndtr(np.sqrt(2) * scores), log_ndtr(-np.sqrt(2) * scores)
        if scores.shape[1] == 1:
            return np.asarray(np.exp(np.column_stack([negative[:, 0], positive[:, 0]])))
        return np.asarray(softmax(positive - negative, axis=1))


def _step(
    potential: TimedPotential,
    row_shares: NDArray[np.float64],
    margins: NDArray[np.float64],
    gains: NDArray[np.float64],
) -> PotentialStep:
    """Return the step for a rule that changes the margins by `gains` (row,) per unit of weight."""

    def margins_after(weight: float, elapsed: float) -> NDArray[np.float64]:
        return potential.shrinkage(elapsed) * margins + weight * gains

    def correlation(weight: float, elapsed: float) -> float:
        return float((row_shares * gains) @ potential.weights(margins_after(weight, elapsed), elapsed))

    def mean_potential(weight: float, elapsed: float) -> float:
        return float(row_shares @ potential.potentials(margins_after(weight, elapsed), elapsed))

    return solve_step(correlation, mean_potential, potential.time_left, potential.max_rule_weight)
