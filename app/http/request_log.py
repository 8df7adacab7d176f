"""Middleware that gives every request an id and logs one line for it.

Query strings are never logged.
"""

import logging
import os
import re
import time
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.answered_error import AnsweredError, answered_error
from app.http.error_handlers import shown_target
from app.http.raw_headers import header
from app.http.route_needs import ROUTE
from app.logs import Correlation, Structured, correlation
from app.storage.database import Changes, changes
from app.telemetry import tracing
from app.telemetry.instruments import NO_ROUTE, Instruments

log = logging.getLogger("app.access")

_HEADER = b"x-request-id"
_ACCEPTABLE_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


class RequestLog:
    """Middleware around all that answers, so that every answer has the id of its request, even an internal error."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(_request_id(scope), receive, send)
        token = correlation.set(Correlation(exchange.request_id))
        changes.set(Changes())
        error_record = AnsweredError()
        answered_error.set(error_record)
        try:
            if tracing.is_on():
                await _traced(self._app, scope, exchange, error_record)
            else:
                await self._app(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            exchange.client_left = True
        finally:
            log.info("%s", _Line(scope, exchange, error_record.code))
            _count(scope, exchange, error_record.code)
            correlation.reset(token)


async def _traced(app: ASGIApp, scope: Scope, exchange: "_Exchange", error: AnsweredError) -> None:
    """Answer a request within a span, which continues the trace of the client if it names one."""
    attributes = {"http.request.method": scope["method"][:20], "bristlecone.request.id": exchange.request_id}
    parent = header(scope, b"traceparent")
    with tracing.span(attributes["http.request.method"], attributes, parent, "server") as span:
        await app(scope, exchange.receive, exchange.send)
        span.set({"http.route": scope.get("state", {}).get(ROUTE, NO_ROUTE)})
        span.set({"http.response.status_code": exchange.status})
        if error.code is not None and exchange.status >= 400:
            span.set({"error.type": error.code})
        if exchange.status >= 500:
            span.fail(error.code or "internal_error")


#: Parameters of paths that are written to the log, where they are ids.
_LOGGED_IDS = ("job_id", "dataset_id", "audit_id", "sweep_id")


class _Line(Structured):
    """Line of the log about one request."""

    def __init__(self, scope: Scope, exchange: "_Exchange", error_code: str | None) -> None:
        self._scope, self._exchange, self._error_code = scope, exchange, error_code
        self._state = scope.get("state", {})

    def __str__(self) -> str:
        key = f" key {key_id}" if (key_id := self._state.get("key_id")) else ""
        return f"{shown_target(self._scope)} {self._exchange.outcome()}{key}"

    def fields(self) -> dict[str, Any]:
        exchange, scope = self._exchange, self._scope
        parameters = scope.get("path_params", {})
        fields = {
            "method": scope["method"][:20],
            "route": self._state.get(ROUTE),
            "status": exchange.status or None,
            "milliseconds": round(1000 * exchange.seconds(), 1),
            "code": self._error_code,
            "client_left": exchange.client_left or None,
            "key_id": self._state.get("key_id"),
            "key_name": self._state.get("actor"),
            **{name: str(parameters[name])[:100] for name in _LOGGED_IDS if name in parameters},
        }
        return {name: value for name, value in fields.items() if value is not None}


def _count(scope: Scope, exchange: "_Exchange", error_code: str | None) -> None:
    instruments: Instruments = scope["app"].state.instruments
    route = scope.get("state", {}).get(ROUTE, NO_ROUTE)
    instruments.request(route, scope["method"], exchange.status, exchange.seconds())
    if error_code is not None and exchange.status >= 400:
        instruments.error(error_code)


class _Exchange:
    """One request and its answer, as far as they have come."""

    def __init__(self, request_id: str, receive: Receive, send: Send) -> None:
        self.request_id = request_id
        self.status = 0
        self.client_left = False
        self._receive, self._send = receive, send
        self._began, self._complete = time.perf_counter(), False

    async def receive(self) -> Message:
        message = await self._receive()
        self.client_left |= message["type"] == "http.disconnect" and not self._complete
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], (_HEADER, self.request_id.encode())]
        self._complete = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    def outcome(self) -> str:
        """Return the status, `-` if there is none, and the time since the request began."""
        left = " the client left" if self.client_left else ""
        return f"{self.status or '-'}{left} {1000 * self.seconds():.1f} ms"

    def seconds(self) -> float:
        return time.perf_counter() - self._began


def _request_id(scope: Scope) -> str:
    request_id = header(scope, _HEADER) or ""
    return request_id if _ACCEPTABLE_ID.fullmatch(request_id) else os.urandom(16).hex()
