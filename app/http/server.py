"""HTTP/1.1 connections with time-outs and bounds that the server library does not have.

A connection waits for the head of a request, then for the client to send a body and to take the answer. Each wait has a
limit, and so have the number of connections and the memory of unfinished heads. `app.http.body_time` limits the wait
for a body, because only it knows whether the service waits for the client or the client for the service.
"""

import asyncio
import contextlib
import functools
import logging
import socket
import sys
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.errors import ServiceError
from app.http.error_handlers import error_response
from app.http.errors import HeadTooLarge, MalformedRequest, RequestTimeout
from app.http.gathered_writes import GatheredWrites
from app.http.refusal_log import RefusalLog
from app.http.security_headers import SECURITY_HEADERS
from app.logs import CONNECTION_LOGGER
from app.settings import MEBIBYTE, ServerSettings, Settings

#: Room for a request line with values of ten thousand columns.
MAX_HEAD_BYTES = MEBIBYTE
#: Most memory for unfinished heads of all connections.
MAX_WAITING_BYTES = 32 * MEBIBYTE


def server_options(settings: Settings) -> dict[str, Any]:
    """Return the arguments of `uvicorn.Config`, beside the application."""
    server = settings.server
    return {
        "host": settings.host,
        "port": settings.port,
        "http": functools.partial(
            BoundedProtocol,
            settings=server,
            waiting=_WaitingConnections(server.max_connections),
            refusals=RefusalLog(),
        ),
        "ws": "none",
        # As many connections are accepted at a time, before any of them is read: never so many that one is closed for
        # the others before its request was seen.
        "backlog": max(16, server.max_connections // 4),
        "h11_max_incomplete_event_size": MAX_HEAD_BYTES,
        "timeout_keep_alive": server.keep_alive_seconds,
        # The service logs requests itself, without query strings: they contain personal data.
        "access_log": False,
        "log_config": None,
        "proxy_headers": False,
        "server_header": False,
    }


#: Key, in the state that the lifespan of the application yields, of a function that ends the waiting of requests.
RELEASE_WAITING = "release_waiting"

#: Key of a function that counts connections which are refused, by the code of the error.
COUNT_REFUSAL = "count_refusal"


def _ignore(code: str) -> None:
    """Do nothing: the application does not count refusals."""


def _nothing() -> None:
    """Do nothing: the application has no requests that wait."""


class _WaitingConnections:
    """Connections whose client is to send something that no request waits for, longest first.

    While there are too many connections, the one that has waited longest is closed: it is of least use, and a client
    that needs it opens another one. So neither idle connections nor slow ones keep others out.
    """

    def __init__(self, max_connections: int) -> None:
        self._max_connections = max_connections
        self._waiting: dict[BoundedProtocol, None] = {}
        self._n_bytes = 0

    def opened(self, connection: "BoundedProtocol") -> None:
        while len(connection.connections) > self._max_connections and self._waiting:
            self._drop(next(iter(self._waiting)))
        self.add(connection)
        # All others are busy, which `LimitRequests` prevents, or are closed and not gone yet.
        if len(connection.connections) > 2 * self._max_connections:
            self._drop(connection)

    def add(self, connection: "BoundedProtocol") -> None:
        self._waiting.setdefault(connection)

    def received(self, connection: "BoundedProtocol", n_bytes: int) -> None:
        """Count bytes of an unfinished head. If there are too many, the connection with most of them is closed."""
        connection.n_head_bytes += n_bytes
        self._n_bytes += n_bytes
        while self._n_bytes > MAX_WAITING_BYTES:
            self._drop(max(self._waiting, key=lambda waiting: waiting.n_head_bytes))

    def remove(self, connection: "BoundedProtocol") -> None:
        self._waiting.pop(connection, None)
        self._n_bytes -= connection.n_head_bytes
        connection.n_head_bytes = 0

    def _drop(self, connection: "BoundedProtocol") -> None:
        self.remove(connection)
        connection.connections.discard(connection)
        connection.transport.abort()


class BoundedProtocol(H11Protocol):
    """One connection."""

    def __init__(
        self,
        *args: Any,
        settings: ServerSettings,
        waiting: _WaitingConnections,
        refusals: RefusalLog,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        # Without its warnings about requests, which any client can cause as often as it likes.
        self.logger = logging.getLogger(CONNECTION_LOGGER)
        self._settings = settings
        self._waiting, self._refusals = waiting, refusals
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self.n_head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._writes = GatheredWrites(transport, self.loop)
        super().connection_made(self._writes)  # type: ignore[arg-type]
        _bound_silence(transport, self._settings.body_idle_seconds)
        self._waiting.opened(self)
        self._start_timer("head", self._settings.header_seconds, self._refuse_head)

    def connection_lost(self, exc: Exception | None) -> None:
        for name in list(self._timers):
            self._stop_timer(name)
        self._waiting.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._awaits_head():
            self._start_timer("head", self._settings.header_seconds, self._refuse_head)
            self._waiting.received(self, len(data))
        self._note_progress()

    def on_response_complete(self) -> None:
        self._writes.flush()
        super().on_response_complete()
        self._note_progress()

    def shutdown(self) -> None:
        """Stop after the request that is being answered. Called when the server stops."""
        # Without this, streams and long polls would go on until the server cuts them off.
        self.app_state.get(RELEASE_WAITING, _nothing)()
        super().shutdown()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_timer("write", self._settings.body_idle_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_timer("write")

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not HTTP. Called by the server library while it handles the error of its parser."""
        hint = getattr(sys.exception(), "error_status_hint", 400)
        if hint == 431:
            self._refuse(HeadTooLarge(f"The head of the request is larger than {MAX_HEAD_BYTES} bytes; shorten it."))
        else:
            self._refuse(MalformedRequest(f"The request is not HTTP/1.1: {str(sys.exception())[:100]}."))

    def _awaits_head(self) -> bool:
        return self.conn.their_state is h11.IDLE and not self.transport.is_closing()

    def _note_progress(self) -> None:
        """Adapt the timers to what the connection waits for now."""
        if self._awaits_head():
            self._stop_timer("rest")
            self._waiting.add(self)
            return
        self._waiting.remove(self)
        self._stop_timer("head")
        # The answer is complete, but the request is not. Many clients read the answer only when they have sent all.
        if self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY:
            self._start_timer("rest", self._settings.body_idle_seconds, self.transport.abort)
            self._waiting.add(self)

    def _refuse_head(self) -> None:
        if not self.n_head_bytes:
            self.transport.close()
            return
        seconds = self._settings.header_seconds
        self._refuse(
            RequestTimeout(
                f"The head of the request did not arrive within {seconds:g} s (limit BRISTLECONE_HEADER_SECONDS); "
                "send it again."
            )
        )

    def _refuse(self, error: ServiceError) -> None:
        """Answer without the application, and close the connection."""
        self._refusals.note(error.code, self.loop)
        self.app_state.get(COUNT_REFUSAL, _ignore)(error.code)
        if self.cycle is not None and not self.cycle.response_complete:
            # The application still works on the request, and finds that its client has left.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        response = error_response(error)
        with contextlib.suppress(h11.LocalProtocolError):  # an answer has begun
            head = h11.Response(
                status_code=error.status,
                headers=[*response.raw_headers, *SECURITY_HEADERS, (b"connection", b"close")],
                reason=HTTPStatus(error.status).phrase.encode(),
            )
            for event in (head, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _start_timer(self, name: str, seconds: float, action: Any) -> None:
        if name not in self._timers:
            self._timers[name] = self.loop.call_later(seconds, action)

    def _stop_timer(self, name: str) -> None:
        if name in self._timers:
            self._timers.pop(name).cancel()


def _bound_silence(transport: asyncio.Transport, seconds: float) -> None:
    """Let the kernel end the connection if sent bytes stay unacknowledged, also after it was closed here."""
    connection = transport.get_extra_info("socket")
    if connection is not None and hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * seconds))
