"""Jobs as clients see them."""

import uuid
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.jobs.records import JobRecord
from app.jobs.states import PARENT_KINDS, JobKind, JobState
from app.storage.orm import utc_now

#: Where the results of a kind are read; a trained model has its own id instead.
_RESULT_PAGES = {JobKind.AUDIT: "/audits", JobKind.SWEEP: "/sweeps"}


class Progress(BaseModel):
    """How far a job is; all null until a worker has begun."""

    phase: str | None = Field(
        None, examples=["growing"], description="with cross-validation `fold 2 of 5: growing` until the last fit"
    )
    completed: int | None = Field(None, examples=[40])
    total: int | None = Field(None, examples=[100])
    unit: str | None = Field(None, examples=["trees"])
    fraction: float = Field(0.0, ge=0, le=1, description="of the whole job", examples=[0.42])
    eta_seconds: float | None = Field(
        None, examples=[3.5], description="null before anything is known, and of a job that nobody runs"
    )

    @classmethod
    def of(cls, job: JobRecord) -> "Progress":
        shown = cls.model_validate(job.progress)
        if job.state not in (JobState.RUNNING, JobState.SUCCEEDED):
            shown.eta_seconds = None
        elif job.kind in PARENT_KINDS and shown.fraction > 0 and job.started_at is not None:
            elapsed_seconds = max((utc_now() - job.started_at).total_seconds(), 0.0)
            shown.eta_seconds = round(elapsed_seconds * (1 - shown.fraction) / shown.fraction, 1)
        return shown


class JobError(BaseModel):
    code: str = Field(examples=["worker_lost"])
    message: str

    @classmethod
    def of(cls, code: str | None, message: str | None) -> "JobError | None":
        return None if code is None else cls(code=code, message=message or "")


class JobResult(BaseModel):
    href: str = Field(examples=["/audits/0b9f4c38-7a0e-4c3c-9b53-0d3f1d1a2e6f"])


class JobOut(BaseModel):
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
    attempt: int = Field(description="how often a worker has begun it")
    progress: Progress
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    request: dict[str, Any] = Field(description="as given, with defaults filled in")
    model_id: uuid.UUID | None = Field(description="the trained model, once the job has succeeded")
    result: JobResult | None = Field(description="what another job than training found, once it has succeeded")
    parent_id: uuid.UUID | None = Field(description="the job that this one is a part of")
    error: JobError | None = Field(description="why it failed")

    @classmethod
    def of(cls, job: JobRecord) -> "JobOut":
        return cls(
            id=job.id,
            kind=job.kind,
            state=job.state,
            attempt=job.attempt,
            progress=Progress.of(job),
            created_at=job.created_at,
            started_at=job.started_at,
            finished_at=job.finished_at,
            request=job.request,
            model_id=job.model_id,
            result=_result(job),
            parent_id=job.parent_id,
            error=JobError.of(job.error_code, job.error_message),
        )


def _result(job: JobRecord) -> JobResult | None:
    page = _RESULT_PAGES.get(job.kind)
    return JobResult(href=f"{page}/{job.id}") if page and job.state is JobState.SUCCEEDED else None
