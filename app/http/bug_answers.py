"""Middleware that answers requests whose code raises an error that nobody foresaw."""

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.error_handlers import bug_response


class AnswerBugs:
    """Middleware that answers 500, unless the answer has begun.

    The answer passes the middleware around it, such as the one that lets browsers show it to pages of other sites.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def noting(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except ClientDisconnect:
            raise
        except Exception as error:
            if has_begun:
                raise
            await bug_response(Request(scope), error)(scope, receive, send)
