"""Table of audit results. The audited rows are in a file of the store, worst first."""

import uuid
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.orm import Base


class AuditRow(Base):
    """Result of an audit, written when its job succeeds."""

    __tablename__ = "audits"

    job_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    #: The result is deleted with its data set, some of whose cells it repeats; None if that was deleted by an earlier
    #: version, which kept results.
    dataset_id: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("datasets.id", ondelete="CASCADE"), index=True)
    #: Labels in class order.
    classes: Mapped[list[Any]]
    n_rows: Mapped[int] = mapped_column(BigInteger)
    n_issues: Mapped[int] = mapped_column(BigInteger)
    #: Estimates and counts, as `GET /audits/{id}` returns them; several megabytes for hundreds of classes.
    report: Mapped[dict[str, Any]] = mapped_column(deferred=True)
    #: SHA-256 of the file of audited rows, which is also its name in the store.
    issues_sha256: Mapped[str] = mapped_column(String(64), index=True)
