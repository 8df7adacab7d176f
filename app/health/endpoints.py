"""GET /healthz: whether the process answers. GET /readyz: whether everything it depends on answers as well."""

import logging
import os
from collections.abc import Callable
from typing import Annotated, Protocol

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field
from sqlalchemy import Engine, text

from app.http.dependencies import Resources, resources
from app.jobs.queue import ping_broker
from app.jobs.service import JobService
from app.storage.database import reading
from app.storage.schema import is_current

log = logging.getLogger(__name__)

router = APIRouter(tags=["health"])


class HealthResources(Resources, Protocol):
    """Resources that are checked for readiness, beside the broker."""

    @property
    def engine(self) -> Engine: ...


Context = Annotated[HealthResources, Depends(resources)]


class Health(BaseModel):
    """Answer of a process that is alive."""

    status: str = Field(examples=["ok"])


class Readiness(BaseModel):
    """Outcome of each readiness check."""

    status: str = Field(examples=["ready"], description="`ready` or `not_ready`")
    checks: dict[str, str] = Field(examples=[{"database": "ok", "broker": "ok", "store": "ok", "migrations": "ok"}])
    oldest_queued_seconds: float | None = Field(
        description="how long the oldest queued job has been waiting; null if none is queued"
    )


@router.get("/healthz", summary="Check whether this process is alive")
def healthz() -> Health:
    return Health(status="ok")


@router.get(
    "/readyz",
    summary="Check whether database, broker and store answer and the schema is current",
    responses={503: {"model": Readiness, "description": "At least one of `checks` is not `ok`"}},
)
def readyz(request: Request, response: Response, context: Context) -> Readiness:
    checks: dict[str, Callable[[], None]] = {
        "database": lambda: _ask_database(context),
        "broker": lambda: ping_broker(request.app.state.celery),
        "store": lambda: _use_store(context),
        "migrations": lambda: _compare_schema(context),
    }
    results = {name: _outcome(name, check) for name, check in checks.items()}
    ready = all(result == "ok" for result in results.values())
    response.status_code = 200 if ready else 503
    age = _queue_age(context) if ready else None
    return Readiness(status="ready" if ready else "not_ready", checks=results, oldest_queued_seconds=age)


def _outcome(name: str, check: Callable[[], None]) -> str:
    try:
        check()
    except Exception as error:
        # The client is told which part is unavailable. The reason can contain addresses, so it is only logged.
        log.warning("readiness: %s is not available: %s", name, error)
        return "unavailable"
    return "ok"


def _ask_database(context: HealthResources) -> None:
    with reading(context.sessions) as session:
        session.execute(text("SELECT 1"))


def _use_store(context: HealthResources) -> None:
    for folder in (context.settings.staging_folder, context.settings.artifacts_folder):
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"{folder} cannot be written to")


def _compare_schema(context: HealthResources) -> None:
    if not is_current(context.engine):
        raise RuntimeError("the newest migration has not been run; run: bristlecone migrate")


def _queue_age(context: HealthResources) -> float | None:
    with reading(context.sessions) as session:
        return JobService(session, context.settings.limits).oldest_queued_age_seconds()
