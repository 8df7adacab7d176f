"""Error handlers, which answer with RFC 9457 problem details.

Only known exception classes become 4xx answers. Any other exception becomes a 500 answer, and its trace is logged.
"""

import logging
import math
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import BaseModel, Field
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from starlette.exceptions import HTTPException
from starlette.types import Scope

from app.errors import FieldError, Invalid, ServiceError, StorageFull, few_errors, further_faults, shortened
from app.http.answered_error import answered_error
from app.http.errors import DatabaseUnavailable
from app.http.route_needs import known_routes
from app.http.validation_sentences import field_errors
from app.storage.database import changes
from app.storage.disk_space import is_full

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

#: Most characters of a path in a line of the log.
MAX_SHOWN_PATH = 300


class ProblemError(BaseModel):
    """Error of one field of the request."""

    pointer: str = Field(examples=["/model/n_estimators"])
    detail: str = Field(examples=["n_estimators is 0; it must be at least 1"])


class Problem(BaseModel):
    """Body of every error answer (RFC 9457)."""

    type: str = Field(examples=["about:blank"])
    title: str = Field(examples=["Invalid request"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["At /model/n_estimators: n_estimators is 0; it must be at least 1."])
    code: str = Field(examples=["invalid_request"])
    errors: list[ProblemError] = Field(default=[])


def problem_response(
    status: int, code: str, title: str, detail: str, errors: Iterable[FieldError] = ()
) -> JSONResponse:
    body: dict[str, Any] = {
        "type": "about:blank", "title": title, "status": status, "detail": shortened(detail), "code": code,
    }  # fmt: skip
    if (record := answered_error.get()) is not None:
        record.code = code
    listed = [{"pointer": error.pointer, "detail": error.detail} for error in few_errors(errors)]
    if listed:
        body["errors"] = listed
    return JSONResponse(body, status_code=status, media_type=MEDIA_TYPE)


def error_response(error: ServiceError) -> JSONResponse:
    response = problem_response(error.status, error.code, error.title, error.detail, error.errors)
    if error.retry_after_seconds is not None:
        response.headers["Retry-After"] = str(math.ceil(error.retry_after_seconds))
    return response


def responses(*errors: type[ServiceError]) -> dict[int | str, dict[str, Any]]:
    """Return the `responses=` of a route that can raise these errors, so that OpenAPI lists their codes."""
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
    """Add the error handlers to the application."""
    app.add_exception_handler(ServiceError, _service_error)
    app.add_exception_handler(RequestValidationError, _request_validation_error)
    app.add_exception_handler(HTTPException, _http_exception)
    for unavailable in (OperationalError, NoFreeConnection):
        app.add_exception_handler(unavailable, _database_unavailable)
    app.add_exception_handler(OSError, _file_error)


def _service_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ServiceError)
    return error_response(error)


def _request_validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    errors, n_errors = field_errors(error.errors(), error.body)
    first, others = errors[0], n_errors - 1
    detail = f"At {first.pointer}: {first.detail.removesuffix('.')}{further_faults(others)}."
    return problem_response(422, Invalid.code, Invalid.title, detail, errors)


#: Codes of errors that the framework raises.
HTTP_CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed", 408: "request_timeout"}


_ROUTE_DETAILS = {
    404: "There is no route {method} {path}; GET /openapi.json lists all routes, and /docs shows them in a browser.",
    405: "{method} is not possible at {path}; the methods there are {allowed}.",
}


def _route_detail(request: Request, error: HTTPException, phrase: str) -> str:
    """Return the sentence for an error of the framework, which by default only repeats the phrase of the status."""
    if error.detail != phrase:
        return error.detail
    template = _ROUTE_DETAILS.get(error.status_code, f"{phrase}: {{method}} {{path}}")
    path = quote(request.url.path)[:200]
    return template.format(method=request.method[:20], path=path, allowed=_allowed_methods(request))


def _without_slash(request: Request) -> str | None:
    """Return the path and query of the route whose path differs by slashes at the end, if there is one.

    Without a host: the one of the request may be a name that the client alone knows.
    """
    path = request.scope["path"].rstrip("/")
    if path == request.scope["path"] or not _methods_at(request, path):
        return None
    query = request.scope["query_string"].decode("ascii", "replace")
    return quote(path) + (f"?{query}" if query else "")


def _allowed_methods(request: Request) -> str:
    """Return the methods of all routes with the path of the request; the framework names those of the first only."""
    return ", ".join(_methods_at(request, request.scope["path"]))


def _methods_at(request: Request, path: str) -> list[str]:
    """Return the methods of the routes of a path. One that is a route itself is not a parameter of other routes."""
    routes = [route for route in known_routes(request.app.router) if route.pattern.match(path)]
    own = [route for route in routes if route.path == path]
    methods = {method for route in own or routes for method in route.methods or ()}
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404 and (location := _without_slash(request)):
        return RedirectResponse(location)
    phrase = HTTPStatus(error.status_code).phrase
    code = HTTP_CODES.get(error.status_code, HTTP_CODES[400])
    response = problem_response(error.status_code, code, phrase, _route_detail(request, error, phrase))
    response.headers.update(error.headers or {})
    if error.status_code == 405:
        response.headers["Allow"] = _allowed_methods(request)
    return response


UNCHANGED = "The database does not answer. Nothing was changed; try again later."
MAYBE_CHANGED = (
    "The database stopped answering while the change was being stored, so it may have been made. Read what you wanted "
    "to change before you repeat the request; a request with an Idempotency-Key can be repeated safely."
)


DISK_FULL = "There is no disk space left. Nothing was stored; free some space, and send the request again."


def _storage_full() -> JSONResponse:
    return problem_response(StorageFull.status, StorageFull.code, StorageFull.title, DISK_FULL)


def _file_error(request: Request, error: Exception) -> JSONResponse:
    if not is_full(error):
        raise error
    log.error("the disk is full: %s", type(error).__name__)
    return _storage_full()


def _database_unavailable(request: Request, error: Exception) -> JSONResponse:
    if is_full(error):
        log.error("the disk of the database is full")
        return _storage_full()
    log.error("the database did not answer", exc_info=error)
    record = changes.get()
    detail = MAYBE_CHANGED if record is None or record.possible else UNCHANGED
    return error_response(DatabaseUnavailable(detail))


def shown_target(scope: Scope) -> str:
    """Return method and path for a line of the log, which no client can break or make long. Queries are not logged."""
    return f"{scope['method']:.20} {quote(scope['path'][:MAX_SHOWN_PATH])}"


def bug_response(request: Request, error: Exception) -> JSONResponse:
    """Log an exception that no handler knows, and return the 500 answer."""
    log.error("unhandled error in %s", shown_target(request.scope), exc_info=error)
    detail = "An internal error occurred. The log has the details under the X-Request-Id of this answer."
    return problem_response(500, ServiceError.code, ServiceError.title, detail)
