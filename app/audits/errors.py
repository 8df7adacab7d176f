"""What can go wrong with audits."""

from app.errors import Conflict, Invalid, NotFound, ServiceError


class AuditNotFound(NotFound):
    code, title = "audit_not_found", "Audit not found"


class AuditNotFinished(Conflict):
    """The job of the audit runs still, or ended without a result."""

    code, title = "audit_not_finished", "Audit not finished"


class InvalidAuditRequest(Invalid):
    """The request is well-formed, but does not fit the data set it names."""

    code, title = "invalid_audit_request", "Invalid audit request"


class IssuesMissing(ServiceError):
    """The store lacks a file that it should hold: nothing that a client did, nothing that a client can mend."""

    code, title = "issues_missing", "File of judged rows missing"
