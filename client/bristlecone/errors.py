"""Exceptions of the client. Each one that the service sent has its `code`, which docs/errors.md lists."""

import re
from collections.abc import Mapping, Sequence
from typing import Any


class BristleconeError(Exception):
    """Base class of all exceptions of this package."""


class DataWarning(UserWarning):
    """Something in a table that was uploaded looks wrong, or was guessed."""


class ConnectionFailed(BristleconeError):
    """No answer came from the service, also after the retries."""


class ServiceError(BristleconeError):
    """The service refused a request.

    Attributes:
        status: HTTP status, for example 422.
        code: stable name of the error, for example `unknown_feature`.
        detail: what is wrong and how to mend it.
        errors: places in the request, each with `pointer` and `detail`.
        request_id: identifies the request in the logs of the service.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], request_id: str | None = None) -> None:
        self.status = status
        self.code = str(problem.get("code", "unknown"))
        self.detail = str(problem.get("detail") or problem.get("title") or "")
        self.errors: Sequence[Mapping[str, str]] = problem.get("errors") or []
        self.request_id = request_id
        places = "".join(f"\n  {error.get('pointer')}: {error.get('detail')}" for error in self.errors)
        super().__init__(f"{self.code} ({status}): {self.detail}{places}")


class InvalidRequest(ServiceError):
    """The request breaks a rule (422), or is not understood (400, 406, 415)."""


class Unauthenticated(ServiceError):
    """The service wants an API key (401)."""


class Forbidden(ServiceError):
    """The API key lacks a scope (403)."""


class NotFound(ServiceError):
    """There is no such thing (404)."""


class Conflict(ServiceError):
    """The state of a thing does not allow the request (409)."""


class TooLarge(ServiceError):
    """The request exceeds a limit of the service (413)."""


class Busy(ServiceError):
    """The service refused the request for now (429, 503, 507), also after the retries."""


class JobFailed(BristleconeError):
    """A job ended without a result.

    Attributes: job_id, state (`failed` or `cancelled`), code and detail of its error.
    """

    def __init__(self, job: Mapping[str, Any]) -> None:
        error = job.get("error") or {}
        self.job_id, self.state = str(job["id"]), str(job["state"])
        self.code = error.get("code")
        self.detail = error.get("message", "")
        reason = f" with {self.code}: {self.detail}" if self.code else ""
        super().__init__(f"job {self.job_id} {_VERBS.get(self.state, self.state)}{reason}")


#: Pointer to a row of a body, or to a cell of a column.
_ROW = re.compile(r"(/rows/|/columns/[^/]+/)(\d+)")
_VERBS = {"failed": "failed", "cancelled": "was cancelled"}
_BY_STATUS: dict[int, type[ServiceError]] = {
    400: InvalidRequest, 401: Unauthenticated, 403: Forbidden, 404: NotFound, 406: InvalidRequest, 409: Conflict,
    413: TooLarge, 415: InvalidRequest, 422: InvalidRequest, 429: Busy, 503: Busy, 507: Busy,
}  # fmt: skip


def counted_from(problem: Mapping[str, Any], first_row: int) -> Mapping[str, Any]:
    """Return the document of an error whose places count rows from those of the whole table, of which the request had
    those from `first_row` on.
    """
    if first_row == 0:
        return problem

    def shifted(text: Any) -> str:
        return _ROW.sub(lambda place: f"{place[1]}{int(place[2]) + first_row}", str(text or ""))

    errors = [{**error, "pointer": shifted(error.get("pointer"))} for error in problem.get("errors") or []]
    return {**problem, "detail": shifted(problem.get("detail")), "errors": errors}


def error_of(status: int, problem: Mapping[str, Any], request_id: str | None) -> ServiceError:
    """Return the exception of an answer that is not a success."""
    return _BY_STATUS.get(status, ServiceError)(status, problem, request_id)
