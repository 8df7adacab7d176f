"""Deletion of jobs that have ended, with their events, child jobs, results and files. Trained models stay."""

import uuid
from collections.abc import Sequence

from app.errors import NotFound
from app.jobs.errors import ChildJobNotDeletable, JobNotFinished, JobNotFound
from app.jobs.files import JobFiles
from app.jobs.records import JobHead
from app.jobs.repository import JobRepository
from app.jobs.states import TERMINAL, JobKind, JobState
from app.storage.database import SessionFactory, writing


def delete_job(
    sessions: SessionFactory,
    files: Sequence[JobFiles],
    job_id: uuid.UUID,
    kind: JobKind | None = None,
    missing: type[NotFound] = JobNotFound,
) -> None:
    """Delete a job, which must be of this kind unless it is None, and all that belongs to it.

    files: those that jobs of this kind can have. They are deleted after the transaction: a crash between the two leaves
    files that no row refers to, which are garbage.

    Raises:
        NotFound: there is no such job, as `missing`.
        JobNotFinished: it has not ended yet.
        ChildJobNotDeletable: it does a part of the work of another job.
    """
    with writing(sessions) as session:
        head = JobRepository(session).head(job_id, lock=True)
        if head is None or kind not in (None, head.kind):
            what = kind or "job"
            raise missing(f"there is no {what} {job_id}; GET /jobs lists all jobs")
        _require_deletable(head)
        garbage = [(of_kind, key) for of_kind in files for key in of_kind.keys(session, job_id)]
        JobRepository(session).delete(job_id)
    for of_kind, key in garbage:
        of_kind.drop(sessions, key)


def _require_deletable(head: JobHead) -> None:
    if head.parent_id is not None:
        raise ChildJobNotDeletable(f"job {head.id} is a part of job {head.parent_id}; delete that one")
    if head.state not in TERMINAL:
        way_out = "wait" if head.state is JobState.CANCELLING else "cancel it, or wait"
        raise JobNotFinished(f"job {head.id} is {head.state}; {way_out} until it has ended")
