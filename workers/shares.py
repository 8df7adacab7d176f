"""How much of a job each of its phases is, for its progress."""

from collections.abc import Mapping

#: What every job begins with.
PREPARING = {"loading": 0.02, "compiling": 0.01}
_REST = 1.0 - sum(PREPARING.values())


def shares_of_rest(work: Mapping[str, float]) -> dict[str, float]:
    """Phases by their work in any unit -> shares of all that comes after the preparations."""
    return {phase: _REST * amount / sum(work.values()) for phase, amount in work.items()}


def with_scoring(work: Mapping[str, float], scoring_share: float) -> dict[str, float]:
    """The work of a fit, in any unit, and that of scoring it, which is `scoring_share` of a job of one fit."""
    return {**work, "scoring": sum(work.values()) * scoring_share / (_REST - scoring_share)}
