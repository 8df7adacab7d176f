"""GET /jobs/{id}/events: changes of the state and progress of a job as server-sent events."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.responses import Response, StreamingResponse

from app.access.scopes import Scope, needs
from app.http.error_handlers import responses
from app.jobs.dependencies import Streams
from app.jobs.errors import JobNotFound, TooManyStreams

router = APIRouter(prefix="/jobs", tags=["jobs"])

LastEventId = Annotated[
    int | None,
    Header(
        ge=0,
        le=2**63 - 1,
        description="`id` of the last event that the client has seen; the stream goes on after it. Browsers send it by "
        "themselves when they connect again.",
    ),
]


@router.get(
    "/{job_id}/events",
    summary="Follow a job as server-sent events",
    description="Events `state` (`state`, `attempt`, and `error` of a failed job) and `progress` (as in `progress` of "
    "the job), from the first one on or from the one after `Last-Event-ID`. The stream ends after the final state; the "
    "answer is 204 if nothing follows, so that browsers stop asking. Lines that begin with a colon keep the connection "
    "alive.",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
        204: {"description": "The job has ended, and the client has seen its last event"},
        **responses(JobNotFound, TooManyStreams),
    },
)
@needs(Scope.READ)
async def follow_job(job_id: uuid.UUID, streams: Streams, last_event_id: LastEventId = None) -> Response:
    if await streams.is_at_end(job_id, last_event_id or 0):
        return Response(status_code=204)
    if streams.watch.is_full:
        raise TooManyStreams("Too many requests follow jobs already; ask for the job with GET /jobs/{id} instead.")
    # `no-transform` and the last header keep proxies from collecting events in a buffer.
    headers = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        streams.follow(job_id, last_event_id or 0), media_type="text/event-stream", headers=headers
    )
