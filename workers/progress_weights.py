"""Weights of a job's phases, from which its progress is computed."""

from collections.abc import Mapping

#: The phases that every job starts with, as fractions of the whole job.
PREPARATION = {"loading": 0.02, "compiling": 0.01}
_REMAINDER = 1.0 - sum(PREPARATION.values())


def weights_after_preparation(work: Mapping[str, float]) -> dict[str, float]:
    """Scale the work of the phases after the preparation, in any unit, to fractions of the whole job."""
    total = sum(work.values())
    return {phase: _REMAINDER * amount / total for phase, amount in work.items()}


def with_scoring(fit_work: Mapping[str, float], scoring_fraction: float) -> dict[str, float]:
    """Add a scoring phase to the work of one fit.

    `scoring_fraction` is the fraction of the whole job that scoring takes if the job has a single fit.
    """
    scoring = sum(fit_work.values()) * scoring_fraction / (_REMAINDER - scoring_fraction)
    return {**fit_work, "scoring": scoring}
