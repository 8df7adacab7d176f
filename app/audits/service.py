"""Reading audits, and storing their results."""

import uuid
from collections.abc import Collection, Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.audits.errors import AuditNotFinished, AuditNotFound
from app.audits.records import Audit, AuditedRows, AuditSummary, NewAudit
from app.audits.store import IssueStore, read_batches, read_rows
from app.audits.tables import AuditRow
from app.jobs.deletion import delete_job
from app.jobs.files import JobFiles
from app.jobs.service import JobService
from app.jobs.states import JobKind, JobState
from app.storage import garbage
from app.storage.database import SessionFactory, lock
from app.storage.json_columns import json_part, stored_json_bytes
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
        row = self._session.get(AuditRow, audit_id)
        if row is None:
            raise AuditNotFound.at("path/audit_id", f"the result of audit {audit_id} was deleted with its data set")
        return Audit(row, job.dataset_id)

    def summaries(self, job_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, AuditSummary]:
        """Return the figures of those of the audits that have a result, by id."""
        rate, error = (json_part(AuditRow.report, name) for name in ("noise_rate", "noise_rate_error"))
        columns = (AuditRow.job_id, AuditRow.n_rows, AuditRow.n_issues, rate, error)
        rows = self._session.execute(select(*columns).where(AuditRow.job_id.in_(job_ids)))
        return {job_id: AuditSummary(*figures) for job_id, *figures in rows}

    def stored_bytes(self, audit_id: uuid.UUID) -> int:
        """Return the bytes of JSON that an audit is shown from; 0 if there is no such audit."""
        query = select(stored_json_bytes(AuditRow)).where(AuditRow.job_id == audit_id)
        return self._session.scalar(query) or 0

    def count(self, audit: Audit, flagged: bool | None) -> int:
        """Return the number of flagged rows, of the others, or of all if `flagged` is None."""
        if flagged:
            return audit.row.n_issues
        part = select(json_part(AuditRow.report, "n_unlabeled")).where(AuditRow.job_id == audit.row.job_id)
        n_rows: int = audit.row.n_rows + (self._session.scalar(part) or 0)
        return n_rows if flagged is None else n_rows - audit.row.n_issues

    def page(self, audit: Audit, page: SliceQuery, flagged: bool | None) -> tuple[AuditedRows, str | None]:
        """Return a page of rows, worst first, and the cursor of the next page. Raises InvalidCursor, IssuesMissing."""
        list_name = f"{audit.row.job_id} {flagged}"
        path = self._store.path(audit.row.issues_sha256)
        rows = read_rows(path, flagged, page.offset(list_name), page.limit + 1)
        return rows.first(page.limit), page.next_cursor(list_name, len(rows))

    def batches(self, audit: Audit, flagged: bool | None) -> Iterator[AuditedRows]:
        """Return all rows in batches, worst first. Raises IssuesMissing."""
        return read_batches(self._store.path(audit.row.issues_sha256), flagged)


def register(session: Session, new: NewAudit) -> None:
    """Store the result of an audit in the transaction that ends its job, at whose end its file is published."""
    lock(session, new.issues_sha256)
    session.add(AuditRow(**vars(new)))


def delete_audit(sessions: SessionFactory, store: IssueStore, audit_id: uuid.UUID) -> None:
    """Delete an audit that has ended, and its file. Raises AuditNotFound, JobNotFinished."""
    delete_job(sessions, [issue_files(store)], audit_id, JobKind.AUDIT, AuditNotFound)


def issue_files(store: IssueStore) -> JobFiles:
    """Return the files of audited rows, which belong to the jobs of the audits."""
    return JobFiles(store, AuditRow.issues_sha256, AuditRow.job_id)


def remove_unreferenced(
    sessions: SessionFactory, store: IssueStore, older_than_seconds: float = ORPHAN_AFTER_SECONDS
) -> int:
    """Delete files of audited rows without a row in the table, if they are that old, and return their number."""
    return garbage.remove_unreferenced(sessions, store, AuditRow.issues_sha256, older_than_seconds)
