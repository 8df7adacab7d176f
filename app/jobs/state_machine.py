"""State machine of jobs: the only code that changes the state of a job.

Each change is one conditional UPDATE and one event, in the caller's transaction. If two callers try to change a job at
once, the second one finds no matching row and gets False; nothing is overwritten. A worker passes the number of its
attempt as `fence`, so that it can no longer write once its lease was taken back.

The state of a parent job is derived from the states of its children, and the transaction that changes a child changes
the parent. Everywhere, children are locked before their parent and in the order of their ids, so that transactions
cannot deadlock. If the last two children end at the same time, both transactions lock the parent. The second one gets
the lock once the first has committed; it counts the children after that, and so sees that all of them have ended.
"""

import uuid
from collections import Counter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.orm import Session, aliased

from app.jobs import children, figures
from app.jobs.figures import Figure, FigureName
from app.jobs.states import LEASED, TERMINAL, UNFINISHED, JobKind, JobState, sources
from app.jobs.tables import JobEventRow, JobInputRow, JobModelRow, JobRow
from app.storage.database import epoch_now
from app.storage.orm import utc_now


def enter(
    session: Session,
    job_id: uuid.UUID,
    target: JobState,
    *conditions: ColumnElement[bool],
    fence: int | None = None,
    **values: Any,
) -> bool:
    """Change a job's state to `target` if its state allows that and `conditions` hold, and set `values`.

    fence: number of the attempt that asks for the change. Return whether the job was changed.
    """
    changed = _change(session, job_id, target, *conditions, fence=fence, **values)
    if changed is None:
        return False
    if changed.parent_id is not None:
        _update_parent(session, changed.parent_id, target)
    return True


def requeue(
    session: Session,
    job_id: uuid.UUID,
    *conditions: ColumnElement[bool],
    fence: int | None = None,
    delay_seconds: float = 0.0,
    **values: Any,
) -> bool:
    """Return an unfinished job to the queue; the relay publishes it again after the delay."""
    values = {"progress": {}} | values | {"published_epoch": None, "not_before_epoch": epoch_now() + delay_seconds}
    return enter(session, job_id, JobState.QUEUED, *conditions, fence=fence, **values)


def fail(
    session: Session,
    job_id: uuid.UUID,
    code: str,
    message: str,
    *conditions: ColumnElement[bool],
    fence: int | None = None,
) -> bool:
    """End a job without a result. `message` is shown to clients, so it must not contain a path or a trace."""
    return enter(session, job_id, JobState.FAILED, *conditions, fence=fence, error_code=code, error_message=message)


def cancel(session: Session, job_id: uuid.UUID) -> None:
    """Cancel a job that is queued at once, and ask one that is running to stop."""
    # Locked until the commit: a job that returns to the queue between the two updates would be missed.
    session.execute(select(JobRow.id).where(JobRow.id == job_id).with_for_update())
    if not enter(session, job_id, JobState.CANCELLED, JobRow.state == JobState.QUEUED):
        enter(session, job_id, JobState.CANCELLING)


def cancel_parent(session: Session, parent_id: uuid.UUID) -> None:
    """Cancel a job with children: the queued ones at once, the running ones by asking them to stop."""
    # Locked until the commit: a child that returns to the queue between the two updates would be missed.
    children.lock_unfinished(session, parent_id)
    is_child = JobRow.parent_id == parent_id
    _change_all(session, JobState.CANCELLED, is_child, JobRow.state == JobState.QUEUED)
    _change_all(session, JobState.CANCELLING, is_child)
    _lock_parent(session, parent_id)
    _change(session, parent_id, JobState.CANCELLING)
    settle_parent(session, parent_id)


def settle_parent(session: Session, parent_id: uuid.UUID) -> None:
    """Update the progress of a job from its children, and end it if all of them have ended."""
    before = _lock_parent(session, parent_id)
    counts = children.count_by_state(session, parent_id)
    if (progress := children.parent_progress(counts)) != before:
        _report_progress(session, parent_id, progress)
    if set(counts) <= TERMINAL:
        _end_parent(session, parent_id, counts)


class _ChangedJob(NamedTuple):
    """Columns of a job whose state was changed."""

    job_id: uuid.UUID
    attempt: int
    parent_id: uuid.UUID | None
    kind: JobKind


