"""One step of the boosters whose potential is kept while their clock runs: BrownBoost and RobustBoost.

A rule lowers the potential as its weight grows, and time raises it again. The step takes as much time as the rule can
pay for: at the least potential over the rule's weight, where rule and rows are uncorrelated, it is back to what it was.
"""

from collections.abc import Callable
from typing import NamedTuple

#: Absolute tolerances of weights and of time, in units of the clock.
_WEIGHT_TOLERANCE = 1e-10
_TIME_TOLERANCE = 1e-10
_FIRST_WEIGHT = 2.0**-6

#: Of the rule's weight and the time that passes: the correlation, whose sign is that of the potential's fall; and the
#: potential.
StepFunction = Callable[[float, float], float]


class PotentialStep(NamedTuple):
    """The weight that a rule gets and the time that it takes; `is_last` when the clock has run out."""

    weight: float
    elapsed: float
    is_last: bool


def solve_step(
    correlation: StepFunction, potential: StepFunction, time_left: float, largest_weight: float
) -> PotentialStep:
    """The step of a rule whose correlation is positive at the start.

    Bracketing finds it whatever the functions look like in between: the first root in the weight for each time tried,
    and the time at which the potential is back. No weight exceeds `largest_weight`, which a rule without error gets.
    """
    from scipy.optimize import brentq  # noqa: PLC0415  (a slow import that only boosters need)

    before = potential(0.0, 0.0)

    def gain(elapsed: float) -> float:
        return potential(_best_weight(correlation, elapsed, largest_weight), elapsed) - before

    if gain(time_left) <= 0:
        return PotentialStep(_best_weight(correlation, time_left, largest_weight), time_left, is_last=True)
    if gain(0.0) >= 0:
        return PotentialStep(0.0, 0.0, is_last=False)
    elapsed = float(brentq(gain, 0.0, time_left, xtol=_TIME_TOLERANCE))
    return PotentialStep(_best_weight(correlation, elapsed, largest_weight), elapsed, is_last=False)


def _best_weight(correlation: StepFunction, elapsed: float, largest_weight: float) -> float:
    """Where the correlation first comes down to zero as the weight grows from zero."""
    from scipy.optimize import brentq  # noqa: PLC0415  (a slow import that only boosters need)

    if correlation(0.0, elapsed) <= 0:
        return 0.0
    low, high = 0.0, _FIRST_WEIGHT
    while correlation(high, elapsed) > 0:
        if high >= largest_weight:
            return largest_weight
        low, high = high, 2 * high
    return float(brentq(correlation, low, high, args=(elapsed,), xtol=_WEIGHT_TOLERANCE))
