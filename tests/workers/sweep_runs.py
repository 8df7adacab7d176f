"""Sweeps from request to outcome, run in this process on the real database and stores."""

import uuid
from typing import Any

from sqlalchemy import select

from app.context import ServiceContext
from app.jobs.service import JobService, submit
from app.jobs.tables import JobRow
from app.storage.database import reading
from app.sweeps.records import Sweep
from app.sweeps.service import SweepService
from app.sweeps.specs import SweepSpec
from app.sweeps.submission import SweepSubmission
from tests.job_attempts import attempt_job
from workers.sweeping import sweep_cell


def submitted(context: ServiceContext, **request: Any) -> tuple[uuid.UUID, list[uuid.UUID]]:
    """Queue a sweep and return its id and the ids of its cells in their order."""
    limits = context.settings.limits
    submission = SweepSubmission(SweepSpec.model_validate(request), context.sessions, limits)
    sweep_id = submit(context.sessions, limits, submission, None).id
    with reading(context.sessions) as session:
        cells = select(JobRow.id).where(JobRow.parent_id == sweep_id).order_by(JobRow.created_at)
        return sweep_id, list(session.scalars(cells))


def run_cell(context: ServiceContext, job_id: uuid.UUID) -> None:
    attempt_job(context, job_id, sweep_cell)


def read(context: ServiceContext, sweep_id: uuid.UUID) -> Sweep:
    with reading(context.sessions) as session:
        return SweepService(session, JobService(session, context.settings.limits)).get(sweep_id)


def swept(context: ServiceContext, **request: Any) -> Sweep:
    """Queue a sweep, run its cells in the order of the request, and return it."""
    sweep_id, cells = submitted(context, **request)
    for job_id in cells:
        run_cell(context, job_id)
    return read(context, sweep_id)


def scores(sweep: Sweep) -> list[dict[str, list[float]] | None]:
    return [cell.scores for cell in sweep.cells]
