"""Route GET /jobs/{id}/result: what an asynchronous prediction has made."""

import uuid
from contextlib import ExitStack
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from app.access.scopes import Scope, needs
from app.errors import MemoryBusy, NotAcceptable
from app.http.error_handlers import responses
from app.http.negotiation import accepted
from app.jobs.errors import JobNotFound
from app.predictions.answer_cost import AnswerCost
from app.predictions.answers import answer, model_headers
from app.predictions.dependencies import Context, Memory
from app.predictions.errors import NoPrediction, PredictionMissing, PredictionNotFinished
from app.predictions.predicted_rows import PredictedRows
from app.predictions.predicted_table import PredictedTable
from app.predictions.results import result_sha256
from app.predictions.schemas import Predictions
from app.predictions.store import StoredResult, open_result
from app.predictions.writers import WRITABLE, WRITERS
from app.requests.job_memory import PREDICTED_CELLS

router = APIRouter(prefix="/jobs", tags=["jobs"])

_BYTES: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}


@router.get(
    "/{job_id}/result",
    summary="Get what an asynchronous prediction has made",
    description=f"In the form that `Accept` asks for: {', '.join(WRITABLE)}. As the answer of `POST /predict`.",
    response_model=Predictions,
    responses={
        200: {"content": dict.fromkeys(WRITABLE[1:], _BYTES)},
        **responses(JobNotFound, NoPrediction, PredictionNotFinished, PredictionMissing, NotAcceptable, MemoryBusy),
    },
)
@needs(Scope.PREDICT)
async def get_result(job_id: uuid.UUID, request: Request, context: Context, memory: Memory) -> Response:
    media_type = accepted(request.headers.get("accept"), WRITABLE)
    file = await run_in_threadpool(result_sha256, context.sessions, context.settings.limits, job_id)
    opened = memory.sent.enter_context(ExitStack())
    result = await run_in_threadpool(lambda: opened.enter_context(open_result(context.prediction_store.path(file))))
    n_cells, n_bytes = result.n_rows * len(result.head.labels), result.n_rows * result.head.bytes_per_row
    # A part at a time is in memory.
    await memory.take(AnswerCost(min(n_cells, PREDICTED_CELLS), n_bytes))
    pieces = WRITERS[media_type](_table(result))
    headers = model_headers(result.head.model)
    return await run_in_threadpool(answer, pieces, AnswerCost(n_cells, n_bytes), headers, media_type)


def _table(result: StoredResult) -> PredictedTable:
    head, with_probabilities = result.head, result.head.output == "probabilities"
    parts = (
        PredictedRows(head.labels, head.label_texts, head.bytes_per_row, part, with_probabilities)
        for part in result.parts
    )
    return PredictedTable(head.model, head.labels, head.label_texts, with_probabilities, parts)
