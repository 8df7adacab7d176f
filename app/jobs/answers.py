"""Answers that show one job with its request, which can be large."""

import uuid
from collections.abc import Mapping

from fastapi import Response

from app.http.dependencies import Resources
from app.http.large_answers import RowAnswer
from app.jobs.schemas import job_json
from app.jobs.service import JobService
from app.storage.database import reading


async def job_answer(
    answer: RowAnswer,
    context: Resources,
    job_id: uuid.UUID,
    status_code: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the answer that shows a job. Raises JobNotFound and the errors of `RowAnswer.of`."""

    def count_bytes() -> int:
        with reading(context.sessions) as session:
            return JobService(session, context.settings.limits).stored_bytes(job_id)

    def pieces() -> list[bytes]:
        with reading(context.sessions) as session:
            jobs = JobService(session, context.settings.limits)
            return job_json(jobs.head(job_id), jobs.request_text(job_id))

    return await answer.of(count_bytes, pieces, status_code, headers)
