"""Errors of audits."""

from app.errors import Conflict, Invalid, NotFound, ServiceError


class AuditNotFound(NotFound):
    code, title = "audit_not_found", "Audit not found"


class AuditNotFinished(Conflict):
    """The job of the audit has not finished, or has finished without a result."""

    code, title = "audit_not_finished", "Audit not finished"


class InvalidAuditRequest(Invalid):
    """The request is well-formed but does not fit its data set."""

    code, title = "invalid_audit_request", "Invalid audit request"


class IssuesMissing(ServiceError):
    """The store lacks a file that it should contain; a client has not caused this and cannot repair it."""

    code, title = "issues_missing", "File of judged rows missing"
