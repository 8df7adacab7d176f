"""Several API processes that share one listening socket: `BRISTLECONE_API_PROCESSES`.

The parent binds the socket, starts the processes, restarts those that die, and stops all. Whichever process is idle
accepts the next connection. Connections that arrive while one is restarted are accepted by the others.
"""

import logging
import signal
import socket
import sys
import time
import urllib.error
from types import FrameType

from app.operations.child_process import ChildCommand, ChildProcess, describe_exit
from app.operations.loopback import open_loopback
from app.operations.startup_checks import StartRefused, listening_socket
from app.operations.supervisor import POLL_SECONDS, service_url
from app.settings import Settings

log = logging.getLogger(__name__)


class ApiProcesses:
    """Runs the API processes of one service until it is asked to stop."""

    def __init__(self, settings: Settings, environment: dict[str, str], stop_seconds: float) -> None:
        """stop_seconds: how long a process may take to stop."""
        self._settings, self._environment, self._stop_seconds = settings, environment, stop_seconds
        self._children: list[ChildProcess] = []
        self._stop_requests = 0

    def run(self) -> None:
        """Run until SIGINT or SIGTERM. Raises StartRefused if the address is in use, or the first process ended."""
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._request_stop)
        with listening_socket(self._settings) as shared:
            try:
                self._start(shared)
                while not self._stop_requests:
                    for child in self._children:
                        child.keep_alive()
                    time.sleep(POLL_SECONDS)
            finally:
                self._stop()

    def _start(self, shared: socket.socket) -> None:
        n_processes = self._settings.server.api_processes
        self._start_one(shared, 1)
        # The first one compiles the kernels of a new version; the others then find them in the cache.
        while not self._stop_requests and not _answers(f"{service_url(self._settings)}/healthz"):
            if (code := self._children[0].exit_code) is not None:
                raise StartRefused(f"the first API process ended while starting ({describe_exit(code)})")
            time.sleep(POLL_SECONDS)
        if not self._stop_requests:
            for number in range(2, n_processes + 1):
                self._start_one(shared, number)
            log.info("%d API processes share %s", n_processes, service_url(self._settings))

    def _start_one(self, shared: socket.socket, number: int) -> None:
        arguments = [sys.executable, "-m", "app.cli", "api", "--socket", str(shared.fileno())]
        command = ChildCommand(f"api {number}", arguments, self._stop_seconds, descriptors=(shared.fileno(),))
        self._children.append(ChildProcess(command, self._environment))

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        self._stop_requests += 1

    def _stop(self) -> None:
        patience = max(1, self._stop_requests)
        # All at once, because each waits for its own connections.
        for child in self._children:
            child.ask_to_stop()
        for child in self._children:
            child.stop(at_once=lambda: self._stop_requests > patience)


def _answers(url: str) -> bool:
    try:
        with open_loopback(url, timeout=2.0) as response:
            return int(response.status) == 200
    except (urllib.error.URLError, OSError):
        return False
