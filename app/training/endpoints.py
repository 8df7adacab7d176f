"""Route of training: POST /train."""

from typing import Annotated

from fastapi import APIRouter

from app.access.scopes import Scope, needs
from app.datasets.dependencies import Context
from app.datasets.errors import DatasetNotFound, TooManyUploads, UploadReaderLost, UploadTooSlow
from app.http.error_handlers import responses
from app.http.json_body import JSON_ERRORS, json_body, json_request_body
from app.jobs.accepted import Accepted, IdempotencyKey
from app.jobs.errors import IdempotencyKeyReused, TooManyQueuedJobs
from app.jobs.schemas import JobOut
from app.jobs.service import submit
from app.requests.errors import InvalidNoiseRequest, InvalidTrainingRequest, JobTooLarge
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
        *JSON_ERRORS,
        DatasetNotFound,
        InvalidTrainingRequest,
        JobTooLarge,
        InvalidNoiseRequest,
        IncompatibleTestDataset,
        IdempotencyKeyReused,
        TooManyQueuedJobs,
        UploadTooSlow,
        TooManyUploads,
        UploadReaderLost,
    ),
    openapi_extra=json_request_body(TrainRequest, EXAMPLES),
)
@needs(Scope.TRAIN)
def train(
    body: Annotated[TrainRequest, json_body(TrainRequest, own_limits=[("data", "columns")])],
    context: Context,
    accepted: Accepted,
    idempotency_key: IdempotencyKey = None,
) -> JobOut:
    limits = context.settings.limits
    submission = TrainingSubmission(body, context.sessions, context.dataset_store, limits)
    return accepted.answer(submit(context.sessions, limits, submission, idempotency_key))
