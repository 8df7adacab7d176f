"""Jobs whose work is done by jobs of their own: what becomes of the parent follows from its parts.

The transaction that changes a part changes the parent. Rows are locked parts first, in the order of their ids, and the
parent last, everywhere: so no two transactions wait for each other. Two last parts that end at once both ask for the
parent's row; the second gets it when the first has committed, counts after that, and so sees all of them ended.
"""

import uuid
from collections import Counter
from typing import Any

from sqlalchemy import exists, func, select, update
from sqlalchemy.orm import Session, aliased

from app.jobs.moves import Moved, move, move_all
from app.jobs.states import FAMILIES, OPEN, TERMINAL, JobState
from app.jobs.tables import JobEventRow, JobRow

CELLS_FAILED = "sweep_cells_failed"
UNIT = "cells"


def follow(session: Session, part: Moved, target: JobState) -> None:
    """Let the parent of a part that has just entered `target` follow, if it has one."""
    if part.parent_id is None:
        return
    if target is JobState.RUNNING:
        _begin(session, part.parent_id)
    elif target in TERMINAL:
        settle(session, part.parent_id)


def settle(session: Session, parent_id: uuid.UUID) -> None:
    """Count the parts that have ended, and end the parent with the last of them."""
    before = _lock(session, parent_id)
    counts = _count_by_state(session, parent_id)
    if (progress := progress_of(counts)) != before:
        _report(session, parent_id, progress)
    if set(counts) <= TERMINAL:
        _end(session, parent_id, counts)


def cancel(session: Session, parent_id: uuid.UUID) -> None:
    """Cancel the queued parts at once and ask the running ones to stop; nothing happens to parts that have ended."""
    of_parent = JobRow.parent_id == parent_id
    # Held until the commit: one given back to the queue between the two steps would slip through.
    session.execute(select(JobRow.id).where(of_parent, JobRow.state.in_(OPEN)).order_by(JobRow.id).with_for_update())
    move_all(session, JobState.CANCELLED, of_parent, JobRow.state == JobState.QUEUED)
    move_all(session, JobState.CANCELLING, of_parent)
    _lock(session, parent_id)
    move(session, parent_id, JobState.CANCELLING)
    settle(session, parent_id)


def unsettled(session: Session, limit: int = 100) -> list[uuid.UUID]:
    """Parents that have not ended although all of their parts have."""
    part = aliased(JobRow)
    of_parent = part.parent_id == JobRow.id
    query = select(JobRow.id).where(
        JobRow.kind.in_(FAMILIES),
        JobRow.state.in_(OPEN),
        exists().where(of_parent),
        ~exists().where(of_parent, part.state.in_(OPEN)),
    )
    return list(session.scalars(query.limit(limit)))


def _begin(session: Session, parent_id: uuid.UUID) -> None:
    part = aliased(JobRow)
    first = select(func.min(part.started_at)).where(part.parent_id == parent_id).scalar_subquery()
    if move(session, parent_id, JobState.RUNNING, started_at=first):
        return
    # Of two parts taken at once the later may commit first; the parent began with the earlier all the same.
    late = update(JobRow).where(JobRow.id == parent_id, JobRow.started_at > first).values(started_at=first)
    session.execute(late.execution_options(synchronize_session=False))


def _end(session: Session, parent_id: uuid.UUID, counts: Counter[JobState]) -> None:
    # Only one that was asked to stop, or of whose parts no worker ever took one, may still be cancelled.
    if move(session, parent_id, JobState.CANCELLED):
        return
    if counts[JobState.SUCCEEDED] == counts.total():
        move(session, parent_id, JobState.SUCCEEDED)
        return
    message = _what_went_wrong(session, parent_id, counts)
    move(session, parent_id, JobState.FAILED, error_code=CELLS_FAILED, error_message=message)


def _what_went_wrong(session: Session, parent_id: uuid.UUID, counts: Counter[JobState]) -> str:
    failed, cancelled = counts[JobState.FAILED], counts[JobState.CANCELLED]
    were = "was" if cancelled == 1 else "were"
    summary = f"{failed} of {counts.total()} {UNIT} failed and {cancelled} {were} cancelled."
    first = session.execute(
        select(JobRow.error_code, JobRow.error_message)
        .where(JobRow.parent_id == parent_id, JobRow.state == JobState.FAILED)
        .order_by(JobRow.finished_at, JobRow.id)
        .limit(1)
    ).one_or_none()
    return summary if first is None else f"{summary} The first failure, {first[0]}: {first[1]}"


def progress_of(counts: Counter[JobState]) -> dict[str, Any]:
    """The progress of a job from the states of its parts, without times; a part that was cancelled is not done."""
    completed, total = counts[JobState.SUCCEEDED] + counts[JobState.FAILED], counts.total()
    where = {"phase": UNIT, "completed": completed, "total": total, "unit": UNIT}
    return {**where, "fraction": round(completed / total, 4)}


def _report(session: Session, parent_id: uuid.UUID, progress: dict[str, Any]) -> None:
    unfinished = update(JobRow).where(JobRow.id == parent_id, JobRow.state.in_(OPEN))
    changed = unfinished.values(progress=progress).returning(JobRow.id)
    if session.scalar(changed.execution_options(synchronize_session=False)) is not None:
        session.add(JobEventRow(job_id=parent_id, kind="progress", payload=progress))


def _count_by_state(session: Session, parent_id: uuid.UUID) -> Counter[JobState]:
    query = select(JobRow.state, func.count()).where(JobRow.parent_id == parent_id).group_by(JobRow.state)
    return Counter({JobState(state): count for state, count in session.execute(query)})


def _lock(session: Session, parent_id: uuid.UUID) -> dict[str, Any]:
    """Keep the parent as it is until the transaction ends; its progress so far."""
    query = select(JobRow.progress).where(JobRow.id == parent_id).with_for_update()
    progress: dict[str, Any] = session.scalars(query).one()
    return progress
