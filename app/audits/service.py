"""Reading audits, and storing their results."""

import uuid
from collections.abc import Iterator

from sqlalchemy.orm import Session

from app.audits.errors import AuditNotFinished, AuditNotFound
from app.audits.records import Audit, JudgedRows, NewAudit
from app.audits.store import IssueStore, read_batches, read_rows
from app.audits.tables import AuditRow
from app.jobs.service import JobService
from app.jobs.states import JobKind, JobState
from app.storage import garbage
from app.storage.database import SessionFactory, lock
from app.storage.pages import SliceQuery
from app.storage.staging import ORPHAN_AFTER_SECONDS


class AuditService:
    def __init__(self, session: Session, store: IssueStore, jobs: JobService) -> None:
        self._session = session
        self._store = store
        self._jobs = jobs

    def get(self, audit_id: uuid.UUID) -> Audit:
        """Return a finished audit, whose report is loaded on first access. Raises AuditNotFound, AuditNotFinished."""
        job = self._jobs.get_of_kind(audit_id, JobKind.AUDIT, AuditNotFound)
        if job.state is not JobState.SUCCEEDED:
            raise AuditNotFinished(f"audit {audit_id} is {job.state} and has no result; see GET /jobs/{audit_id}")
        return Audit(self._session.get_one(AuditRow, audit_id), job.dataset_id)

    def page(self, audit: Audit, page: SliceQuery, flagged: bool | None) -> tuple[JudgedRows, str | None]:
        """Return a page of rows, worst first, and the cursor of the next page. Raises InvalidCursor, IssuesMissing."""
        list_name = f"{audit.row.job_id} {flagged}"
        path = self._store.path(audit.row.issues_sha256)
        rows = read_rows(path, flagged, page.offset(list_name), page.limit + 1)
        return rows.first(page.limit), page.next_cursor(list_name, len(rows))

    def batches(self, audit: Audit, flagged: bool | None) -> Iterator[JudgedRows]:
        """Return all rows in batches, worst first. Raises IssuesMissing."""
        return read_batches(self._store.path(audit.row.issues_sha256), flagged)


def register(session: Session, store: IssueStore, new: NewAudit) -> None:
    """Store the result of an audit in the transaction that ends its job.

    Raises:
        IssuesMissing: the file is not in the store; put it there again and register in a new transaction.
    """
    lock(session, new.issues_sha256)
    store.path(new.issues_sha256)
    session.add(AuditRow(**vars(new)))


def remove_unreferenced(
    sessions: SessionFactory, store: IssueStore, older_than_seconds: float = ORPHAN_AFTER_SECONDS
) -> int:
    """Delete files of judged rows without a row in the table, if they are that old, and return their number."""
    return garbage.remove_unreferenced(sessions, store, AuditRow.issues_sha256, older_than_seconds)
