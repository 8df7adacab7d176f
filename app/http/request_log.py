"""Middleware that gives every request an id, logs one line for it, and answers if the code raises.

Query strings are never logged.
"""

import logging
import re
import time
import uuid
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.error_handlers import bug_response
from app.logs import correlation

log = logging.getLogger("app.access")

HEADER = "X-Request-Id"
_ACCEPTABLE_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


class RequestLog:
    """Outermost middleware, so that every answer has the id of its request, even after an internal error."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        began, status = time.perf_counter(), 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        token = correlation.set(request_id)
        try:
            await self._app(scope, receive, send_with_id)
        except Exception as error:
            if status:
                raise
            await bug_response(Request(scope), error)(scope, receive, send_with_id)
        finally:
            milliseconds = 1000 * (time.perf_counter() - began)
            log.info("%s %s %d %.1f ms", scope["method"], quote(scope["path"]), status, milliseconds)
            correlation.reset(token)


def _request_id(scope: Scope) -> str:
    request_id = Headers(scope=scope).get(HEADER, "")
    return request_id if _ACCEPTABLE_ID.fullmatch(request_id) else uuid.uuid4().hex
