"""Attempts at jobs in the process of a test. Their leases are not renewed, which they outlast."""

import uuid

from app.context import ServiceContext
from app.jobs import lease
from app.storage.database import writing
from workers.job_board import JobBoard
from workers.job_body import JobBody
from workers.lifecycle import run_attempt
from workers.monitor import JobMonitor


def attempt_job(context: ServiceContext, job_id: uuid.UUID, body: JobBody) -> None:
    """Claim a job, run it, and write its outcome."""
    with writing(context.sessions) as session:
        claim = lease.claim(session, job_id, lease_seconds=600.0)
    assert claim is not None
    run_attempt(context, claim, body, JobMonitor(JobBoard()))
