"""Queries on cells of sweeps."""

import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.sweeps.tables import SweepCellRow


class SweepRepository:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, cells: Iterable[SweepCellRow]) -> None:
        self._session.add_all(cells)
        self._session.flush()

    def scores(self, job_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, dict[str, Any] | None]:
        """Return the scores of cells by the ids of their jobs, ordered by their positions."""
        query = select(SweepCellRow.job_id, SweepCellRow.scores).where(SweepCellRow.job_id.in_(list(job_ids)))
        rows = self._session.execute(query.order_by(SweepCellRow.position))
        return {row.job_id: row.scores for row in rows}

    def set_scores(self, job_id: uuid.UUID, scores: Mapping[str, list[float]]) -> None:
        self._session.execute(update(SweepCellRow).where(SweepCellRow.job_id == job_id).values(scores=dict(scores)))
