"""Composition root of the API: lifespan, middleware, routers and error handlers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, Protocol

from anyio import CapacityLimiter
from fastapi import Depends, FastAPI
from starlette.middleware.body_limit import RequestBodyLimitMiddleware

from app.access import service as access
from app.access.key_ring import KeyRing
from app.audits import endpoints as audits
from app.audits.dependencies import AuditResources
from app.context import open_context
from app.datasets import endpoints as datasets
from app.datasets.remote_reader import start_reader
from app.forms import endpoints as forms
from app.health import endpoints as health
from app.health.checks import ReadinessChecks
from app.http import documents, error_handlers, openapi, request_memory
from app.http.allowed_hosts import AllowedHosts
from app.http.authorization import Authorize
from app.http.body_limit import ExplainBodyLimit
from app.http.body_time import LimitBodyTime
from app.http.bug_answers import AnswerBugs
from app.http.client_times import shared_times
from app.http.compression import CompressAnswers
from app.http.cross_site import AllowOrigins, CrossSite
from app.http.direct_answers import AnswerDirectly
from app.http.head import AnswerHead
from app.http.in_flight import LimitRequests
from app.http.protocol_errors import ProtocolErrors
from app.http.query_names import refuse_ignored_parameters
from app.http.refusal import RefuseRequests
from app.http.request_log import RequestLog
from app.http.request_rate import RequestRate
from app.http.security_headers import AddSecurityHeaders
from app.http.server import COUNT_REFUSAL, RELEASE_WAITING
from app.inspection import endpoints as inspection
from app.jobs import endpoints as jobs
from app.jobs import event_endpoints as job_events
from app.jobs.dependencies import JobResources
from app.jobs.events import EventStreams
from app.jobs.queue import make_celery
from app.jobs.watch import JobWatch
from app.logs import configure_logging
from app.maintenance import maintenance_thread
from app.metrics import endpoints as metrics
from app.metrics.scrape import Scrape
from app.operations.maintenance import MaintenanceStep
from app.predictions import batch_endpoints as batch_predictions
from app.predictions import endpoints as predictions
from app.predictions import inference_endpoints as inference
from app.predictions import result_endpoints as results
from app.predictions.dependencies import PredictionResources
from app.predictions.direct_answers import predict_directly
from app.settings import Settings, load_settings
from app.storage.database import SessionFactory
from app.sweeps import endpoints as sweeps
from app.telemetry import tracing
from app.telemetry.count_folder import CountFolder
from app.telemetry.instruments import GAUGES, Instruments
from app.trained_models import endpoints as trained_models
from app.trained_models import pointer_endpoints as model_pointers
from app.training import endpoints as training
from core import service_api

DESCRIPTION = """Train tree models on data with unreliable labels, and predict with them.

Upload a table (`POST /datasets`), train (`POST /train`), follow the job (`GET /jobs/{id}`), predict (`/predict`).
Errors are `application/problem+json` with a stable `code`."""


#: How often it is stored which keys were used.
KEY_USE_INTERVAL_SECONDS = 60.0


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the ASGI application. Settings are read from the environment if `settings` is None."""
    settings = settings or load_settings()
    configure_logging(settings.log_format)
    app = FastAPI(
        title="Bristlecone",
        description=DESCRIPTION,
        version=version("bristlecone"),
        lifespan=_lifespan,
        dependencies=[Depends(refuse_ignored_parameters)],
        # Routes of our own in `documents`, which refuse unknown parameters like all others.
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.settings = settings
    # Until the application runs.
    app.state.instruments = Instruments()
    request_memory.install(app, settings)
    _add_middleware(app, settings)
    error_handlers.install(app)
    openapi.install(app)
    _include_routes(app, settings)
    return app


def _add_middleware(app: FastAPI, settings: Settings) -> None:
    """Add what handles requests before and after the routes; the last one added sees a request first."""
    # Twice: for errors before they are compressed, and for those of the gates below.
    app.add_middleware(ProtocolErrors)
    # Added before the two below, so that its answers are explained and logged, unlike those of `max_body_size`.
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=settings.limits.max_body_bytes)
    app.add_middleware(ExplainBodyLimit, max_body_bytes=settings.limits.max_body_bytes)
    # All other middleware comes before it and holds for its answers too; the limits of bodies do not concern them.
    app.add_middleware(AnswerDirectly, answers={"/healthz": health.answer_directly, "/predict": predict_directly})
    app.add_middleware(CompressAnswers)
    app.add_middleware(AnswerHead)
    _add_gates(app, settings)
    app.add_middleware(ProtocolErrors)
    app.add_middleware(AnswerBugs)
    app.add_middleware(RequestLog)
    app.add_middleware(AddSecurityHeaders)


