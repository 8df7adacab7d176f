"""Routes of sweeps: POST /sweeps and GET /sweeps/{id}."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Body

from app.datasets.dependencies import Context
from app.datasets.errors import DatasetNotFound
from app.datasets.service import DatasetService
from app.errors import InvalidJson, UnsupportedMediaType
from app.http.error_handlers import responses
from app.jobs.accepted import Accepted, IdempotencyKey
from app.jobs.errors import IdempotencyKeyReused, TooManyQueuedJobs
from app.jobs.schemas import JobOut
from app.jobs.service import JobService
from app.requests.errors import InvalidNoiseRequest, InvalidTrainingRequest
from app.storage.database import reading, writing
from app.sweeps.errors import InvalidSweep, SweepNotFound
from app.sweeps.schemas import EXAMPLES, SweepOut
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
        InvalidJson,
        UnsupportedMediaType,
        DatasetNotFound,
        InvalidSweep,
        InvalidNoiseRequest,
        InvalidTrainingRequest,
        IdempotencyKeyReused,
        TooManyQueuedJobs,
    ),
)
def sweep(
    body: Annotated[SweepSpec, Body(openapi_examples=EXAMPLES)],
    context: Context,
    accepted: Accepted,
    idempotency_key: IdempotencyKey = None,
) -> JobOut:
    limits = context.settings.limits
    with writing(context.sessions) as session:
        datasets = DatasetService(session, context.dataset_store, limits)
        submission = SweepSubmission(body, session, datasets, limits)
        job = JobService(session, limits).submit(submission, idempotency_key)
    return accepted.answer(job)


@router.get(
    "/{sweep_id}",
    summary="Get a sweep with the scores of its finished cells",
    responses=responses(SweepNotFound),
)
def get_sweep(sweep_id: uuid.UUID, context: Context) -> SweepOut:
    with reading(context.sessions) as session:
        return SweepOut.from_sweep(SweepService(session, JobService(session, context.settings.limits)).get(sweep_id))
