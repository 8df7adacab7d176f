"""One step of a job: a conditional UPDATE and an event, in the caller's transaction. `transitions` makes the steps
that others ask for, and lets a family follow; nobody else calls this.
"""

import uuid
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, delete, update
from sqlalchemy.orm import Session

from app.jobs.states import LEASED, TERMINAL, JobState, sources
from app.jobs.tables import JobEventRow, JobInputRow, JobRow
from app.storage.orm import utc_now


class Moved(NamedTuple):
    """What the row of a job that moved says."""

    job_id: uuid.UUID
    attempt: int
    parent_id: uuid.UUID | None


def move(
    session: Session,
    job_id: uuid.UUID,
    target: JobState,
    *conditions: ColumnElement[bool],
    fence: int | None = None,
    **values: Any,
) -> Moved | None:
    """Move a job to `target`, or None when it may not go there, or `conditions` or `fence` do not hold."""
    if fence is not None:
        # A job that was taken back keeps the attempt number until the next claim, but is nobody's.
        conditions = (*conditions, JobRow.attempt == fence, JobRow.state.in_(LEASED))
    moved = move_all(session, target, JobRow.id == job_id, *conditions, **values)
    return moved[0] if moved else None


def move_all(session: Session, target: JobState, *conditions: ColumnElement[bool], **values: Any) -> list[Moved]:
    """Move the jobs for which `conditions` hold and that may go to `target`. Where they are several, the transaction
    holds their rows already: locked in no certain order, they could wait for each other.
    """
    if target in TERMINAL:
        values |= {"finished_at": utc_now()}
    if target not in LEASED:
        values |= {"lease_expires_epoch": None}
    query = update(JobRow).where(JobRow.state.in_(sources(target)), *conditions).values(state=target, **values)
    changed = query.returning(JobRow.id, JobRow.attempt, JobRow.parent_id)
    rows = session.execute(changed.execution_options(synchronize_session=False))
    moved = [Moved(*row) for row in rows]
    if moved and target in TERMINAL:
        session.execute(delete(JobInputRow).where(JobInputRow.job_id.in_([job.job_id for job in moved])))
    error = {}
    if "error_code" in values:
        error = {"error": {"code": values["error_code"], "message": values["error_message"]}}
    for job in moved:
        payload: dict[str, Any] = {"state": target.value, "attempt": job.attempt, **error}
        session.add(JobEventRow(job_id=job.job_id, kind="state", payload=payload))
    return moved
