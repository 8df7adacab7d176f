"""GET /jobs, GET /jobs/{id}, POST /jobs/{id}/cancel."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Query

from app.http.dependencies import Context
from app.http.error_handlers import responses
from app.http.pagination import Page, PageParameters
from app.jobs.errors import JobAlreadyFinished, JobNotFound
from app.jobs.filters import JobFilter
from app.jobs.schemas import JobOut
from app.jobs.service import JobService
from app.jobs.states import JobKind, JobState
from app.storage.database import reading, writing
from app.storage.pages import InvalidCursor, UnknownSort

router = APIRouter(prefix="/jobs", tags=["jobs"])


@router.get(
    "",
    summary="List jobs, newest first",
    description="The cells of sweeps are listed with `kind=sweep_cell` or with the sweep's id as `parent_id`.",
    responses=responses(InvalidCursor, UnknownSort),
)
def list_jobs(
    context: Context,
    page: PageParameters,
    kind: Annotated[JobKind | None, Query()] = None,
    state: Annotated[JobState | None, Query()] = None,
    dataset_id: Annotated[uuid.UUID | None, Query()] = None,
    parent_id: Annotated[uuid.UUID | None, Query(description="the jobs that are parts of this one")] = None,
) -> Page[JobOut]:
    with reading(context.sessions) as session:
        wanted = JobFilter(kind, state, dataset_id, parent_id)
        rows, next_cursor = JobService(session, context.settings.limits).page(page, wanted)
    return Page(items=[JobOut.of(row) for row in rows], next_cursor=next_cursor)


@router.get("/{job_id}", summary="One job: its state, progress and result", responses=responses(JobNotFound))
def get_job(job_id: uuid.UUID, context: Context) -> JobOut:
    with reading(context.sessions) as session:
        return JobOut.of(JobService(session, context.settings.limits).get(job_id))


@router.post(
    "/{job_id}/cancel",
    status_code=202,
    summary="Stop a job",
    description="A queued job is cancelled at once. A running one is `cancelling` until its worker has let go. With a "
    "sweep all of its cells are stopped; a sweep of which one cell was cancelled ends as failed.",
    responses=responses(JobNotFound, JobAlreadyFinished),
)
def cancel_job(job_id: uuid.UUID, context: Context) -> JobOut:
    with writing(context.sessions) as session:
        return JobOut.of(JobService(session, context.settings.limits).cancel(job_id))
