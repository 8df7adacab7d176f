"""Keeping what an audit found, and reading it."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.audits.errors import AuditNotFinished, AuditNotFound
from app.audits.store import IssueStore, JudgedRows, read_batches, read_rows
from app.audits.tables import AuditRow
from app.jobs.service import JobService
from app.jobs.states import JobKind, JobState
from app.storage import garbage
from app.storage.database import SessionFactory, lock
from app.storage.pages import SliceQuery
from app.storage.staging import ORPHAN_AFTER_SECONDS


@dataclass(frozen=True)
class Audit:
    """A finished audit."""

    row: AuditRow
    dataset_id: uuid.UUID


@dataclass(frozen=True, kw_only=True)
class NewAudit:
    """What a worker found, its file of judged rows being in the store; see `AuditRow`."""

    job_id: uuid.UUID
    classes: list[Any]
    n_rows: int
    n_issues: int
    report: dict[str, Any]
    issues_sha256: str


class AuditService:
    def __init__(self, session: Session, store: IssueStore, jobs: JobService) -> None:
        self._session = session
        self._store = store
        self._jobs = jobs

    def get(self, audit_id: uuid.UUID) -> Audit:
        """Raises AuditNotFound, AuditNotFinished. Its report is read when it is first asked for."""
        job = self._jobs.of_kind(audit_id, JobKind.AUDIT, AuditNotFound)
        if job.state is not JobState.SUCCEEDED:
            raise AuditNotFinished(
                f"audit {audit_id} is {job.state} and has no result; GET /jobs/{audit_id} tells more"
            )
        return Audit(self._session.get_one(AuditRow, audit_id), job.dataset_id)

    def page(self, audit: Audit, page: SliceQuery, flagged: bool | None) -> tuple[JudgedRows, str | None]:
        """Rows worst first, and the cursor of the next page. Raises InvalidCursor, IssuesMissing."""
        list_name = f"{audit.row.job_id} {flagged}"
        path = self._store.path(audit.row.issues_sha256)
        found = read_rows(path, flagged, page.offset(list_name), page.limit + 1)
        return found.first(page.limit), page.next_cursor(list_name, len(found))

    def batches(self, audit: Audit, flagged: bool | None) -> Iterator[JudgedRows]:
        """All rows, worst first. Raises IssuesMissing."""
        return read_batches(self._store.path(audit.row.issues_sha256), flagged)


def register(session: Session, store: IssueStore, new: NewAudit) -> None:
    """Keep the result of an audit, in the transaction that ends its job.

    Raises:
        IssuesMissing: its file is not in the store. Put it again, then register in a new transaction.
    """
    lock(session, new.issues_sha256)
    store.path(new.issues_sha256)
    session.add(AuditRow(**vars(new)))


def remove_unreferenced(
    sessions: SessionFactory, store: IssueStore, older_than_seconds: float = ORPHAN_AFTER_SECONDS
) -> int:
    """Delete the files of judged rows that a crash left without a row and that are that old; how many went."""
    return garbage.remove_unreferenced(sessions, store, AuditRow.issues_sha256, older_than_seconds)
