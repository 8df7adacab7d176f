"""Time-out of request bodies that stop arriving, or arrive too slowly."""

import asyncio
import time

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.raw_headers import header

#: Slowest body, on average over the longest pause that is allowed.
MIN_BYTES_PER_SECOND = 500


class LimitBodyTime:
    """Middleware that ends requests with 408 if their client stops sending.

    Only the time in which the service waits for the client counts, not the time in which it is busy itself.
    """

    def __init__(self, app: ASGIApp, idle_seconds: float) -> None:
        self._app, self._idle_seconds = app, idle_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _has_body(scope):
            body = _TimedBody(receive, send, self._idle_seconds)
            await self._app(scope, body.receive, body.send)
        else:
            await self._app(scope, receive, send)


def _has_body(scope: Scope) -> bool:
    return header(scope, b"transfer-encoding") is not None or header(scope, b"content-length") not in (None, "0")


class _TimedBody:
    def __init__(self, receive: Receive, send: Send, idle_seconds: float) -> None:
        self._receive, self._send, self._idle_seconds = receive, send, idle_seconds
        self._over = False
        self._waited_seconds, self._n_bytes = 0.0, 0

    async def receive(self) -> Message:
        if self._over:
            # What follows is the disconnection of the client, for which streams of answers wait.
            return await self._receive()
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._idle_seconds):
                message = await self._receive()
        except TimeoutError:
            raise self._timed_out("nothing of the body arrived") from None
        self._over = not message.get("more_body", False)
        self._waited_seconds += time.monotonic() - began
        self._n_bytes += len(message.get("body", b""))
        if not self._over and self._waited_seconds > self._idle_seconds:
            self._check_rate()
        return message

    def _check_rate(self) -> None:
        if self._n_bytes < MIN_BYTES_PER_SECOND * self._waited_seconds:
            raise self._timed_out(f"only {self._n_bytes} bytes of the body arrived")
        self._waited_seconds, self._n_bytes = 0.0, 0

    def _timed_out(self, what: str) -> HTTPException:
        # An HTTPException, because the framework turns others from here into 400 answers.
        return HTTPException(
            408,
            f"In {self._idle_seconds:g} s (limit BRISTLECONE_BODY_IDLE_SECONDS), {what}; send the request again, "
            f"without pauses and with at least {MIN_BYTES_PER_SECOND} bytes per second.",
            headers={"Connection": "close"},
        )

    async def send(self, message: Message) -> None:
        # An answer before the end of the body: the rest does not matter.
        self._over = True
        await self._send(message)
