"""GET /jobs, GET /jobs/{id} and POST /jobs/{id}/cancel."""

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
    description="Cells of sweeps are listed only with `kind=sweep_cell` or with the id of their sweep as `parent_id`.",
    responses=responses(InvalidCursor, UnknownSort),
)
def list_jobs(
    context: Context,
    page: PageParameters,
    kind: Annotated[JobKind | None, Query()] = None,
    state: Annotated[JobState | None, Query()] = None,
    dataset_id: Annotated[uuid.UUID | None, Query()] = None,
    parent_id: Annotated[uuid.UUID | None, Query(description="return only child jobs of this job")] = None,
) -> Page[JobOut]:
    with reading(context.sessions) as session:
        filters = JobFilter(kind, state, dataset_id, parent_id)
        jobs, next_cursor = JobService(session, context.settings.limits).page(page, filters)
    return Page(items=[JobOut.from_record(job) for job in jobs], next_cursor=next_cursor)


@router.get("/{job_id}", summary="Get the state, progress and result of a job", responses=responses(JobNotFound))
def get_job(job_id: uuid.UUID, context: Context) -> JobOut:
    with reading(context.sessions) as session:
        return JobOut.from_record(JobService(session, context.settings.limits).get(job_id))


@router.post(
    "/{job_id}/cancel",
    status_code=202,
    summary="Cancel a job",
    description="A queued job is cancelled at once. A running job is `cancelling` until its worker has stopped. "
    "Cancelling a sweep cancels all of its cells. If only one cell is cancelled, the sweep ends as failed.",
    responses=responses(JobNotFound, JobAlreadyFinished),
)
def cancel_job(job_id: uuid.UUID, context: Context) -> JobOut:
    with writing(context.sessions) as session:
        return JobOut.from_record(JobService(session, context.settings.limits).cancel(job_id))
