"""Tables of jobs and of their events. The outbox is a column: `JobRow.published_epoch`."""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Float, ForeignKey, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.jobs.states import JobKind, JobState
from app.storage.orm import Base, CreatedMixin, IdMixin, stored_enum


class JobRow(IdMixin, CreatedMixin, Base):
    """Job in the background."""

    __tablename__ = "jobs"

    kind: Mapped[JobKind] = mapped_column(stored_enum(JobKind, "kind"), index=True)
    state: Mapped[JobState] = mapped_column(stored_enum(JobState, "state"), index=True, default=JobState.QUEUED)
    #: The parent of a child job.
    parent_id: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    #: The request with defaults filled in.
    request: Mapped[dict[str, Any]]
    #: The data set that it is about. No foreign key, because the row of a job outlives its data set.
    dataset_id: Mapped[uuid.UUID] = mapped_column(index=True)
    model_id: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("trained_models.id", ondelete="SET NULL"), index=True)

    #: Number of claims. A worker passes it with every write, so that a claim which is no longer valid changes nothing.
    attempt: Mapped[int] = mapped_column(default=0)
    #: Number of consecutive claims whose worker was lost.
    lost_attempts: Mapped[int] = mapped_column(default=0)
    #: On the clock of the database, in seconds since 1970.
    lease_expires_epoch: Mapped[float | None] = mapped_column(index=True)
    #: When the message of this job was last published; NULL in a queued job means that it has yet to be published.
    published_epoch: Mapped[float | None]
    #: A retry cannot be claimed before this time.
    not_before_epoch: Mapped[float] = mapped_column(default=0.0)
    progress: Mapped[dict[str, Any]] = mapped_column(default=dict)

    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    error_code: Mapped[str | None] = mapped_column(String(100))
    error_message: Mapped[str | None] = mapped_column(Text)

    idempotency_key: Mapped[str | None] = mapped_column(String(200), unique=True)
    #: Request that has queued the job, for the log of workers, and its place in a trace (W3C `traceparent`).
    request_id: Mapped[str | None] = mapped_column(String(100))
    traceparent: Mapped[str | None] = mapped_column(String(55))
    #: SHA-256 of the canonical body, which tells a repeated request from another one with the same key.
    request_sha256: Mapped[str] = mapped_column(String(64))


class JobEventRow(CreatedMixin, Base):
    """Change of the state or progress of a job."""

    __tablename__ = "job_events"

    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True
    )
    job_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    #: "state" or "progress".
    kind: Mapped[str] = mapped_column(String(20))
    payload: Mapped[dict[str, Any]]


class JobInputRow(Base):
    """Data set that an unfinished job needs. The row is deleted when the job ends; then the data set can be deleted."""

    __tablename__ = "job_inputs"

    job_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    dataset_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("datasets.id"), primary_key=True, index=True)


class JobModelRow(Base):
    """Trained model that an unfinished job needs. The row is deleted when the job ends, as that of a data set is."""

    __tablename__ = "job_models"

    job_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    model_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("trained_models.id"), primary_key=True, index=True)


class JobFigureRow(Base):
    """Amount by which a figure of jobs has grown. `app.jobs.figures` adds rows up, so that there are always few."""

    __tablename__ = "job_figures"

    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True
    )
    name: Mapped[str] = mapped_column(String(20))
    kind: Mapped[str] = mapped_column(String(20))
    #: State, outcome or phase; see `app.jobs.figures`.
    label: Mapped[str] = mapped_column(String(20))
    amount: Mapped[float] = mapped_column(Float(53))
