"""Recovery of jobs whose worker was lost and of parent jobs that should have ended.

Every process runs these steps. Their updates are conditional, so any number of processes may run them at once.
"""

import logging

from app.jobs import children, lease, state_machine
from app.logs import correlation
from app.settings import JobSettings
from app.storage.database import SessionFactory, reading, writing

log = logging.getLogger(__name__)


def take_back_lapsed(sessions: SessionFactory, settings: JobSettings) -> int:
    """Requeue, fail or cancel the jobs whose lease has lapsed. Return how many were found."""
    with reading(sessions) as session:
        job_ids = lease.lapsed(session)
    for job_id in job_ids:
        with writing(sessions) as session:
            lost = lease.take_back(session, job_id, settings.max_attempts, delay_seconds=settings.retry_delay_seconds)
        if lost is not None:
            _log(lost)
    return len(job_ids)


def _log(lost: lease.LostAttempt) -> None:
    """Write a line with the fields of the attempt, which this process did not run."""
    token = correlation.set(lost.correlation)
    try:
        log.warning("its worker was lost; the job is %s", lost.state)
    finally:
        correlation.reset(token)


def settle_open_parents(sessions: SessionFactory) -> int:
    """End the parent jobs that are unfinished although all of their children have ended. Return how many were found."""
    with reading(sessions) as session:
        job_ids = children.unsettled_parents(session)
    for job_id in job_ids:
        log.warning("job %s: all of its child jobs have ended", job_id)
        with writing(sessions) as session:
            state_machine.settle_parent(session, job_id)
    return len(job_ids)
