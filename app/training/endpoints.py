"""Route of training: POST /train."""

from typing import Annotated

from fastapi import APIRouter, Response

from app.access.scopes import Scope, needs
from app.datasets.dependencies import Context
from app.datasets.errors import DatasetNotFound, TooManyUploads, UploadReaderLost, UploadTooSlow
from app.http.error_handlers import responses
from app.http.json_body import JSON_ERRORS, json_body, json_request_body
from app.jobs.accepted import ACCEPTANCE_ERRORS, Accepted
from app.jobs.schemas import JobOut
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
        *ACCEPTANCE_ERRORS,
        UploadTooSlow,
        TooManyUploads,
        UploadReaderLost,
    ),
    response_model=JobOut,
    openapi_extra=json_request_body(TrainRequest, EXAMPLES),
)
@needs(Scope.TRAIN)
async def train(
    body: Annotated[TrainRequest, json_body(TrainRequest, own_limits=[("data", "columns")])],
    context: Context,
    accepted: Accepted,
) -> Response:
    limits = context.settings.limits
    return await accepted.of(TrainingSubmission(body, context.sessions, context.dataset_store, limits))
