"""OpenAPI document: that of FastAPI, with problem details instead of its own error schemas."""

import re
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from app.access.errors import Forbidden, Unauthenticated
from app.access.scopes import UNDECLARED, Need
from app.errors import BodyTooLarge, Invalid, InvalidJson, ServiceError, UnsupportedMediaType
from app.http.error_handlers import MEDIA_TYPE, Problem, responses
from app.http.errors import (
    CrossSiteRequest,
    DatabaseUnavailable,
    HeadTooLarge,
    HostNotAllowed,
    MalformedRequest,
    RateLimitExceeded,
    RequestTimeout,
    ServerBusy,
)
from app.http.protocol_errors import follows_protocol, with_protocol_errors
from app.http.refusal import HEALTH_PATHS
from app.http.route_needs import known_routes

#: Name of the security scheme.
KEY_SCHEME = "api_key"
_KEY_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "description": "API key that `bristlecone keys create` has printed. Each route names the scope that the key needs; "
    "`admin` includes all others. While no key was ever created, requests need none.",
}
_PROBLEM = {"$ref": "#/components/schemas/Problem"}


def install(app: FastAPI) -> None:
    """Make the application serve this document."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            app.openapi_schema = _with_problems(document, _needs_of(app))
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _needs_of(app: FastAPI) -> dict[tuple[str, str], Need]:
    """Return the needs of all routes by path and method, both as the document writes them."""
    routes = list(known_routes(app.router))
    return {
        (route.path, method.lower()): route.need or UNDECLARED for route in routes for method in route.methods or ()
    }


def _with_problems(document: dict[str, Any], needs: dict[tuple[str, str], Need]) -> dict[str, Any]:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs") | {"Problem": problem}
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    shared: dict[str, Any] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _describe_invalid_requests(operation["responses"])
            _add_common_errors(path, method, operation, needs[path, method], shared)
            _describe_need(operation, needs[path, method])
            _describe_location(operation)
            if follows_protocol(path):
                operation["responses"] = with_protocol_errors(operation["responses"], shared)
    document["components"]["responses"] = dict(sorted(shared.items()))
    document["components"]["securitySchemes"] = {KEY_SCHEME: _KEY_SCHEME}
    return _with_shared_definitions(document)


#: Errors of requests that never reach their route, or whose body cannot be read, by what they depend on.
_OF_THE_SERVER = (MalformedRequest, RequestTimeout, Invalid, HeadTooLarge)
_OF_OTHER_ROUTES = (HostNotAllowed, ServerBusy, DatabaseUnavailable)
_OF_KEYS = (Unauthenticated, Forbidden, RateLimitExceeded)
_OF_CHANGES = (CrossSiteRequest,)
_OF_BODIES = (BodyTooLarge, UnsupportedMediaType, InvalidJson)


def _add_common_errors(path: str, method: str, operation: dict[str, Any], need: Need, shared: dict[str, Any]) -> None:
    """Add the errors that any route can answer to those that the route declares, which then name all codes."""
    errors: tuple[type[ServiceError], ...] = _OF_THE_SERVER
    if path not in HEALTH_PATHS:
        errors += _OF_OTHER_ROUTES
    if need.scope is not None:
        errors += _OF_KEYS
    if method != "get":
        errors += _OF_CHANGES
    if "requestBody" in operation:
        errors += _OF_BODIES
    declared = operation["responses"]
    for status, described in responses(*errors).items():
        own = declared.get(str(status))
        if own is None:
            name = "_or_".join(re.findall(r"`(\w+)`", described["description"]))
            shared[name] = _with_retry_after(status, described)
            declared[str(status)] = {"$ref": f"#/components/responses/{name}"}
        elif MEDIA_TYPE in own.get("content", {}):
            codes = described["description"].partition(": ")[2].split(", ")
            own["description"] += "".join(f", {code}" for code in codes if code not in own["description"])
            _with_retry_after(status, own)
    operation["responses"] = dict(sorted(declared.items()))


def _describe_need(operation: dict[str, Any], need: Need) -> None:
    """Name the scope of the route, where OpenAPI has a place for roles."""
    operation["security"] = [] if need.scope is None else [{KEY_SCHEME: [need.scope.value]}]


def _with_retry_after(status: int | str, response: dict[str, Any]) -> dict[str, Any]:
    if int(status) in (429, 503):
        schema = {"type": "integer", "minimum": 1}
        response["headers"] = {"Retry-After": {"description": "seconds until another attempt", "schema": schema}}
    return response


def _describe_location(operation: dict[str, Any]) -> None:
    """Describe the header of answers to requests that made something, or queued a job."""
    made = "201" in operation["responses"] or any(
        parameter["name"] == "Idempotency-Key" for parameter in operation.get("parameters", [])
    )
    for status in ("200", "201", "202") if made else ():
        if status in operation["responses"]:
            description = "path of the data set, job or alias"
            location = {"description": description, "required": True, "schema": {"type": "string"}}
            operation["responses"][status]["headers"] = {"Location": location}


def _with_shared_definitions(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with definitions inside of schemas, `$defs`, moved to its components.

    References begin at the root of the document, so that a schema with definitions of its own would refer to nothing.
    """
    shared: dict[str, Any] = {}

    def moved(part: Any) -> Any:
        if isinstance(part, list):
            return [moved(entry) for entry in part]
        if not isinstance(part, dict):
            return part
        for name, schema in part.get("$defs", {}).items():
            shared[name] = moved(schema)
        rest = {key: moved(entry) for key, entry in part.items() if key != "$defs"}
        if isinstance(rest.get("$ref"), str):
            rest["$ref"] = rest["$ref"].replace("#/$defs/", "#/components/schemas/")
        return rest

    result: dict[str, Any] = moved(document)
    result["components"]["schemas"] = shared | result["components"]["schemas"]
    return result


def _describe_invalid_requests(responses: dict[str, Any]) -> None:
    """Replace the 422 response that FastAPI adds to each route with parameters that does not declare its own."""
    invalid = responses.get("422")
    if invalid is not None and "application/json" in invalid["content"]:
        content = {MEDIA_TYPE: {"schema": _PROBLEM}}
        responses["422"] = {"description": "Unprocessable Content: `invalid_request`", "content": content}