def _include_routes(app: FastAPI, settings: Settings) -> None:
    app.include_router(datasets.upload_router(settings.limits))
    for part in (datasets, training, forms, audits, sweeps, jobs, job_events):
        app.include_router(part.router)
    for part in (model_pointers, inspection, trained_models, predictions, batch_predictions, results, inference):
        app.include_router(part.router)
    for part in (health, metrics, documents):
        app.include_router(part.router)


def _add_gates(app: FastAPI, settings: Settings) -> None:
    """Add what a request must pass before a route sees it; the last one added is the first to be passed."""
    server = settings.server
    app.add_middleware(LimitBodyTime, idle_seconds=server.body_idle_seconds)
    rate = RequestRate(
        server.requests_per_minute, open_times=lambda: shared_times(settings.run_folder / "request-rate")
    )
    app.add_middleware(Authorize, router=app.router, rate=rate)
    app.add_middleware(LimitRequests, limit=server.max_connections // 2)
    app.add_middleware(RefuseRequests, check=CrossSite(server.cors_origins))
    # Below the middleware that lets pages of other sites read answers; the other one is for bugs above it.
    app.add_middleware(AnswerBugs)
    if server.cors_origins:
        app.add_middleware(AllowOrigins, origins=server.cors_origins)
    app.add_middleware(RefuseRequests, check=AllowedHosts(settings.host, server.allowed_hosts))


def _event_streams(settings: Settings, sessions: SessionFactory) -> EventStreams:
    # A part of the requests that `LimitRequests` admits, so that waiting ones do not keep others out.
    watch = JobWatch(sessions, capacity=max(settings.server.max_connections // 4, 1))
    return EventStreams(sessions, settings.limits, watch, CapacityLimiter(4))


class _Resources(AuditResources, JobResources, PredictionResources, Protocol):
    """All resources that endpoints declare; mypy checks that the context has them."""


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    settings: Settings = app.state.settings
    instruments = Instruments(CountFolder(settings.metrics_folder, GAUGES).open_own())
    context = open_context(settings, instruments)
    app.state.instruments = instruments
    tracing.start(settings.traces)
    start_reader()
    resources: _Resources = context
    service_api.warm_up_predictions()
    app.state.context = resources
    app.state.celery = make_celery(settings.broker.url)
    app.state.readiness = ReadinessChecks(settings, lambda: app.state.celery)
    app.state.metrics = Scrape(settings, CountFolder(settings.metrics_folder, GAUGES), instruments)
    app.state.key_ring = KeyRing(settings.database)
    steps = [MaintenanceStep("note used keys", lambda: _note_used_keys(app), KEY_USE_INTERVAL_SECONDS)]
    app.state.maintenance = maintenance_thread(context, app.state.celery, steps)
    app.state.maintenance.start()
    app.state.event_streams = _event_streams(settings, context.sessions)
    try:
        yield {RELEASE_WAITING: app.state.event_streams.watch.close, COUNT_REFUSAL: instruments.refused_connection}
    finally:
        app.state.maintenance.stop()
        app.state.readiness.close()
        app.state.metrics.close()
        app.state.key_ring.close()
        context.close()
        tracing.stop()


def _note_used_keys(app: FastAPI) -> int:
    return access.note_used(app.state.context.sessions, app.state.key_ring.take_used())
