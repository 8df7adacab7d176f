"""GET /jobs, GET and DELETE /jobs/{id}, and POST /jobs/{id}/cancel."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from starlette.concurrency import run_in_threadpool

from app.access.scopes import Scope, needs
from app.datasets.dependencies import DatasetFilter
from app.datasets.errors import DatasetNotFound
from app.errors import StorageFull
from app.http.dependencies import Context
from app.http.error_handlers import responses
from app.http.large_answers import LARGE_ANSWER_ERRORS, Answer
from app.http.pagination import Page, PageParameters
from app.jobs import deletion, service
from app.jobs.answers import job_answer
from app.jobs.dependencies import JobContext, wait_for_end
from app.jobs.errors import ChildJobNotDeletable, JobAlreadyFinished, JobNotFinished, JobNotFound
from app.jobs.filters import JobFilter
from app.jobs.schemas import JobItem, JobOut
from app.jobs.service import JobService
from app.jobs.states import JobKind, JobState
from app.storage.database import reading
from app.storage.pages import InvalidCursor, UnknownSort

router = APIRouter(prefix="/jobs", tags=["jobs"])


@router.get(
    "",
    summary="List jobs, newest first",
    description="Cells of sweeps are listed only with `kind=sweep_cell` or with the id of their sweep as `parent_id`. "
    "Items have no `request`; it is in `GET /jobs/{job_id}`.",
    responses=responses(InvalidCursor, UnknownSort, DatasetNotFound),
)
@needs(Scope.READ)
def list_jobs(
    context: Context,
    page: PageParameters,
    dataset_id: DatasetFilter,
    kind: Annotated[JobKind | None, Query()] = None,
    state: Annotated[JobState | None, Query()] = None,
    parent_id: Annotated[uuid.UUID | None, Query(description="return only child jobs of this job")] = None,
) -> Page[JobItem]:
    with reading(context.sessions) as session:
        filters = JobFilter(kind, state, dataset_id, parent_id)
        listed = JobService(session, context.settings.limits).page(page, filters)
    return Page.of(listed, JobItem.from_head)


@router.get(
    "/{job_id}",
    summary="Get the state, progress and result of a job",
    description="With `wait`, the answer comes when the job has ended, or after so many seconds.",
    dependencies=[Depends(wait_for_end)],
    response_model=JobOut,
    responses=responses(JobNotFound, *LARGE_ANSWER_ERRORS),
)
@needs(Scope.READ)
async def get_job(job_id: uuid.UUID, context: Context, answer: Answer) -> Response:
    return await job_answer(answer, context, job_id)


@router.delete(
    "/{job_id}",
    status_code=204,
    summary="Delete a job that has ended",
    description="Its events, the cells of a sweep and the result of an audit or a prediction are deleted with it; a "
    "trained model stays. Its idempotency key can be used again.",
    responses=responses(JobNotFound, JobNotFinished, ChildJobNotDeletable, StorageFull),
)
@needs(Scope.ADMIN)
def delete_job(job_id: uuid.UUID, context: JobContext) -> None:
    deletion.delete_job(context.sessions, context.job_files, job_id)


@router.post(
    "/{job_id}/cancel",
    status_code=202,
    summary="Cancel a job",
    description="A queued job is cancelled at once. A running job is `cancelling` until its worker has stopped. "
    "Cancelling a sweep cancels all of its cells. If only one cell is cancelled, the sweep ends as failed.",
    response_model=JobOut,
    responses=responses(JobNotFound, JobAlreadyFinished, *LARGE_ANSWER_ERRORS),
)
@needs(Scope.TRAIN)
async def cancel_job(job_id: uuid.UUID, context: Context, answer: Answer) -> Response:
    await run_in_threadpool(service.cancel, context.sessions, context.settings.limits, job_id)
    return await job_answer(answer, context, job_id, status_code=202)
