"""Keeping the scores of sweeps' cells, and reading them."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.jobs.records import JobRecord
from app.jobs.service import JobService
from app.jobs.states import JobKind
from app.sweeps.errors import SweepNotFound
from app.sweeps.repository import Cell, SweepRepository

#: Of the scores of `core.evaluate`, those that a cell keeps.
METRICS = ("accuracy", "weighted_f1")


@dataclass(frozen=True)
class Sweep:
    job: JobRecord
    cells: list[Cell]


class SweepService:
    def __init__(self, session: Session, jobs: JobService) -> None:
        self._sweeps = SweepRepository(session)
        self._jobs = jobs

    def get(self, sweep_id: uuid.UUID) -> Sweep:
        """The sweep and what there is of its cells by now. Raises SweepNotFound."""
        job = self._jobs.of_kind(sweep_id, JobKind.SWEEP, SweepNotFound)
        # The cells after the job: so one that has succeeded is never shown with a cell that lacks its scores.
        return Sweep(job, self._sweeps.cells(sweep_id))


def keep_scores(session: Session, job_id: uuid.UUID, scores: Mapping[str, list[float]]) -> None:
    """Keep what a cell has measured, in the transaction that ends its job. scores: one value a repeat, by metric."""
    SweepRepository(session).set_scores(job_id, scores)
