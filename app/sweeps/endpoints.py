"""Routes of sweeps: POST and GET /sweeps, GET and DELETE /sweeps/{id}."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Query, Response
from sqlalchemy.orm import Session

from app.access.scopes import Scope, needs
from app.datasets.dependencies import Context, DatasetFilter
from app.datasets.errors import DatasetNotFound
from app.errors import StorageFull
from app.http.dependencies import Resources
from app.http.error_handlers import responses
from app.http.json_body import JSON_ERRORS, json_body, json_request_body
from app.http.large_answers import LARGE_ANSWER_ERRORS, Answer
from app.http.pagination import Page, PageParameters
from app.jobs.accepted import ACCEPTANCE_ERRORS, Accepted
from app.jobs.deletion import delete_job
from app.jobs.errors import JobNotFinished
from app.jobs.filters import JobFilter
from app.jobs.schemas import JobOut
from app.jobs.service import JobService
from app.jobs.states import JobKind, JobState
from app.requests.errors import InvalidNoiseRequest, InvalidTrainingRequest, JobTooLarge
from app.storage.database import reading
from app.storage.pages import InvalidCursor, UnknownSort
from app.sweeps.errors import InvalidSweep, SweepNotFound
from app.sweeps.schemas import EXAMPLES, SweepItem, SweepOut
from app.sweeps.service import SweepService
from app.sweeps.specs import SweepSpec
from app.sweeps.submission import SweepSubmission

router = APIRouter(prefix="/sweeps", tags=["sweeps"])


@router.post(
    "",
    status_code=202,
    summary="Compare models under label noise",
    description="Queues a job and returns it; its id is the id of the sweep, and `Location` is where to follow it. "
    "Each model under each noise is a cell, which is a child job. `POST /jobs/{id}/cancel` of the sweep stops all of "
    "its cells.",
    responses=responses(
        *JSON_ERRORS,
        DatasetNotFound,
        InvalidSweep,
        InvalidNoiseRequest,
        InvalidTrainingRequest,
        JobTooLarge,
        *ACCEPTANCE_ERRORS,
    ),
    response_model=JobOut,
    openapi_extra=json_request_body(SweepSpec, EXAMPLES),
)
@needs(Scope.TRAIN)
async def sweep(body: Annotated[SweepSpec, json_body(SweepSpec)], context: Context, accepted: Accepted) -> Response:
    return await accepted.of(SweepSubmission(body, context.sessions, context.settings.limits))


@router.get(
    "",
    summary="List sweeps, newest first",
    responses=responses(InvalidCursor, UnknownSort, DatasetNotFound),
)
@needs(Scope.READ)
def list_sweeps(
    context: Context,
    page: PageParameters,
    dataset_id: DatasetFilter,
    state: Annotated[JobState | None, Query()] = None,
) -> Page[SweepItem]:
    with reading(context.sessions) as session:
        filters = JobFilter(JobKind.SWEEP, state, dataset_id)
        listed = JobService(session, context.settings.limits).page(page, filters)
    return Page.of(listed, SweepItem.from_head)


@router.delete(
    "/{sweep_id}",
    status_code=204,
    summary="Delete a sweep that has ended, with its cells",
    responses=responses(SweepNotFound, JobNotFinished, StorageFull),
)
@needs(Scope.ADMIN)
def delete_sweep(sweep_id: uuid.UUID, context: Context) -> None:
    delete_job(context.sessions, [], sweep_id, JobKind.SWEEP, SweepNotFound)


@router.get(
    "/{sweep_id}",
    summary="Get a sweep with the scores of its finished cells",
    response_model=SweepOut,
    responses=responses(SweepNotFound, *LARGE_ANSWER_ERRORS),
)
@needs(Scope.READ)
async def get_sweep(sweep_id: uuid.UUID, context: Context, answer: Answer) -> Response:
    def count_bytes() -> int:
        with reading(context.sessions) as session:
            return _service(context, session).stored_bytes(sweep_id)

    def sweep() -> SweepOut:
        with reading(context.sessions) as session:
            return SweepOut.from_sweep(_service(context, session).get(sweep_id))

    return await answer.of(count_bytes, sweep)


def _service(context: Resources, session: Session) -> SweepService:
    return SweepService(session, JobService(session, context.settings.limits))
