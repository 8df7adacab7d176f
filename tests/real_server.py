"""The application behind the server that `bristlecone api` runs, in a thread of the test, for requests over sockets."""

import contextlib
import json
import socket
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from app.http.server import server_options
from app.main import create_app
from app.settings import ServerSettings, Settings
from tests.service_process import free_port, wait_until

#: Far longer than any time-out in tests.
PATIENCE_SECONDS = 60.0


@dataclass
class RawAnswer:
    """Answer as it came over the connection. `status` 0: the connection was closed without one."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        assert self.headers["content-type"] == "application/problem+json"
        return str(self.json()["code"])


@dataclass
class RealServer:
    """Running server: its port, its application and its open connections."""

    port: int
    app: Any
    connections: Collection[Any]

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS)

    def exchange(self, request: bytes) -> RawAnswer:
        """Send bytes on a new connection, and return the answer."""
        with self.connect() as connection:
            connection.sendall(request)
            return read_answer(connection)

    def get(self, path: str) -> RawAnswer:
        return self.exchange(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())


def read_answer(connection: socket.socket) -> RawAnswer:
    """Return the next answer of a connection, whose length must be declared; status 0 if it does not come whole."""
    received = b""
    while b"\r\n\r\n" not in received:
        part = _receive(connection)
        if not part:
            return RawAnswer(0, body=received)
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers["content-length"]):
        part = _receive(connection)
        if not part:
            return RawAnswer(0, body=received)
        body += part
    return RawAnswer(int(line.split()[1]), headers, body[: int(headers["content-length"])])


def is_closed(connection: socket.socket) -> bool:
    """Wait until the server sends something or ends the connection; return whether it ended it."""
    return not _receive(connection)


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except ConnectionError:
        return b""


@contextlib.contextmanager
def real_server(settings: Settings, *, stop_seconds: int = 1, **server: Any) -> Iterator[RealServer]:
    """Run the application with these settings of the server until the block ends.

    stop_seconds: how long requests may take to end then.
    """
    changed = {"server": ServerSettings(**server), "port": free_port()}
    settings = settings.model_copy(update=changed)
    app = create_app(settings)
    running = uvicorn.Server(uvicorn.Config(app, timeout_graceful_shutdown=stop_seconds, **server_options(settings)))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    wait_until(lambda: running.started, PATIENCE_SECONDS, "the server listening")
    try:
        yield RealServer(settings.port, app, running.server_state.connections)
    finally:
        running.should_exit = True
        thread.join(PATIENCE_SECONDS)
