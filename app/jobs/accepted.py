"""Dependencies of all routes that queue a job: the idempotency key and the answer."""

from collections.abc import Callable
from typing import Annotated

from fastapi import BackgroundTasks, Depends, Header, Request, Response

from app.jobs.records import JobRecord
from app.jobs.schemas import JobOut

IdempotencyKey = Annotated[
    str | None,
    Header(min_length=1, max_length=200, description="requests with the same key and body return the same job"),
]


class Acceptance:
    """Makes the 202 answer of a job that was queued and committed."""

    def __init__(self, request: Request, response: Response, background: BackgroundTasks) -> None:
        self._wake_relay: Callable[[], None] = request.app.state.maintenance.wake
        self._response = response
        self._background = background

    def answer(self, job: JobRecord) -> JobOut:
        """Return the job, and set the header `Location`."""
        # The relay then publishes the job now instead of after its interval.
        self._background.add_task(self._wake_relay)
        self._response.headers["Location"] = f"/jobs/{job.id}"
        return JobOut.from_record(job)


async def _acceptance(request: Request, response: Response, background: BackgroundTasks) -> Acceptance:
    # Async, so that it runs without a thread of the pool.
    return Acceptance(request, response, background)


Accepted = Annotated[Acceptance, Depends(_acceptance)]
