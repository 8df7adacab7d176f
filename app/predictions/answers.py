"""Answers with predictions: small ones at once, large ones in pieces, which are made while they are sent."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from fastapi.responses import Response, StreamingResponse

from app.predictions.answer_cost import SMALL_ANSWER_BYTES, AnswerCost
from app.predictions.batch import Batch
from app.predictions.predicted_table import PredictedTable
from app.predictions.service import ServedModel

_JSON = "application/json"


#: Cells that are predicted at once. A piece is large enough for all threads, and small beside the shared memory.
_CELLS_PER_PART = 400_000


def answer(
    pieces: Iterator[bytes], cost: AnswerCost, headers: Mapping[str, str] | None = None, media_type: str = _JSON
) -> Response:
    """Return the answer with this text. Call it in a thread, because a small one is made here."""
    if cost.n_bytes <= SMALL_ANSWER_BYTES:
        return Response(b"".join(pieces), media_type=media_type, headers=headers)
    return StreamingResponse(pieces, media_type=media_type, headers=headers)


def rows_per_part(served: ServedModel) -> int:
    """Return the number of rows that are predicted at once."""
    return max(1, _CELLS_PER_PART // (len(served.encoder.columns) + len(served.labels)))


def predicted_table(batch: Batch) -> PredictedTable:
    """Return the predictions of a batch, which are made while they are read."""
    served, with_probabilities = batch.served, batch.parameters.output == "probabilities"
    parts = (
        replace(served.predict(X), with_probabilities=with_probabilities)
        for X in batch.rows.pieces(rows_per_part(served))
    )
    return PredictedTable(served.reference(), served.labels, served.label_texts, with_probabilities, parts)


def model_headers(model: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that name the model, for forms that have no place for it."""
    return {"X-Model-Id": str(model["id"]), "X-Model-Version": str(model["version"])}
