"""Reading the JSON body of POST /predict, which FastAPI would read without telling of keys given twice."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from app.errors import Invalid, InvalidJson
from app.http.dependencies import Context
from app.predictions.errors import BodyTooLarge, DuplicateName, UnsupportedBody, pointer
from app.predictions.forms import RESERVED, RepeatedKeys, json_object
from app.predictions.schemas import PredictRequest


async def _raw_body(request: Request, context: Context) -> bytes:
    """The body as bytes, refused before it is read whole when it passes the limit."""
    _check_media_type(request.headers.get("content-type", ""))
    limit = context.settings.limits.max_body_bytes
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > limit:
            raise BodyTooLarge(
                f"The body is larger than BRISTLECONE_MAX_BODY_BYTES = {limit}; send fewer rows at a time."
            )
    return bytes(received)


RawBody = Annotated[bytes, Depends(_raw_body)]


def _check_media_type(content_type: str) -> None:
    given = content_type.partition(";")[0].strip().lower()
    if given != "application/json":
        raise UnsupportedBody.at(
            "header/Content-Type", f"{given!r:.100} cannot be read here; send JSON with Content-Type: application/json"
        )


def parse_request(body: bytes, query: Mapping[str, str]) -> PredictRequest:
    """What the body asks for; what it leaves open may stand in the query.

    Raises:
        InvalidJson: the body is no JSON.
        DuplicateName: a key is given twice, or both in the body and in the query.
        RequestValidationError: unknown keys, or values of the wrong type.
    """
    document = _parsed(body)
    if isinstance(document, dict):
        in_query = {name: query[name] for name in RESERVED if name in query}
        _refuse_repeated(document, in_query)
        document = {**in_query, **document}
    try:
        return PredictRequest.model_validate(document)
    except ValidationError as error:
        raise RequestValidationError(_at_body(error), body=document) from error


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body, object_pairs_hook=json_object)
    except (ValueError, RecursionError) as error:
        raise InvalidJson.because(error) from error


def _refuse_repeated(document: dict[str, Any], in_query: Mapping[str, str]) -> None:
    repeated = document.repeated if isinstance(document, RepeatedKeys) else ()
    for name in (*repeated, *(name for name in in_query if name in document)):
        raise DuplicateName.at(pointer(name), f"{name!r:.100} is given twice; give it once")


def _at_body(error: ValidationError) -> list[dict[str, Any]]:
    found = error.errors(include_url=False, include_context=False)
    return [{**item, "loc": ("body", *item["loc"])} for item in found]


def one_form(request: PredictRequest) -> None:
    """Refuse both forms at once, and neither."""
    if (request.rows is None) == (request.columns is None):
        given = "neither" if request.rows is None else "both"
        raise Invalid.at("/rows", f"give either rows or columns, not {given}")
