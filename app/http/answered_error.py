"""Code of the error that a request is answered with, for those who log and count it."""

from contextvars import ContextVar


class AnsweredError:
    """Record of one request. Set it as `answered_error` when the request begins."""

    code: str | None = None


answered_error: ContextVar[AnsweredError | None] = ContextVar("answered_error", default=None)
