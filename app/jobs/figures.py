"""Figures of jobs for monitoring, right for any number of processes and machines, because they are in SQL.

Each change inserts rows in the transaction that makes it, as if it counted upwards. Nothing is updated: a row of sums
would be a lock for which all workers wait, and with the locks of jobs it could deadlock. Rows are added up later, so
that the sums cost the same however many jobs there were, and deleted jobs still count.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from app.jobs.states import JobKind
from app.jobs.tables import JobFigureRow
from app.storage.database import SessionFactory, reading, writing

#: Rows that may wait to be added up.
_MAX_ROWS = 200
_ROWS_PER_TRANSACTION = 500


class FigureName(StrEnum):
    """Name of a figure."""

    ENDED = "ended"  #: jobs by their last state
    ATTEMPTS = "attempts"  #: attempts: `started`, and of these `lost`
    SECONDS = "seconds"  #: time of workers by phase


class Figure(NamedTuple):
    """Name and labels of a figure."""

    name: FigureName
    kind: JobKind
    label: str


def count(session: Session, amounts: Mapping[Figure, float]) -> None:
    """Add to figures when the transaction commits."""
    rows = [
        {"name": figure.name.value, "kind": figure.kind.value, "label": figure.label, "amount": amount}
        for figure, amount in amounts.items()
    ]
    if rows:
        session.execute(insert(JobFigureRow), rows)


def sums(session: Session) -> dict[Figure, float]:
    """Return all figures."""
    columns = (JobFigureRow.name, JobFigureRow.kind, JobFigureRow.label)
    rows = session.execute(select(*columns, func.sum(JobFigureRow.amount)).group_by(*columns))
    return {Figure(FigureName(name), JobKind(kind), label): amount for name, kind, label, amount in rows}


def add_up(sessions: SessionFactory) -> int:
    """Replace rows by their sums, if there are many. Return how many were replaced."""
    n_replaced = 0
    while _count_rows(sessions) > _MAX_ROWS:
        with writing(sessions) as session:
            n_rows = _add_up_some(session)
        n_replaced += n_rows
        # Fewer: the rest is locked by a process that does the same, or is what the sums need.
        if n_rows < _ROWS_PER_TRANSACTION:
            break
    return n_replaced


def _count_rows(sessions: SessionFactory) -> int:
    with reading(sessions) as session:
        return session.scalar(select(func.count()).select_from(JobFigureRow)) or 0


def _add_up_some(session: Session) -> int:
    query = select(JobFigureRow).order_by(JobFigureRow.id).limit(_ROWS_PER_TRANSACTION)
    rows = session.scalars(query.with_for_update(skip_locked=True)).all()
    session.execute(delete(JobFigureRow).where(JobFigureRow.id.in_([row.id for row in rows])))
    count(session, _summed(_pairs(rows)))
    return len(rows)


def _pairs(rows: Iterable[JobFigureRow]) -> Iterator[tuple[Figure, float]]:
    return ((Figure(FigureName(row.name), JobKind(row.kind), row.label), row.amount) for row in rows)


def _summed(pairs: Iterable[tuple[Figure, float]]) -> dict[Figure, float]:
    totals: dict[Figure, float] = {}
    for figure, amount in pairs:
        totals[figure] = totals.get(figure, 0.0) + amount
    return totals
