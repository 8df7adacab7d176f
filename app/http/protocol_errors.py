"""Errors in the form of the Open Inference Protocol, `{"error": "…"}`, for all paths below /v2."""

import copy
import json
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.error_handlers import MEDIA_TYPE

_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string", "description": "value, rule and way out"}},
}


def follows_protocol(path: str) -> bool:
    """Return whether the answers at a path have the form of the protocol."""
    return path == "/v2" or path.startswith("/v2/")


class ProtocolErrors:
    """Middleware that replaces problem documents by errors of the protocol."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and follows_protocol(scope["path"]):
            send = _Replacing(send).send
        await self._app(scope, receive, send)


class _Replacing:
    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_plain_problem(Headers(raw=message["headers"])):
            self._start = message
        elif self._start is None or message["type"] != "http.response.body":
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_error(self._start)

    async def _send_error(self, start: Message) -> None:
        # Without a body in the answer to HEAD.
        body = json.dumps({"error": json.loads(self._body)["detail"]}).encode() if self._body else b""
        headers = MutableHeaders(raw=list(start["headers"]))
        headers["content-type"], headers["content-length"] = "application/json", str(len(body))
        await self._send({**start, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


def _is_plain_problem(headers: Headers) -> bool:
    return headers.get("content-type") == MEDIA_TYPE and "content-encoding" not in headers


def with_protocol_errors(responses: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documented responses of a route below /v2.

    Requests that do not reach the application, because they are no HTTP, are answered with problem documents there too.
    shared: the responses that others refer to by name.
    """
    found = {}
    for status, response in responses.items():
        response = copy.deepcopy(shared[response["$ref"].rpartition("/")[2]] if "$ref" in response else response)
        if MEDIA_TYPE in response.get("content", {}):
            response["content"] = {"application/json": {"schema": _ERROR}, **response["content"]}
        found[status] = response
    return found
