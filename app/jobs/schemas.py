"""Answers about jobs."""

import uuid
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.jobs.records import JobRecord
from app.jobs.states import PARENT_KINDS, JobKind, JobState
from app.storage.orm import utc_now

#: Routes of results by kind. The result of a training job is a trained model with its own id.
_RESULT_PAGES = {JobKind.AUDIT: "/audits", JobKind.SWEEP: "/sweeps"}


class Progress(BaseModel):
    """Progress of a job. All fields are null until a worker has claimed it."""

    phase: str | None = Field(
        None, examples=["growing"], description="with cross-validation `fold 2 of 5: growing`, except in the last fit"
    )
    completed: int | None = Field(None, examples=[40])
    total: int | None = Field(None, examples=[100])
    unit: str | None = Field(None, examples=["trees"])
    fraction: float = Field(0.0, ge=0, le=1, description="of the whole job", examples=[0.42])
    eta_seconds: float | None = Field(
        None, examples=[3.5], description="null if it cannot be estimated yet, and if the job is not running"
    )

    @classmethod
    def from_record(cls, job: JobRecord) -> "Progress":
        shown = cls.model_validate(job.progress)
        if job.state not in (JobState.RUNNING, JobState.SUCCEEDED):
            shown.eta_seconds = None
        elif job.kind in PARENT_KINDS and shown.fraction > 0 and job.started_at is not None:
            elapsed_seconds = max((utc_now() - job.started_at).total_seconds(), 0.0)
            shown.eta_seconds = round(elapsed_seconds * (1 - shown.fraction) / shown.fraction, 1)
        return shown


class JobError(BaseModel):
    """Reason why a job failed."""

    code: str = Field(examples=["worker_lost"])
    message: str

    @classmethod
    def from_record(cls, job: JobRecord) -> "JobError | None":
        """Return the error of the job, or None if it has not failed."""
        return None if job.error_code is None else cls(code=job.error_code, message=job.error_message or "")


class JobResult(BaseModel):
    """Link to the result of a job."""

    href: str = Field(examples=["/audits/0b9f4c38-7a0e-4c3c-9b53-0d3f1d1a2e6f"])


class JobOut(BaseModel):
    """Job in the background."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "0b9f4c38-7a0e-4c3c-9b53-0d3f1d1a2e6f",
                    "kind": "train",
                    "state": "running",
                    "attempt": 1,
                    "progress": {
                        "phase": "growing",
                        "completed": 40,
                        "total": 100,
                        "unit": "trees",
                        "fraction": 0.42,
                        "eta_seconds": 3.5,
                    },
                    "created_at": "2026-11-21T09:00:00Z",
                    "started_at": "2026-11-21T09:00:01Z",
                    "finished_at": None,
                    "request": {"name": "credit-risk", "model": {"kind": "forest"}},
                    "model_id": None,
                    "result": None,
                    "parent_id": None,
                    "error": None,
                }
            ]
        }
    )

    id: uuid.UUID
    kind: JobKind
    state: JobState
    attempt: int = Field(description="how many times a worker has claimed it")
    progress: Progress
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    request: dict[str, Any] = Field(description="the request with defaults filled in")
    model_id: uuid.UUID | None = Field(description="the trained model, if the job has succeeded")
    result: JobResult | None = Field(description="result of a job that does not train a model, if it has succeeded")
    parent_id: uuid.UUID | None = Field(description="the parent job, if this is a child job")
    error: JobError | None = Field(description="reason why it failed")

    @classmethod
    def from_record(cls, job: JobRecord) -> "JobOut":
        return cls(
            id=job.id,
            kind=job.kind,
            state=job.state,
            attempt=job.attempt,
            progress=Progress.from_record(job),
            created_at=job.created_at,
            started_at=job.started_at,
            finished_at=job.finished_at,
            request=job.request,
            model_id=job.model_id,
            result=_result(job),
            parent_id=job.parent_id,
            error=JobError.from_record(job),
        )


def _result(job: JobRecord) -> JobResult | None:
    page = _RESULT_PAGES.get(job.kind)
    return JobResult(href=f"{page}/{job.id}") if page and job.state is JobState.SUCCEEDED else None
