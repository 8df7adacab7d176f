"""Sweeps as the service returns them."""

from dataclasses import dataclass

from app.jobs.records import JobRecord

#: The scores of `core.evaluate` that a cell stores.
METRICS = ("accuracy", "weighted_f1")

#: Values of each repeat, by metric.
Scores = dict[str, list[float]]


@dataclass(frozen=True)
class SweepCell:
    """Child job of a sweep; `scores` is None until it has succeeded."""

    job: JobRecord
    scores: Scores | None


@dataclass(frozen=True)
class Sweep:
    """Sweep with its cells, ordered by model and then by noise."""

    job: JobRecord
    cells: list[SweepCell]
