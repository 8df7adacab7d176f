"""Dependencies of routes of jobs."""

import uuid
from collections.abc import Sequence
from typing import Annotated, Protocol

from fastapi import Depends, Query, Request

from app.http.dependencies import Resources, resources
from app.jobs.events import EventStreams
from app.jobs.files import JobFiles
from app.jobs.records import JobPosition
from app.jobs.states import TERMINAL

MAX_WAIT_SECONDS = 60


class JobResources(Resources, Protocol):
    """Resources of an endpoint that deletes jobs."""

    @property
    def job_files(self) -> Sequence[JobFiles]: ...


JobContext = Annotated[JobResources, Depends(resources)]


async def _event_streams(request: Request) -> EventStreams:
    streams: EventStreams = request.app.state.event_streams
    return streams


Streams = Annotated[EventStreams, Depends(_event_streams)]

WaitSeconds = Annotated[
    float,
    Query(
        ge=0,
        le=MAX_WAIT_SECONDS,
        description="seconds to wait for the end of the job; while too many requests wait, the answer comes at once",
        examples=[10],
    ),
]


async def wait_for_end(job_id: uuid.UUID, streams: Streams, wait: WaitSeconds = 0) -> None:
    """Wait until the job has ended or is gone, but not longer than the client asks for."""
    if wait > 0 and not streams.watch.is_full:
        await streams.watch.wait(job_id, _has_ended, wait)


def _has_ended(position: JobPosition | None) -> bool:
    return position is None or position.state in TERMINAL
