"""Client of a server of forked children (`app.operations.forked_tasks`): starts it, and talks with its children."""

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.operations.forked_tasks import NOT_BEGUN, ChildLimits

_ROOT = Path(__file__).resolve().parents[2]
#: One thread each for what libraries compute, because a process with threads cannot fork; and an allocator that
#: returns an error when the limit is reached, where others end the process.
_SERVER_VARIABLES = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
#: A child ends at its limit by itself. Its server may still have to start, and is never this late.
_SPARE_SECONDS = 30.0
_STOP_SECONDS = 5.0


class ChildEnded(Exception):
    """End of a child before it answered.

    exit_code: negative if a signal ended it; None if the server has died, or could not start a child.
    """

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(f"the child ended with {self._described(exit_code)}")
        self.exit_code = exit_code

    @property
    def ran_out_of_time(self) -> bool:
        """Whether the deadline ended it."""
        return self.exit_code == -signal.SIGALRM

    @property
    def was_lost(self) -> bool:
        """Whether it ended, or never began, for a reason outside of it, such as the lack of memory or processes."""
        return self.exit_code in (None, -signal.SIGKILL, NOT_BEGUN)

    @property
    def crashed(self) -> bool:
        """Whether a library ended it: by a damaged file, or because it does not handle the lack of memory."""
        return self.exit_code in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS)

    @staticmethod
    def _described(exit_code: int | None) -> str:
        if exit_code is None:
            return "its server"
        return signal.Signals(-exit_code).name if exit_code < 0 else f"exit code {exit_code}"


class Conversation:
    """Conversation with one child."""

    def __init__(self, connection: socket.socket, status: int) -> None:
        self._lines = connection.makefile("rwb")
        self._status = status

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request. Raises ChildEnded."""
        try:
            self._lines.write(json.dumps(request).encode() + b"\n")
            self._lines.flush()
            line = self._lines.readline()
        except OSError as error:  # the pipe is broken, or the child is late
            raise ChildEnded(self._exit_code(is_late=isinstance(error, TimeoutError))) from error
        if not line.endswith(b"\n"):
            raise ChildEnded(self._exit_code())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Let the child end."""
        with contextlib.suppress(OSError):
            self._lines.close()

    def _exit_code(self, is_late: bool = False) -> int | None:
        if is_late:
            return -signal.SIGALRM
        text = os.read(self._status, 20)
        return int(text) if text else None


class ForkServer:
    """Server process that runs `python -m MODULE`, started when it is first needed, and again if it has died.

    It belongs to the process group of this process, so that a supervisor which ends the group ends it as well, even
    while it starts and does not notice yet that its socket was closed.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def start(self) -> None:
        """Start the server unless it runs. It needs some seconds until it can fork, for which conversations wait."""
        with self._lock:
            self._running()

    @contextmanager
    def conversation(self, limits: ChildLimits) -> Iterator[Conversation]:
        """Yield a conversation with a new child, which ends with the block. Raises ChildEnded if there is none."""
        with contextlib.ExitStack() as stack:
            try:
                connection, status = self._connect(stack)
                connection.sendall(json.dumps(asdict(limits)).encode() + b"\n")
            except OSError as error:  # no more processes or files, or the server has just died
                raise ChildEnded(None) from error
            connection.settimeout(limits.seconds + _SPARE_SECONDS)
            talk = Conversation(connection, status)
            stack.callback(talk.close)
            yield talk

    def _connect(self, stack: contextlib.ExitStack) -> tuple[socket.socket, int]:
        """Return the socket of a conversation, and the descriptor with the exit code of its child."""
        ours, theirs = map(stack.enter_context, socket.socketpair())
        status, their_status = os.pipe()
        stack.callback(os.close, status)
        try:
            with self._lock:
                socket.send_fds(self._running(), [b"c"], [theirs.fileno(), their_status])
        finally:
            theirs.close()
            os.close(their_status)
        return ours, status

    def _running(self) -> socket.socket:
        if self._control is not None and self._process is not None and self._process.poll() is None:
            return self._control
        self.stop()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._module],
                stdin=theirs.fileno(),
                env={**os.environ, **_SERVER_VARIABLES, "PYTHONPATH": _python_path()},
            )
        atexit.register(self.stop)
        return self._control

    def stop(self) -> None:
        """Close the socket of the server, which ends it."""
        atexit.unregister(self.stop)
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_SECONDS)
            self._process.kill()
            self._process.wait()


def _python_path() -> str:
    return os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
