"""Table of the scores of sweep cells. Everything else about a cell is in the row of its job."""

import uuid
from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.orm import Base


class SweepCellRow(Base):
    __tablename__ = "sweep_cells"

    job_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    #: Position in the grid, ordered by model and then by noise, as in the request.
    position: Mapped[int]
    #: Values of each repeat by metric; None until the cell has succeeded.
    scores: Mapped[dict[str, Any] | None]
