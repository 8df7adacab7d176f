"""Acceptance of jobs, in one way for all routes that queue one."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import BackgroundTasks, Depends, Header, Request, Response
from starlette.concurrency import run_in_threadpool

from app.http.dependencies import Context, Resources
from app.http.large_answers import Answer, RowAnswer
from app.jobs.answers import job_answer
from app.jobs.errors import IdempotencyKeyReused, TooManyQueuedJobs
from app.jobs.records import JobHead
from app.jobs.service import repeated, submit
from app.jobs.submission import JobSubmission

#: Errors of every route that queues a job.
ACCEPTANCE_ERRORS = (IdempotencyKeyReused, TooManyQueuedJobs)

IdempotencyKey = Annotated[
    str | None,
    Header(min_length=1, max_length=200, description="requests with the same key and body return the same job"),
]


class Acceptance:
    """Queues the job of one request, and makes the 202 answer that shows it."""

    def __init__(
        self, request: Request, context: Resources, background: BackgroundTasks, answer: RowAnswer, key: str | None
    ) -> None:
        self._context = context
        self._answer = answer
        self._idempotency_key = key
        self._request, self._background = request, background

    async def repeated(self, body: Mapping[str, Any]) -> Response | None:
        """Return the answer for the job that the idempotency key has queued before, None if there is none.

        For routes that read much of a request before they can submit it. body: that of the submission. Raises
        IdempotencyKeyReused for another body, and the errors of `job_answer`.
        """
        if self._idempotency_key is None:
            return None
        context, key = self._context, self._idempotency_key
        job = await run_in_threadpool(repeated, context.sessions, context.settings.limits, body, key)
        return None if job is None else await self._shown(job)

    async def of(self, submission: JobSubmission) -> Response:
        """Queue the job in a thread, and return the answer. Raises the errors of `submit` and of `job_answer`."""
        context = self._context
        # The relay publishes the job after the answer was sent instead of after its interval.
        self._background.add_task(self._request.app.state.maintenance.wake)
        limits = context.settings.limits
        job = await run_in_threadpool(submit, context.sessions, limits, submission, self._idempotency_key)
        return await self._shown(job)

    async def _shown(self, job: JobHead) -> Response:
        return await job_answer(self._answer, self._context, job.id, 202, {"Location": f"/jobs/{job.id}"})


async def _acceptance(
    request: Request,
    context: Context,
    background: BackgroundTasks,
    answer: Answer,
    idempotency_key: IdempotencyKey = None,
) -> Acceptance:
    return Acceptance(request, context, background, answer, idempotency_key)


Accepted = Annotated[Acceptance, Depends(_acceptance)]
