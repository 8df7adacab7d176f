"""OpenAPI document: that of FastAPI, with problem details instead of its own error schemas."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from app.http.error_handlers import MEDIA_TYPE, Problem

_PROBLEM = {"$ref": "#/components/schemas/Problem"}


def install(app: FastAPI) -> None:
    """Make the application serve this document."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _with_problems(
                get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            )
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _with_problems(document: dict[str, Any]) -> dict[str, Any]:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs") | {"Problem": problem}
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for path in document["paths"].values():
        for operation in path.values():
            _describe_invalid_requests(operation["responses"])
    return _with_shared_definitions(document)


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
