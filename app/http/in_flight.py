"""Limit on the number of requests that are being answered at the same time."""

from starlette.types import ASGIApp, Receive, Scope, Send

from app.http.error_handlers import error_response
from app.http.errors import ServerBusy
from app.http.refusal import HEALTH_PATHS


class LimitRequests:
    """Middleware that answers 503 while `limit` requests are being answered. Health routes do not count."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app, self._limit, self._running = app, limit, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in HEALTH_PATHS:
            await self._app(scope, receive, send)
        elif self._running >= self._limit:
            await self._refuse(scope, receive, send)
        else:
            self._running += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._running -= 1

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = error_response(
            ServerBusy(
                f"{self._limit} requests are being answered (half of BRISTLECONE_MAX_CONNECTIONS); nothing was "
                f"changed; try again in {ServerBusy.retry_after_seconds} s."
            )
        )
        response.headers["Connection"] = "close"
        await response(scope, receive, send)
