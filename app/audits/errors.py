"""Errors of audits."""

from app.errors import Conflict, Invalid, NotFound, StoredFileMissing


class AuditNotFound(NotFound):
    code, title = "audit_not_found", "Audit not found"


class AuditNotFinished(Conflict):
    """Audit whose job has not finished, or has finished without a result."""

    code, title = "audit_not_finished", "Audit not finished"


class InvalidAuditRequest(Invalid):
    """Well-formed request that is incompatible with its data set."""

    code, title = "invalid_audit_request", "Invalid audit request"


class IssuesMissing(StoredFileMissing):
    """File that is missing from the store, which a client has not caused and cannot repair."""

    code, title = "issues_missing", "File of audited rows missing"
