"""Composition root of the API: lifespan, middleware, routers and error handlers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Protocol

from fastapi import Depends, FastAPI
from starlette.middleware.body_limit import RequestBodyLimitMiddleware

from app.audits import endpoints as audits
from app.audits.dependencies import AuditResources
from app.context import open_context
from app.datasets import endpoints as datasets
from app.health import endpoints as health
from app.health.endpoints import HealthResources
from app.http import error_handlers, openapi
from app.http.body_limit import ExplainBodyLimit
from app.http.compression import CompressAnswers
from app.http.head import AnswerHead
from app.http.query_names import refuse_ignored_parameters
from app.http.request_log import RequestLog
from app.jobs import endpoints as jobs
from app.jobs.queue import make_celery
from app.logs import configure_logging
from app.maintenance import maintenance_thread
from app.predictions import endpoints as predictions
from app.predictions.dependencies import PredictionResources
from app.settings import Settings, load_settings
from app.sweeps import endpoints as sweeps
from app.trained_models import endpoints as trained_models
from app.training import endpoints as training
from core import service_api

DESCRIPTION = """Train tree models on data with unreliable labels, and predict with them.

Upload a table (`POST /datasets`), train (`POST /train`), follow the job (`GET /jobs/{id}`), predict (`/predict`).
Errors are `application/problem+json` with a stable `code`."""


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the ASGI application. Settings are read from the environment if `settings` is None."""
    configure_logging()
    settings = settings or load_settings()
    app = FastAPI(
        title="Bristlecone",
        description=DESCRIPTION,
        version=version("bristlecone"),
        lifespan=_lifespan,
        dependencies=[Depends(refuse_ignored_parameters)],
    )
    app.state.settings = settings
    # Added before the two below, so that its answers are explained and logged, unlike those of `max_body_size`.
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=settings.limits.max_body_bytes)
    app.add_middleware(ExplainBodyLimit, max_body_bytes=settings.limits.max_body_bytes)
    app.add_middleware(CompressAnswers)
    app.add_middleware(AnswerHead)
    app.add_middleware(RequestLog)
    error_handlers.install(app)
    openapi.install(app)
    app.include_router(datasets.router(settings.limits))
    for part in (training, audits, sweeps, jobs, trained_models, predictions, health):
        app.include_router(part.router)
    return app


class _Resources(AuditResources, HealthResources, PredictionResources, Protocol):
    """All resources that endpoints declare; mypy checks that the context has them."""


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    context = open_context(settings)
    resources: _Resources = context
    service_api.warm_up_predictions()
    app.state.context = resources
    app.state.celery = make_celery(settings.broker.url)
    app.state.maintenance = maintenance_thread(context, app.state.celery)
    app.state.maintenance.start()
    try:
        yield
    finally:
        app.state.maintenance.stop()
        context.close()
