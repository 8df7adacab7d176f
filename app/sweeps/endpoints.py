"""POST /sweeps, GET /sweeps/{id}."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Body

from app.datasets.dependencies import Context
from app.datasets.errors import DatasetNotFound
from app.datasets.service import DatasetService
from app.errors import InvalidJson, UnsupportedMediaType
from app.http.error_handlers import responses
from app.jobs.accepted import Accepted, IdempotencyKey
from app.jobs.errors import IdempotencyKeyReused, InvalidNoise, InvalidTrainingRequest, TooManyQueuedJobs
from app.jobs.schemas import JobOut
from app.jobs.service import JobService
from app.requests.job_specs import SweepSpec
from app.storage.database import reading, writing
from app.sweeps.errors import InvalidSweep, SweepNotFound
from app.sweeps.schemas import EXAMPLES, SweepOut
from app.sweeps.service import SweepService
from app.sweeps.submission import submit

router = APIRouter(prefix="/sweeps", tags=["sweeps"])


@router.post(
    "",
    status_code=202,
    summary="Compare models under noise in the background",
    description="Answers at once with a job, whose id is the sweep's; follow it at `Location`. Each model under each "
    "noise is a cell, a job of its own; `POST /jobs/{id}/cancel` of the sweep stops all of them.",
    responses=responses(
        InvalidJson,
        UnsupportedMediaType,
        DatasetNotFound,
        InvalidSweep,
        InvalidNoise,
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
        job = submit(body, idempotency_key, session, datasets, JobService(session, limits), limits)
    return accepted.of(job)


@router.get(
    "/{sweep_id}",
    summary="The scores of a sweep's cells, as far as they are known",
    responses=responses(SweepNotFound),
)
def get_sweep(sweep_id: uuid.UUID, context: Context) -> SweepOut:
    with reading(context.sessions) as session:
        return SweepOut.of(SweepService(session, JobService(session, context.settings.limits)).get(sweep_id))
