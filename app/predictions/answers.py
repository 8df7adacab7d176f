"""Answers with predictions: small ones at once, large ones in pieces, which are made while they are sent."""

from collections.abc import Iterator, Mapping

from fastapi.responses import Response, StreamingResponse

from app.predictions.answer_cost import SMALL_ANSWER_BYTES, AnswerCost

_JSON = "application/json"


def answer(pieces: Iterator[bytes], cost: AnswerCost, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer with this JSON text. Call it in a thread, because a small one is made here."""
    if cost.n_bytes <= SMALL_ANSWER_BYTES:
        return Response(b"".join(pieces), media_type=_JSON, headers=headers)
    return StreamingResponse(pieces, media_type=_JSON, headers=headers)
