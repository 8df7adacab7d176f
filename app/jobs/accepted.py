"""What every route that queues a job takes and answers."""

from collections.abc import Callable
from typing import Annotated

from fastapi import BackgroundTasks, Depends, Header, Request, Response

from app.jobs.records import JobRecord
from app.jobs.schemas import JobOut

IdempotencyKey = Annotated[
    str | None, Header(min_length=1, max_length=200, description="the same key and body give the same job")
]


class Acceptance:
    """Answers with a job that was queued and committed."""

    def __init__(self, request: Request, response: Response, background: BackgroundTasks) -> None:
        self._wake_relay: Callable[[], None] = request.app.state.maintenance.wake
        self._response = response
        self._background = background

    def of(self, job: JobRecord) -> JobOut:
        # The relay then finds the job at once instead of at its next turn.
        self._background.add_task(self._wake_relay)
        self._response.headers["Location"] = f"/jobs/{job.id}"
        return JobOut.of(job)


async def _acceptance(request: Request, response: Response, background: BackgroundTasks) -> Acceptance:
    # Async, so that no thread of the pool is asked for it.
    return Acceptance(request, response, background)


Accepted = Annotated[Acceptance, Depends(_acceptance)]
