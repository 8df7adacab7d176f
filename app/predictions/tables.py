"""Table of predictions that jobs make."""

import uuid

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.orm import Base


class PredictionRow(Base):
    """Files of a job of kind `predict`, by their SHA-256."""

    __tablename__ = "predictions"

    job_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    #: Rows that came in the body, until the job has succeeded; None for a data set.
    rows_sha256: Mapped[str | None] = mapped_column(String(64), index=True)
    #: None until the job has succeeded.
    result_sha256: Mapped[str | None] = mapped_column(String(64), index=True)
