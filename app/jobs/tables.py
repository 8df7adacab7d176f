"""Jobs, their persisted event log, and the outbox of messages that a transaction left for the broker."""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.jobs.states import JobKind, JobState
from app.orm import Base, CreatedMixin, IdMixin


def _one_of(column: str, values: type[JobKind] | type[JobState]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


class JobRow(IdMixin, CreatedMixin, Base):
    __tablename__ = "jobs"
    __table_args__ = (_one_of("kind", JobKind), _one_of("state", JobState))

    kind: Mapped[JobKind] = mapped_column(String(20), index=True)
    state: Mapped[JobState] = mapped_column(String(20), index=True, default=JobState.QUEUED)
    #: The request as given, with defaults filled in.
    request: Mapped[dict[str, Any]]
    dataset_id: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("datasets.id"), index=True)
    model_id: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("trained_models.id", ondelete="SET NULL"), index=True)

    #: Counted at each claim; every write of a worker carries it, so that a late one changes nothing.
    attempt: Mapped[int] = mapped_column(default=0)
    #: Claims in a row that ended without their worker saying why.
    lost_attempts: Mapped[int] = mapped_column(default=0)
    #: On the database's clock, in seconds since 1970.
    lease_expires_epoch: Mapped[float | None] = mapped_column(index=True)
    #: Not before this time is the job published again (back-off, and the mark of a live message).
    publish_after_epoch: Mapped[float] = mapped_column(default=0.0)
    progress: Mapped[dict[str, Any]] = mapped_column(default=dict)

    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    error_code: Mapped[str | None] = mapped_column(String(100))
    error_message: Mapped[str | None] = mapped_column(Text)

    idempotency_key: Mapped[str | None] = mapped_column(String(200), unique=True)
    #: SHA-256 of the canonical request, to tell a repeated call from a reused key.
    request_sha256: Mapped[str] = mapped_column(String(64))


class JobEventRow(CreatedMixin, Base):
    __tablename__ = "job_events"

    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True
    )
    job_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    #: "state" or "progress".
    kind: Mapped[str] = mapped_column(String(20))
    payload: Mapped[dict[str, Any]]


class OutboxRow(CreatedMixin, Base):
    __tablename__ = "outbox"

    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True
    )
    job_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), unique=True)