def _change(
    session: Session,
    job_id: uuid.UUID,
    target: JobState,
    *conditions: ColumnElement[bool],
    fence: int | None = None,
    **values: Any,
) -> _ChangedJob | None:
    """Change the state of one job but not of its parent. Return None if the job was not changed."""
    if fence is not None:
        # A job that was taken back keeps the number of its attempt until the next claim, but has no worker.
        conditions = (*conditions, JobRow.attempt == fence, JobRow.state.in_(LEASED))
    changed = _change_all(session, target, JobRow.id == job_id, *conditions, **values)
    return changed[0] if changed else None


def _change_all(
    session: Session, target: JobState, *conditions: ColumnElement[bool], **values: Any
) -> list[_ChangedJob]:
    """Change the state of all jobs for which `conditions` hold and whose state allows it.

    If there can be several, the transaction must have locked them: an UPDATE locks rows in no certain order, so that
    two transactions could deadlock.
    """
    if target in TERMINAL:
        values |= {"finished_at": utc_now()}
    if target not in LEASED:
        values |= {"lease_expires_epoch": None}
    query = update(JobRow).where(JobRow.state.in_(sources(target)), *conditions).values(state=target, **values)
    returning = query.returning(JobRow.id, JobRow.attempt, JobRow.parent_id, JobRow.kind)
    rows = session.execute(returning.execution_options(synchronize_session=False))
    changed = [_ChangedJob(*row) for row in rows]
    if changed and target in TERMINAL:
        ended = [job.job_id for job in changed]
        for needed in (JobInputRow, JobModelRow):
            session.execute(delete(needed).where(needed.job_id.in_(ended)))
        figures.count(session, Counter(Figure(FigureName.ENDED, job.kind, target.value) for job in changed))
    error = {}
    if "error_code" in values:
        error = {"error": {"code": values["error_code"], "message": values["error_message"]}}
    for job in changed:
        payload: dict[str, Any] = {"state": target.value, "attempt": job.attempt, **error}
        session.add(JobEventRow(job_id=job.job_id, kind="state", payload=payload))
    return changed


def _update_parent(session: Session, parent_id: uuid.UUID, child_state: JobState) -> None:
    """Update a parent, one of whose children has just entered `child_state`."""
    if child_state is JobState.RUNNING:
        _begin_parent(session, parent_id)
    elif child_state in TERMINAL:
        settle_parent(session, parent_id)


def _begin_parent(session: Session, parent_id: uuid.UUID) -> None:
    child = aliased(JobRow)
    first = select(func.min(child.started_at)).where(child.parent_id == parent_id).scalar_subquery()
    if _change(session, parent_id, JobState.RUNNING, started_at=first):
        return
    # If two children are claimed at once, the later one may commit first; the parent began with the earlier one.
    late = update(JobRow).where(JobRow.id == parent_id, JobRow.started_at > first).values(started_at=first)
    session.execute(late.execution_options(synchronize_session=False))


def _end_parent(session: Session, parent_id: uuid.UUID, counts: Counter[JobState]) -> None:
    # Possible only from QUEUED, if no child was ever claimed, and from CANCELLING.
    if _change(session, parent_id, JobState.CANCELLED):
        return
    if counts[JobState.SUCCEEDED] == counts.total():
        _change(session, parent_id, JobState.SUCCEEDED)
        return
    message = children.failure_message(session, parent_id, counts)
    _change(session, parent_id, JobState.FAILED, error_code=children.CELLS_FAILED, error_message=message)


def _report_progress(session: Session, parent_id: uuid.UUID, progress: dict[str, Any]) -> None:
    unfinished = update(JobRow).where(JobRow.id == parent_id, JobRow.state.in_(UNFINISHED))
    changed = unfinished.values(progress=progress).returning(JobRow.id)
    if session.scalar(changed.execution_options(synchronize_session=False)) is not None:
        session.add(JobEventRow(job_id=parent_id, kind="progress", payload=progress))


def _lock_parent(session: Session, parent_id: uuid.UUID) -> dict[str, Any]:
    """Lock a job until the transaction ends. Return its progress so far."""
    query = select(JobRow.progress).where(JobRow.id == parent_id).with_for_update()
    progress: dict[str, Any] = session.scalars(query).one()
    return progress
