"""Route of training: POST /train."""

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
from app.storage.database import writing
from app.training.errors import IncompatibleTestDataset
from app.training.schemas import EXAMPLES
from app.training.specs import TrainRequest
from app.training.submission import TrainingSubmission

router = APIRouter(tags=["training"])


@router.post(
    "/train",
    status_code=202,
    summary="Train a model",
    description="Queues a job and returns it; `Location` is where to follow it. When the job has succeeded, its "
    "`model_id` is the id of the trained model.",
    responses=responses(
        InvalidJson,
        UnsupportedMediaType,
        DatasetNotFound,
        InvalidTrainingRequest,
        InvalidNoiseRequest,
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
        submission = TrainingSubmission(body, datasets, limits)
        job = JobService(session, limits).submit(submission, idempotency_key)
    return accepted.answer(job)
