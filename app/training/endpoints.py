"""POST /train."""

from typing import Annotated

from fastapi import APIRouter, Body

from app.datasets.dependencies import Context
from app.datasets.errors import DatasetNotFound
from app.datasets.service import DatasetService
from app.errors import InvalidJson, UnsupportedMediaType
from app.http.error_handlers import responses
from app.jobs.accepted import Accepted, IdempotencyKey
from app.jobs.errors import (
    IdempotencyKeyReused,
    IncompatibleTestDataset,
    InvalidNoise,
    InvalidTrainingRequest,
    TooManyQueuedJobs,
)
from app.jobs.schemas import JobOut
from app.jobs.service import JobService
from app.storage.database import writing
from app.training.schemas import EXAMPLES, TrainRequest
from app.training.service import TrainingService

router = APIRouter(tags=["training"])


@router.post(
    "/train",
    status_code=202,
    summary="Train a model in the background",
    description="Answers at once with a job; follow it at `Location`. The job's `model_id` names the result.",
    responses=responses(
        InvalidJson,
        UnsupportedMediaType,
        DatasetNotFound,
        InvalidTrainingRequest,
        InvalidNoise,
        IncompatibleTestDataset,
        IdempotencyKeyReused,
        TooManyQueuedJobs,
    ),
)
def train(
    body: Annotated[TrainRequest, Body(openapi_examples=EXAMPLES)],
    context: Context,
    accepted: Accepted,
    idempotency_key: IdempotencyKey = None,
) -> JobOut:
    limits = context.settings.limits
    with writing(context.sessions) as session:
        datasets = DatasetService(session, context.dataset_store, limits)
        job = TrainingService(datasets, JobService(session, limits), limits).submit(body, idempotency_key)
    return accepted.of(job)
