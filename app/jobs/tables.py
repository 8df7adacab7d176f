"""Jobs and their persisted event log. The outbox is a column: see `JobRow.published_epoch`."""

import uuid
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, Enum, ForeignKey, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.jobs.states import JobKind, JobState
from app.storage.orm import Base, CreatedMixin, IdMixin


def _stored(values: type[StrEnum], name: str) -> Enum:
    """The enum's values as text with a check constraint; reading gives members of the enum back."""
    return Enum(
        values,
        native_enum=False,
        create_constraint=True,
        length=20,
        name=name,
        values_callable=lambda members: [member.value for member in members],
    )


class JobRow(IdMixin, CreatedMixin, Base):
    __tablename__ = "jobs"

    kind: Mapped[JobKind] = mapped_column(_stored(JobKind, "kind"), index=True)
    state: Mapped[JobState] = mapped_column(_stored(JobState, "state"), index=True, default=JobState.QUEUED)
    #: The job that this one is a part of.
    parent_id: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    #: The request as given, with defaults filled in.
    request: Mapped[dict[str, Any]]
    #: What it trains on; no foreign key, because the record of a job outlives its data set.
    dataset_id: Mapped[uuid.UUID] = mapped_column(index=True)
    model_id: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("trained_models.id", ondelete="SET NULL"), index=True)

    #: Counted at each claim; every write of a worker carries it, so that a late one changes nothing.
    attempt: Mapped[int] = mapped_column(default=0)
    #: Claims in a row that ended without their worker saying why.
    lost_attempts: Mapped[int] = mapped_column(default=0)
    #: On the database's clock, in seconds since 1970.
    lease_expires_epoch: Mapped[float | None] = mapped_column(index=True)
    #: When the broker was last given this job's id; NULL on a queued job means that it still has to be told.
    published_epoch: Mapped[float | None]
    #: A retry waits until this moment.
    not_before_epoch: Mapped[float] = mapped_column(default=0.0)
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


class JobInputRow(Base):
    """A data set that an unfinished job still needs. Gone when the job has ended, so it can then be deleted."""

    __tablename__ = "job_inputs"

    job_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    dataset_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("datasets.id"), primary_key=True, index=True)
