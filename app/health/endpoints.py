"""GET /healthz: whether the process answers. GET /readyz: whether everything it depends on answers as well.

Both run on the event loop, so that they never wait for the threads of other routes.
"""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field
from starlette.types import Scope

from app.access.scopes import open_to_all
from app.health.checks import OK, ReadinessChecks
from app.http.direct_answers import ReadyAnswer

router = APIRouter(tags=["health"])


async def _checks(request: Request) -> ReadinessChecks:
    checks: ReadinessChecks = request.app.state.readiness
    return checks


class Health(BaseModel):
    """Answer of a process that is alive."""

    status: str = Field(examples=["ok"])


class Readiness(BaseModel):
    """Outcome of each readiness check."""

    status: str = Field(examples=["ready"], description="`ready` or `not_ready`")
    checks: dict[str, str] = Field(
        examples=[{"database": "ok", "broker": "ok", "store": "ok", "migrations": "ok", "storage": "ok"}],
        description="`ok` or `unavailable` by the part of the service",
    )
    oldest_queued_seconds: float | None = Field(
        description="how long the oldest queued job has been waiting; null if none is queued"
    )


_HEALTHY = Health(status="ok")
_HEALTHY_JSON = _HEALTHY.model_dump_json().encode()
_HEADERS = [(b"content-length", b"%d" % len(_HEALTHY_JSON)), (b"content-type", b"application/json")]


def answer_directly(scope: Scope) -> ReadyAnswer | None:
    """Return the answer of GET /healthz, or None if its route must refuse the query."""
    return None if scope["query_string"] else ReadyAnswer(200, list(_HEADERS), _HEALTHY_JSON)


class InferenceReadiness(BaseModel):
    """Readiness in the form of the Open Inference Protocol."""

    ready: bool


@router.get(
    "/v2/health/ready",
    tags=["inference"],
    summary="Check whether the service is ready, by the Open Inference Protocol",
    responses={503: {"model": InferenceReadiness, "description": "A part that `GET /readyz` names is not available"}},
)
@open_to_all
async def inference_ready(
    response: Response, checks: Annotated[ReadinessChecks, Depends(_checks)]
) -> InferenceReadiness:
    ready = all(outcome == OK for outcome in (await checks.outcomes()).values())
    response.status_code = 200 if ready else 503
    return InferenceReadiness(ready=ready)


@router.get("/healthz", summary="Check whether this process is alive")
@open_to_all
async def healthz() -> Health:
    return _HEALTHY


@router.get(
    "/readyz",
    summary="Check whether database, broker and store answer and the schema is current",
    responses={503: {"model": Readiness, "description": "At least one of `checks` is not `ok`"}},
)
@open_to_all
async def readyz(response: Response, checks: Annotated[ReadinessChecks, Depends(_checks)]) -> Readiness:
    outcomes = await checks.outcomes()
    ready = all(outcome == OK for outcome in outcomes.values())
    response.status_code = 200 if ready else 503
    age = await checks.oldest_queued_seconds() if ready else None
    return Readiness(status="ready" if ready else "not_ready", checks=outcomes, oldest_queued_seconds=age)
