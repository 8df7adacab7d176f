"""Answers about jobs."""

import uuid
from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from app.jobs.records import JobHead
from app.jobs.states import PARENT_KINDS, JobKind, JobState
from app.storage.orm import utc_now

#: Phases of jobs without progress.
_PHASE_OUTSIDE_OF_WORK = {
    JobState.QUEUED: "queued",
    JobState.RUNNING: "starting",
    JobState.CANCELLING: "stopping",
    JobState.SUCCEEDED: "finished",
    JobState.FAILED: "not begun",
    JobState.CANCELLED: "not begun",
}

#: Routes of results by kind. The result of a training job is a trained model with its own id.
_RESULT_PAGES = {JobKind.AUDIT: "/audits/{}", JobKind.SWEEP: "/sweeps/{}", JobKind.PREDICT: "/jobs/{}/result"}


class Progress(BaseModel):
    """Progress of a job. `completed`, `total` and `unit` are null until a worker has begun to work on it."""

    phase: str = Field(
        "",
        examples=["growing"],
        description="`queued` and `starting` until the work begins, or `waiting for a worker that has its file`; "
        "`compiling: tree growth with ne` while code is compiled for the first fit of its kind on a machine; "
        "with cross-validation `fold 2 of 5: growing`, "
        "except in the last fit; of a job that has ended, where it stopped",
    )
    completed: int | None = Field(None, examples=[40])
    total: int | None = Field(None, examples=[100])
    unit: str | None = Field(None, examples=["trees"])
    fraction: float = Field(0.0, ge=0, le=1, description="of the whole job", examples=[0.42])
    eta_seconds: float | None = Field(
        None, examples=[3.5], description="null if it cannot be estimated yet, and if the job is not running"
    )

    @classmethod
    def from_record(cls, job: JobHead) -> "Progress":
        shown = cls.model_validate(job.progress)
        shown.phase = shown.phase or _PHASE_OUTSIDE_OF_WORK[job.state]
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
    def from_record(cls, job: JobHead) -> "JobError | None":
        """Return the error of the job, or None if it has not failed."""
        return None if job.error_code is None else cls(code=job.error_code, message=job.error_message or "")


class JobResult(BaseModel):
    """Link to the result of a job."""

    href: str = Field(examples=["/audits/0b9f4c38-7a0e-4c3c-9b53-0d3f1d1a2e6f"])


class ListedResult(BaseModel):
    """Audit or sweep in a list: the job whose id it has."""

    id: uuid.UUID
    dataset_id: uuid.UUID
    state: JobState
    progress: Progress
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error: JobError | None = Field(description="why it failed; null if it did not")

    @classmethod
    def from_head(cls, job: JobHead, **more: Any) -> Self:
        return cls(
            id=job.id,
            dataset_id=job.dataset_id,
            state=job.state,
            progress=Progress.from_record(job),
            created_at=job.created_at,
            started_at=job.started_at,
            finished_at=job.finished_at,
            error=JobError.from_record(job),
            **more,
        )


_EXAMPLE: dict[str, JsonValue] = {
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
    "model_id": None,
    "result": None,
    "parent_id": None,
    "error": None,
}
_EXAMPLE_REQUEST: JsonValue = {"name": "credit-risk", "model": {"kind": "forest"}}


class JobItem(BaseModel):
    """Job in a list, without its request."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: uuid.UUID
    kind: JobKind
    state: JobState
    attempt: int = Field(description="how many times a worker has claimed it")
    progress: Progress
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    model_id: uuid.UUID | None = Field(description="the trained model, if the job has succeeded")
    result: JobResult | None = Field(description="result of a job that does not train a model, if it has succeeded")
    parent_id: uuid.UUID | None = Field(description="the parent job, if this is a child job")
    error: JobError | None = Field(description="reason why it failed")

    @classmethod
    def from_head(cls, job: JobHead) -> "JobItem":
        return cls(
            id=job.id,
            kind=job.kind,
            state=job.state,
            attempt=job.attempt,
            progress=Progress.from_record(job),
            created_at=job.created_at,
            started_at=job.started_at,
            finished_at=job.finished_at,
            model_id=job.model_id,
            result=_result(job),
            parent_id=job.parent_id,
            error=JobError.from_record(job),
        )


class JobOut(JobItem):
    """Job in the background."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE | {"request": _EXAMPLE_REQUEST}]})

    request: dict[str, Any] = Field(description="the request with defaults filled in; lists of jobs do not have it")


def job_json(job: JobHead, request_text: str) -> list[bytes]:
    """Return the JSON text of a `JobOut` in pieces. The request, which can be large, is neither parsed nor copied."""
    head = JobItem.from_head(job).model_dump_json()
    return [f'{head[:-1]},"request":'.encode(), request_text.encode(), b"}"]


def _result(job: JobHead) -> JobResult | None:
    page = _RESULT_PAGES.get(job.kind)
    return JobResult(href=page.format(job.id)) if page and job.state is JobState.SUCCEEDED else None
