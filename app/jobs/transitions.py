"""The only code that changes a job's state: one conditional UPDATE and one event, in the caller's transaction. When the
job is a part of another, that one follows in the same transaction.

Whoever comes second finds no row that matches and gets False; nothing is overwritten. A worker passes its attempt
number as `fence`, so that one whose lease was taken away can no longer write.
"""

import uuid
from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from app.jobs import families
from app.jobs.moves import move
from app.jobs.states import JobState
from app.storage.database import epoch_now


def enter(
    session: Session,
    job_id: uuid.UUID,
    target: JobState,
    *conditions: ColumnElement[bool],
    fence: int | None = None,
    **values: Any,
) -> bool:
    """Move a job to `target` if it may go there and `conditions` hold; `fence` is the asking worker's attempt."""
    moved = move(session, job_id, target, *conditions, fence=fence, **values)
    if moved is None:
        return False
    families.follow(session, moved, target)
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
