"""The only code that changes a job's state: one conditional UPDATE and one event, in the caller's transaction.

Whoever comes second finds no row that matches and gets False; nothing is overwritten. A worker passes its attempt
number as `fence`, so that one whose lease was taken away can no longer write.
"""

import uuid
from typing import Any

from sqlalchemy import ColumnElement, delete, update
from sqlalchemy.orm import Session

from app.database import epoch_now
from app.jobs.states import LEASED, TERMINAL, JobState, sources
from app.jobs.tables import JobEventRow, JobInputRow, JobRow
from app.orm import utc_now


def enter(
    session: Session,
    job_id: uuid.UUID,
    target: JobState,
    *conditions: ColumnElement[bool],
    fence: int | None = None,
    **values: Any,
) -> bool:
    """Move a job to `target` if it may go there and `conditions` hold; `fence` is the asking worker's attempt."""
    query = update(JobRow).where(JobRow.id == job_id, JobRow.state.in_(sources(target)), *conditions)
    if fence is not None:
        # A job that was taken back keeps the attempt number until the next claim, but is nobody's.
        query = query.where(JobRow.attempt == fence, JobRow.state.in_(LEASED))
    if target in TERMINAL:
        values |= {"finished_at": utc_now()}
    if target not in LEASED:
        values |= {"lease_expires_epoch": None}
    changed = query.values(state=target, **values).returning(JobRow.attempt)
    at_attempt = session.scalar(changed.execution_options(synchronize_session=False))
    if at_attempt is None:
        return False
    if target in TERMINAL:
        session.execute(delete(JobInputRow).where(JobInputRow.job_id == job_id))
    payload: dict[str, Any] = {"state": target.value, "attempt": at_attempt}
    if "error_code" in values:
        payload["error"] = {"code": values["error_code"], "message": values["error_message"]}
    session.add(JobEventRow(job_id=job_id, kind="state", payload=payload))
    return True


def requeue(
    session: Session,
    job_id: uuid.UUID,
    *conditions: ColumnElement[bool],
    fence: int | None = None,
    delay_seconds: float = 0.0,
    **values: Any,
) -> bool:
    """Give an unfinished job back to the queue; the relay publishes it again after the delay."""
    values |= {"published_epoch": None, "not_before_epoch": epoch_now() + delay_seconds}
    return enter(session, job_id, JobState.QUEUED, *conditions, fence=fence, **values)


def fail(
    session: Session,
    job_id: uuid.UUID,
    code: str,
    message: str,
    *conditions: ColumnElement[bool],
    fence: int | None = None,
) -> bool:
    """End a job without a result; `message` is shown to clients, so it holds no path and no trace."""
    return enter(session, job_id, JobState.FAILED, *conditions, fence=fence, error_code=code, error_message=message)
