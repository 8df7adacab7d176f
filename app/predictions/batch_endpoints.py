"""Route POST /predict: predictions of many rows, in every form."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from app.access.scopes import Scope, needs
from app.datasets.errors import DatasetFileDamaged, DatasetFileMissing, DatasetNotFound
from app.errors import NotAcceptable
from app.http.error_handlers import responses
from app.http.json_body import JSON_ERRORS
from app.http.negotiation import accepted
from app.http.query_names import own_query
from app.jobs.accepted import ACCEPTANCE_ERRORS, Acceptance, Accepted
from app.jobs.schemas import JobOut
from app.predictions.answer_cost import AnswerCost
from app.predictions.answers import answer, model_headers, predicted_table, rows_per_part
from app.predictions.batch import Batch
from app.predictions.body import received
from app.predictions.dependencies import Context, JobRowsIntake, Memory, PredictionResources, RowsIntake
from app.predictions.endpoints import MODEL_ERRORS, RULES
from app.predictions.errors import FORM_ERRORS, INPUT_ERRORS, SIZE_ERRORS
from app.predictions.forms import RESERVED
from app.predictions.job_intake import JobIntake, identity_of
from app.predictions.media_types import FORMATS, JSON
from app.predictions.remote_rows import READING_ERRORS
from app.predictions.schemas import REQUEST_EXAMPLES, Predictions, PredictRequest
from app.predictions.writers import WRITABLE, WRITERS
from app.requests.errors import JobTooLarge

router = APIRouter(prefix="/predict", tags=["predictions"])

_BYTES: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}

RESPOND_ASYNC = "respond-async"
PREFER = "`respond-async` queues a job of kind `predict` instead; its `result.href` has the answer"
DESCRIPTION = f"""The body is JSON with `rows`, `columns` or the `dataset_id` of an uploaded data set (its id or name),
or a table: {", ".join(FORMATS)}. A JSON body has the parameters in it or in the query; with a table they are in the
query.

{RULES}

The answer has the form that `Accept` asks for: {", ".join(WRITABLE)}. Tables have the columns `label` and, for each
class, `p.CLASS`; the headers `X-Model-Id` and `X-Model-Version` name the model. With `output=labels`, answers have no
probabilities."""


@router.post(
    "",
    summary="Predict many rows",
    description=DESCRIPTION,
    response_model=Predictions,
    dependencies=[own_query(lambda _: frozenset(RESERVED))],
    responses={
        202: {"model": JobOut, "description": "The job that was queued, with `Prefer: respond-async`"},
        200: {"content": {media_type: _BYTES for media_type in WRITABLE if media_type != JSON}},
        **responses(
            *JSON_ERRORS, *SIZE_ERRORS, *MODEL_ERRORS, *FORM_ERRORS, *INPUT_ERRORS, *READING_ERRORS, NotAcceptable,
            JobTooLarge, *ACCEPTANCE_ERRORS, DatasetNotFound, DatasetFileMissing, DatasetFileDamaged,
        ),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                JSON: {"schema": PredictRequest.model_json_schema(), "examples": REQUEST_EXAMPLES},
                **dict.fromkeys(FORMATS, _BYTES),
            },
        }
    },
)  # fmt: skip
@needs(Scope.PREDICT)
async def predict_many(
    request: Request,
    context: Context,
    intake: RowsIntake,
    job_intake: JobRowsIntake,
    memory: Memory,
    accepted_job: Accepted,
    prefer: Annotated[str | None, Header(description=PREFER)] = None,
) -> Response:
    if _asks_for_a_job(prefer):
        return await _queued(request, context, job_intake, accepted_job)
    media_type = accepted(request.headers.get("accept"), WRITABLE)
    batch = await intake.batch(request)
    cost = batch.served.cost(batch.rows.n_rows, context.settings.limits)
    # A part at a time is in memory.
    n_rows = min(batch.rows.n_rows, rows_per_part(batch.served))
    await memory.take(batch.served.cost(n_rows, context.settings.limits))
    return await run_in_threadpool(_answered, batch, media_type, cost)


def _asks_for_a_job(prefer: str | None) -> bool:
    """Return whether the client prefers a job to an answer (RFC 7240)."""
    return any(part.partition(";")[0].strip().lower() == RESPOND_ASYNC for part in (prefer or "").split(","))


async def _queued(
    request: Request, context: PredictionResources, intake: JobIntake, accepted_job: Acceptance
) -> Response:
    """Return the answer that shows the job: a new one, or the one that the idempotency key has queued before."""
    async with received(request, context.settings) as body:
        identity = await identity_of(body, request.query_params)
        answered = await accepted_job.repeated(identity)
        if answered is None:
            answered = await accepted_job.of(await intake.submission(body, request.query_params, identity))
    answered.headers["Preference-Applied"] = RESPOND_ASYNC
    return answered


def _answered(batch: Batch, media_type: str, cost: AnswerCost) -> Response:
    pieces = WRITERS[media_type](predicted_table(batch))
    return answer(pieces, cost, model_headers(batch.served.reference()), media_type)
