"""GET /jobs, GET /jobs/{id}, POST /jobs/{id}/cancel."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session

from app.dependencies import Context, ReadSession, WriteSession
from app.error_handlers import responses
from app.jobs.errors import JobAlreadyFinished, JobNotFound
from app.jobs.schemas import JobOut
from app.jobs.service import JobService
from app.jobs.states import JobKind, JobState
from app.pagination import InvalidCursor, Page, PageParameters, UnknownSort

router = APIRouter(prefix="/jobs", tags=["jobs"])


def job_service(session: Session, context: Context) -> JobService:
    return JobService(session, context.settings.limits)


def _reader(session: ReadSession, context: Context) -> JobService:
    return job_service(session, context)


def _writer(session: WriteSession, context: Context) -> JobService:
    return job_service(session, context)


Reader = Annotated[JobService, Depends(_reader)]
Writer = Annotated[JobService, Depends(_writer)]


@router.get("", summary="List jobs, newest first", responses=responses(InvalidCursor, UnknownSort))
def list_jobs(
    jobs: Reader,
    page: PageParameters,
    kind: Annotated[JobKind | None, Query()] = None,
    state: Annotated[JobState | None, Query()] = None,
    dataset_id: Annotated[uuid.UUID | None, Query()] = None,
) -> Page[JobOut]:
    rows, next_cursor = jobs.page(page, kind, state, dataset_id)
    return Page(items=[JobOut.of(row) for row in rows], next_cursor=next_cursor)


@router.get("/{job_id}", summary="One job: its state, progress and result", responses=responses(JobNotFound))
def get_job(job_id: uuid.UUID, jobs: Reader) -> JobOut:
    return JobOut.of(jobs.get(job_id))


@router.post(
    "/{job_id}/cancel",
    status_code=202,
    summary="Stop a job",
    description="A queued job is cancelled at once. A running one is `cancelling` until its worker has let go.",
    responses=responses(JobNotFound, JobAlreadyFinished),
)
def cancel_job(job_id: uuid.UUID, jobs: Writer) -> JobOut:
    return JobOut.of(jobs.cancel(job_id))
