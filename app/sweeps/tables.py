"""What the cells of sweeps measured. All else of a cell, its sweep included, stands in its job."""

import uuid
from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.orm import Base


class SweepCellRow(Base):
    __tablename__ = "sweep_cells"

    job_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    #: By model, then by noise, as the request has them.
    position: Mapped[int]
    #: {metric: [value of each repeat]}; None until the cell has succeeded.
    scores: Mapped[dict[str, Any] | None]
