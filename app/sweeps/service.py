"""Reading sweeps, and storing the scores of their cells."""

import uuid
from collections.abc import Mapping

from sqlalchemy.orm import Session

from app.jobs.records import JobRecord
from app.jobs.service import JobService
from app.jobs.states import JobKind, JobState
from app.sweeps.errors import SweepNotFound
from app.sweeps.records import Scores, Sweep, SweepCell
from app.sweeps.repository import SweepRepository


class SweepService:
    def __init__(self, session: Session, jobs: JobService) -> None:
        self._sweeps = SweepRepository(session)
        self._jobs = jobs

    def get(self, sweep_id: uuid.UUID) -> Sweep:
        """Return the sweep with the scores of the cells that have succeeded so far. Raises SweepNotFound."""
        # In this order, a job that is read as succeeded never lacks its scores.
        self._jobs.get_of_kind(sweep_id, JobKind.SWEEP, SweepNotFound)
        sweep = self._jobs.get(sweep_id)
        children = {child.id: child for child in self._jobs.children(sweep_id)}
        scores = self._sweeps.scores(children)
        return Sweep(sweep, [_cell(children[job_id], values) for job_id, values in scores.items()])

    def stored_bytes(self, sweep_id: uuid.UUID) -> int:
        """Return the bytes of JSON that a sweep is shown from; 0 if there is no such sweep."""
        # Both metrics of a cell show its request.
        return self._jobs.stored_bytes(sweep_id) + 2 * self._jobs.request_bytes_of_children(sweep_id)


def _cell(job: JobRecord, scores: Scores | None) -> SweepCell:
    """Return a cell; scores that were stored after its job was read are left out."""
    return SweepCell(job, scores if job.state is JobState.SUCCEEDED else None)


def store_scores(session: Session, job_id: uuid.UUID, scores: Mapping[str, list[float]]) -> None:
    """Store the scores of a cell, one value per repeat by metric, in the transaction that ends its job."""
    SweepRepository(session).set_scores(job_id, scores)
