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
    return document


def _describe_invalid_requests(responses: dict[str, Any]) -> None:
    """Replace the 422 response that FastAPI adds to each route with parameters that does not declare its own."""
    invalid = responses.get("422")
    if invalid is not None and "application/json" in invalid["content"]:
        content = {MEDIA_TYPE: {"schema": _PROBLEM}}
        responses["422"] = {"description": "Unprocessable Content: `invalid_request`", "content": content}
