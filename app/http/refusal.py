"""Middleware that refuses requests by their head, before any of their body is read."""

from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import ServiceError
from app.http.error_handlers import error_response

#: These paths tell next to nothing and change nothing, so they are answered in every situation.
HEALTH_PATHS = frozenset({"/healthz", "/readyz", "/v2/health/live", "/v2/health/ready"})

#: Returns the error of a request with this scope, or None if it may pass.
Check = Callable[[Scope], ServiceError | None]


class RefuseRequests:
    """Middleware that answers with the error that `check` finds."""

    def __init__(self, app: ASGIApp, check: Check) -> None:
        self._app, self._check = app, check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = self._check(scope) if scope["type"] == "http" else None
        answer = self._app if error is None else error_response(error)
        await answer(scope, receive, send)
