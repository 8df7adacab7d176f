"""GET /metrics: the state of the service for Prometheus. It never waits for the threads of other routes."""

from fastapi import APIRouter, Request, Response
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from app.access.scopes import Scope, needs
from app.http.error_handlers import responses
from app.metrics.errors import MetricsUnavailable
from app.metrics.scrape import Scrape

router = APIRouter(tags=["health"])


@router.get(
    "/metrics",
    summary="Get metrics for Prometheus",
    description="The text format of Prometheus. Figures of requests are those of all API processes that share the "
    "state folder; figures of jobs are those of the database, and at most 5 seconds old.",
    response_class=Response,
    responses={
        200: {"description": "The metrics", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **responses(MetricsUnavailable),
    },
)
@needs(Scope.READ)
async def metrics(request: Request) -> Response:
    scrape: Scrape = request.app.state.metrics
    try:
        text = await scrape.text()
    except TimeoutError as error:
        raise MetricsUnavailable("The metrics could not be gathered in time; ask again later.") from error
    return Response(text, media_type=CONTENT_TYPE_LATEST)
