"""Step of BrownBoost and RobustBoost, which keep the mean potential constant while time passes.

The potential decreases as the weight of a rule grows and increases as time passes. For each elapsed time there is a
weight that minimizes the potential, at which the rule and the weighted rows are uncorrelated. The step takes the time
at which this minimum equals the potential before the step.
"""

from collections.abc import Callable
from typing import NamedTuple

#: Absolute tolerances of weights and of time, in units of time.
_WEIGHT_TOLERANCE = 1e-10
_TIME_TOLERANCE = 1e-10
_FIRST_WEIGHT = 2.0**-6

#: Function of the weight of a rule and the elapsed time: the correlation of the rule with the weighted rows, which is
#: positive while the potential decreases in the weight, or the potential.
StepFunction = Callable[[float, float], float]


class PotentialStep(NamedTuple):
    """Weight of a rule and the time that it takes. `is_last` is true if no time is left."""

    weight: float
    elapsed: float
    is_last: bool


def solve_step(
    correlation: StepFunction, potential: StepFunction, time_left: float, max_weight: float
) -> PotentialStep:
    """Return the step of a rule whose correlation is positive at weight 0 and time 0.

    Both roots are found by bracketing, so nothing is assumed about the shape of the functions: the first root of the
    correlation in the weight for each time, and the time at which the potential has its initial value. Weights are
    limited to `max_weight`, which is the weight of a rule without errors.
    """
    from scipy.optimize import brentq  # noqa: PLC0415  (a slow import that only boosters need)

    before = potential(0.0, 0.0)

    def gain(elapsed: float) -> float:
        return potential(_best_weight(correlation, elapsed, max_weight), elapsed) - before

    if gain(time_left) <= 0:
        return PotentialStep(_best_weight(correlation, time_left, max_weight), time_left, is_last=True)
    if gain(0.0) >= 0:
        return PotentialStep(0.0, 0.0, is_last=False)
    elapsed = float(brentq(gain, 0.0, time_left, xtol=_TIME_TOLERANCE))
    return PotentialStep(_best_weight(correlation, elapsed, max_weight), elapsed, is_last=False)


def _best_weight(correlation: StepFunction, elapsed: float, max_weight: float) -> float:
    """Return the smallest weight at which the correlation is zero."""
    from scipy.optimize import brentq  # noqa: PLC0415  (a slow import that only boosters need)

    if correlation(0.0, elapsed) <= 0:
        return 0.0
    low, high = 0.0, _FIRST_WEIGHT
    while correlation(high, elapsed) > 0:
        if high >= max_weight:
            return max_weight
        low, high = high, 2 * high
    return float(brentq(correlation, low, high, args=(elapsed,), xtol=_WEIGHT_TOLERANCE))
