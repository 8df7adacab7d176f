"""From exceptions to RFC 9457 problem details. Only known classes become 4xx; a bug stays a 500 with a logged trace."""

import json
import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from starlette.exceptions import HTTPException

from app.errors import FieldError, Invalid, InvalidJson, ServiceError, Unavailable, UnsupportedMediaType, pointer_token

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"


class ProblemError(BaseModel):
    pointer: str = Field(examples=["/model/n_estimators"])
    detail: str = Field(examples=["Input should be greater than or equal to 1"])


class Problem(BaseModel):
    """The body of every error answer (RFC 9457)."""

    type: str = Field(examples=["about:blank"])
    title: str = Field(examples=["Invalid request"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["1 field of the request is invalid: /model/n_estimators"])
    code: str = Field(examples=["invalid_request"])
    errors: list[ProblemError] = Field(default=[])


def problem_response(
    status: int, code: str, title: str, detail: str, errors: Iterable[FieldError] = ()
) -> JSONResponse:
    body: dict[str, Any] = {
        "type": "about:blank", "title": title, "status": status, "detail": detail, "code": code,
    }  # fmt: skip
    listed = [{"pointer": error.pointer, "detail": error.detail} for error in errors]
    if listed:
        body["errors"] = listed
    return JSONResponse(body, status_code=status, media_type=MEDIA_TYPE)


def responses(*errors: type[ServiceError]) -> dict[int | str, dict[str, Any]]:
    """The `responses=` of a route that may raise these, so that OpenAPI names their codes."""
    codes: dict[int, list[str]] = {}
    for error in errors:
        codes.setdefault(error.status, []).append(error.code)
    return {
        status: {
            "description": f"{HTTPStatus(status).phrase}: {', '.join(f'`{name}`' for name in names)}",
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status, names in codes.items()
    }


def install(app: FastAPI) -> None:
    app.add_exception_handler(ServiceError, _service_error)
    app.add_exception_handler(RequestValidationError, _request_validation_error)
    app.add_exception_handler(HTTPException, _http_exception)
    for away in (OperationalError, NoFreeConnection):
        app.add_exception_handler(away, _database_away)


def _service_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ServiceError)
    return problem_response(error.status, error.code, error.title, error.detail, error.errors)


def _request_validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    if isinstance(error.__cause__, json.JSONDecodeError):
        return _service_error(request, InvalidJson.because(error.__cause__))
    if isinstance(error.body, bytes) and error.body:  # FastAPI leaves what does not call itself JSON unread
        given = request.headers.get("content-type", "")
        detail = f"{given!r:.100} cannot be read here; send JSON with Content-Type: application/json"
        return _service_error(request, UnsupportedMediaType.at("header/Content-Type", detail))
    reasons: dict[str, list[str]] = {}
    for item in error.errors():
        reasons.setdefault(_pointer(item, error.body), []).append(_reason(item))
    errors = [FieldError(pointer, "; or: ".join(dict.fromkeys(found))) for pointer, found in reasons.items()]
    detail = f"The request is not valid at {', '.join(reasons)}; see errors for the rule of each field."
    return problem_response(422, Invalid.code, Invalid.title, detail, errors)


def _pointer(item: Mapping[str, Any], body: Any) -> str:
    """pydantic's location as a JSON pointer into the body, or `query/NAME` and the like.

    Names of union members stand in the location although the client never wrote them; they are left out.
    """
    source, *rest = item["loc"] or ("body",)
    if source != "body":
        return "/".join(str(part) for part in item["loc"])
    written: list[str] = []
    here: Any = body
    for part in rest:
        inside = (isinstance(here, dict) and part in here) or (isinstance(here, list) and isinstance(part, int))
        if inside:
            here = here[part]
        if inside or (item["type"] == "missing" and part == rest[-1]):
            written.append(pointer_token(str(part)))
    return "/" + "/".join(written)


_KINDER_REASONS = {
    "union_tag_not_found": "the key 'kind' is missing; it says which of the alternatives this is",
    "extra_forbidden": "this key is not known here; remove it or check its spelling",
    "missing": "this field is required",
}


def _reason(item: Mapping[str, Any]) -> str:
    if item["type"] == "value_error":
        return str(item["msg"]).removeprefix("Value error, ")  # what was raised, which names the value itself
    return f"{_KINDER_REASONS.get(item['type'], item['msg'])}{_shown(item)}"


def _shown(item: Mapping[str, Any]) -> str:
    given = item.get("input")
    if given is None or isinstance(given, bool):
        return "" if item["type"] == "missing" else f" (got {json.dumps(given)})"
    return f" (got {given!r:.80})" if isinstance(given, str | int | float) else ""


#: Codes of what the framework itself refuses.
HTTP_CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed"}


def _http_exception(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == 400 and isinstance(error.__cause__, ValueError | RecursionError):
        # The framework could not parse the body, and says no more than that.
        return _service_error(request, InvalidJson.because(error.__cause__))
    phrase = HTTPStatus(error.status_code).phrase
    code = HTTP_CODES.get(error.status_code, HTTP_CODES[400])
    detail = error.detail if error.detail != phrase else f"{phrase}: {request.method} {request.url.path}"
    response = problem_response(error.status_code, code, phrase, detail)
    response.headers.update(error.headers or {})
    return response


def _database_away(request: Request, error: Exception) -> JSONResponse:
    log.error("the database did not answer", exc_info=error)
    detail = "The database does not answer. Nothing was changed; try again in a moment."
    response = problem_response(503, "database_unavailable", Unavailable.title, detail)
    response.headers["Retry-After"] = "5"
    return response


def bug_response(request: Request, error: Exception) -> JSONResponse:
    log.error("unhandled error in %s %s", request.method, quote(request.url.path), exc_info=error)
    detail = "Something went wrong on our side. The log holds the details under this answer's X-Request-Id."
    return problem_response(500, ServiceError.code, ServiceError.title, detail)
