"""Queries on cells of sweeps."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.jobs.states import JobState
from app.jobs.tables import JobRow
from app.sweeps.tables import SweepCellRow


class Cell(NamedTuple):
    """A cell: what it measured, and what its job says of it."""

    job_id: uuid.UUID
    request: dict[str, Any]  # a `SweepCellSpec`
    scores: dict[str, Any] | None
    state: JobState
    error_code: str | None
    error_message: str | None


class SweepRepository:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, cells: Iterable[SweepCellRow]) -> None:
        self._session.add_all(cells)
        self._session.flush()

    def cells(self, sweep_id: uuid.UUID) -> list[Cell]:
        """In the order of their positions, all as they were at one moment."""
        query = (
            select(
                JobRow.id, JobRow.request, SweepCellRow.scores, JobRow.state, JobRow.error_code, JobRow.error_message
            )
            .join(SweepCellRow, SweepCellRow.job_id == JobRow.id)
            .where(JobRow.parent_id == sweep_id)
            .order_by(SweepCellRow.position)
        )
        return [Cell(*found) for found in self._session.execute(query)]

    def set_scores(self, job_id: uuid.UUID, scores: Mapping[str, list[float]]) -> None:
        self._session.execute(update(SweepCellRow).where(SweepCellRow.job_id == job_id).values(scores=dict(scores)))
