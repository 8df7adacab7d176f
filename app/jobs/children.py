"""Child jobs: queries about the jobs that do the work of a parent job, whose state is derived from theirs."""

import uuid
from collections import Counter
from typing import Any

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session, aliased

from app.jobs.states import PARENT_KINDS, UNFINISHED, JobState
from app.jobs.tables import JobRow

#: Code of a sweep that failed because not all of its cells succeeded.
CELLS_FAILED = "sweep_cells_failed"
UNIT = "cells"


def unsettled_parents(session: Session, limit: int = 100) -> list[uuid.UUID]:
    """Return parents that have not ended although all of their children have."""
    child = aliased(JobRow)
    has_parent = child.parent_id == JobRow.id
    query = select(JobRow.id).where(
        JobRow.kind.in_(PARENT_KINDS),
        JobRow.state.in_(UNFINISHED),
        exists().where(has_parent),
        ~exists().where(has_parent, child.state.in_(UNFINISHED)),
    )
    return list(session.scalars(query.limit(limit)))


def lock_unfinished(session: Session, parent_id: uuid.UUID) -> None:
    """Lock the unfinished children of a job, in the order of their ids, until the transaction ends."""
    query = select(JobRow.id).where(JobRow.parent_id == parent_id, JobRow.state.in_(UNFINISHED))
    session.execute(query.order_by(JobRow.id).with_for_update())


def count_by_state(session: Session, parent_id: uuid.UUID) -> Counter[JobState]:
    """Return how many children of a job are in each state."""
    query = select(JobRow.state, func.count()).where(JobRow.parent_id == parent_id).group_by(JobRow.state)
    return Counter({JobState(state): count for state, count in session.execute(query)})


def parent_progress(counts: Counter[JobState]) -> dict[str, Any]:
    """Return the progress of a job from the states of its children, without times. A cancelled child is not done."""
    completed, total = counts[JobState.SUCCEEDED] + counts[JobState.FAILED], counts.total()
    where = {"phase": UNIT, "completed": completed, "total": total, "unit": UNIT}
    return {**where, "fraction": round(completed / total, 4)}


def failure_message(session: Session, parent_id: uuid.UUID, counts: Counter[JobState]) -> str:
    """Return how many children failed or were cancelled, and the error of the one that failed first."""
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
