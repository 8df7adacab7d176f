"""JSON body of POST /predict, read here because FastAPI would not report keys that occur twice."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Request

from app.errors import InvalidJson
from app.http.dependencies import Context
from app.predictions.errors import BodyTooLarge, DuplicateName, UnsupportedBody, pointer
from app.predictions.forms import RESERVED, RepeatedKeys, json_object


async def _raw_body(request: Request, context: Context) -> bytes:
    """Return the body. One that exceeds the limit is refused before it is read completely."""
    _check_media_type(request.headers.get("content-type", ""))
    limit = context.settings.limits.max_body_bytes
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > limit:
            raise BodyTooLarge(
                f"The body exceeds the limit of {limit} bytes (BRISTLECONE_MAX_BODY_BYTES); send fewer rows per "
                "request, or raise the limit."
            )
    return bytes(received)


RawBody = Annotated[bytes, Depends(_raw_body)]


def _check_media_type(content_type: str) -> None:
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise UnsupportedBody.at(
            "header/Content-Type",
            f"the media type is {media_type!r:.100}; send JSON with Content-Type: application/json",
        )


def parse_document(body: bytes, query: Mapping[str, str]) -> Any:
    """Return the JSON document of the body, completed by the parameters in the query.

    Raises:
        InvalidJson: the body is not JSON.
        DuplicateName: a key occurs twice, or both in the body and in the query.
    """
    document = _parsed(body)
    if not isinstance(document, dict):
        return document
    parameters = {name: query[name] for name in RESERVED if name in query}
    _refuse_duplicates(document, parameters)
    return {**parameters, **document}


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body, object_pairs_hook=json_object)
    except (ValueError, RecursionError) as error:
        raise InvalidJson.because(error) from error


def _refuse_duplicates(document: dict[str, Any], parameters: Mapping[str, str]) -> None:
    repeated = document.repeated if isinstance(document, RepeatedKeys) else ()
    for name in (*repeated, *(name for name in parameters if name in document)):
        raise DuplicateName.at(pointer(name), f"{name!r:.100} occurs twice; give it once")
