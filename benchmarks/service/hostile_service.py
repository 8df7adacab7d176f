"""Service that is measured while it is attacked: its memory, the time of its health checks, and its answers.

Only HTTP and the process table are used, so that any version of the service can be measured.
"""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import psutil

MEBIBYTE = 2**20
START_SECONDS = 400.0
STOP_SECONDS = 30.0
#: Time for one answer; more than a service that is stalled has needed so far.
ANSWER_SECONDS = 600.0
_SAMPLE_SECONDS = 0.05
#: Beginning of an answer that is kept; the rest is counted and dropped.
_KEPT_BYTES = 2**16
_SERVICE_VARIABLES = ("DATABASE_URL", "REDIS_URL", "BRISTLECONE_")


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: bytes | None = None
    content_type: str = "application/json"

    @classmethod
    def of_json(cls, method: str, path: str, document: Any) -> Self:
        return cls(method, path, json.dumps(document).encode())


@dataclass(frozen=True)
class Answer:
    """Answer to a request. status: 0 if the connection ended without one."""

    status: int
    begin: bytes = b""
    n_bytes: int = 0

    @property
    def document(self) -> Any:
        return json.loads(self.begin)

    @property
    def outcome(self) -> str:
        """Status and, for errors, the code."""
        if self.status < 400:
            return str(self.status or "no answer")
        with contextlib.suppress(ValueError, KeyError, TypeError):
            return f"{self.status} {self.document['code']}"
        return str(self.status)


class Memory(NamedTuple):
    """Bytes that processes use alone."""

    api: int  #: the API and its child processes
    api_process: int  #: the API without its child processes
    worker: int  #: the worker and its child processes


@dataclass
class Measurement:
    """Effect of a step on the service. Memory is the peak above that of the idle service."""

    answers: list[Answer] = field(default_factory=list)
    seconds: float = 0.0
    health_seconds: float = 0.0
    api_bytes: int = 0  # with child processes
    api_process_bytes: int = 0  # without child processes
    worker_bytes: int = 0
    stopped: bool = False


class HostileService:
    """Service of one checkout with a new home, as a context manager.

    changes: environment variables, for example `DATABASE_URL`.
    """

    def __init__(self, checkout: Path, max_bytes: int, changes: Mapping[str, str] | None = None) -> None:
        self._checkout = checkout
        self._max_bytes = max_bytes
        self._changes = dict(changes or {})
        self._folder = tempfile.TemporaryDirectory(prefix="hostile-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])

    def __enter__(self) -> Self:
        home = Path(self._folder.name) / "home"
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_SERVICE_VARIABLES)}
        environment |= {"BRISTLECONE_HOME": str(home), "BRISTLECONE_PORT": str(self.port)}
        environment |= {"BRISTLECONE_COMPILE_AHEAD": "false", **self._changes}
        with (Path(self._folder.name) / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "app.cli", "serve"],
                cwd=self._checkout,
                env=environment | {"PYTHONPATH": str(self._checkout)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while self.send(Request("GET", "/readyz"), seconds=5).status != 200:
            if time.monotonic() > deadline or self._process.poll() is not None:
                self.__exit__(None, None, None)
                raise SystemExit(f"the service of {self._checkout} did not start")
            time.sleep(0.2)
        self._idle = self._memory()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        started = self._tree()
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        _kill(started)
        self._process.wait()
        self._folder.cleanup()

    def send(self, request: Request, seconds: float = ANSWER_SECONDS) -> Answer:
        """Return the answer. Its body is read to the end, but only the beginning is kept."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        headers = {} if request.body is None else {"Content-Type": request.content_type}
        try:
            # A service that refuses a body answers before it has received all of it.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(request.method, request.path, request.body, headers)
            response = connection.getresponse()
            begin = response.read(_KEPT_BYTES)
            n_bytes = len(begin)
            while chunk := response.read(2**20):
                n_bytes += len(chunk)
            return Answer(response.status, begin, n_bytes)
        except (OSError, http.client.HTTPException):
            return Answer(0)
        finally:
            connection.close()

    def send_all(self, requests: Sequence[Request]) -> list[Answer]:
        """Send all requests at once."""
        with ThreadPoolExecutor(len(requests)) as pool:
            return list(pool.map(self.send, requests))

    def document(self, request: Request) -> Any:
        """Return the document of an answer that prepares a case and must succeed."""
        answer = self.send(request)
        if not 200 <= answer.status < 300:
            raise SystemExit(f"{request.method} {request.path[:80]} answered {answer.status}: {answer.begin[:300]!r}")
        return answer.document

    def wait_for_job(self, job_id: str) -> str:
        """Return the final state of a job, or the last one after the time for an answer."""
        deadline = time.monotonic() + ANSWER_SECONDS
        state = "unknown"
        while time.monotonic() < deadline:
            answer = self.send(Request("GET", f"/jobs/{job_id}"))
            if answer.status == 200:
                # The state is at the beginning of the answer; all of it may be more than is kept.
                state = answer.begin.partition(b'"state":"')[2].partition(b'"')[0].decode()
                if state in ("succeeded", "failed", "cancelled"):
                    break
            time.sleep(0.2)
        return state

    def measure(self, step: Callable[[], Sequence[Answer]]) -> Measurement:
        """Return what `step` did. If the service takes more memory than allowed, its processes are killed."""
        measured, ended = Measurement(), threading.Event()
        watchers = [threading.Thread(target=watch, args=(measured, ended)) for watch in (self._watch, self._ping)]
        for watcher in watchers:
            watcher.start()
        began = time.monotonic()
        try:
            measured.answers = list(step())
        finally:
            measured.seconds = time.monotonic() - began
            ended.set()
            for watcher in watchers:
                watcher.join()
        return measured

    def _watch(self, measured: Measurement, ended: threading.Event) -> None:
        is_last = False
        while not is_last:
            is_last = ended.wait(_SAMPLE_SECONDS)
            used = self._memory()
            measured.api_bytes = max(measured.api_bytes, used.api - self._idle.api)
            measured.api_process_bytes = max(measured.api_process_bytes, used.api_process - self._idle.api_process)
            measured.worker_bytes = max(measured.worker_bytes, used.worker - self._idle.worker)
            if max(used.api, used.worker) > self._max_bytes:
                measured.stopped = True
                _kill([psutil.Process(self._process.pid), *self._tree()])
                return

    def _ping(self, measured: Measurement, ended: threading.Event) -> None:
        while not ended.is_set() and not measured.stopped:
            began = time.monotonic()
            self.send(Request("GET", "/healthz"))
            measured.health_seconds = max(measured.health_seconds, time.monotonic() - began)
            ended.wait(_SAMPLE_SECONDS)

    def _memory(self) -> Memory:
        api, api_process, worker = 0, 0, 0
        for top in self._children(self._process.pid):
            command = " ".join(_command_line(top))
            own, children = _unique_bytes(top), sum(map(_unique_bytes, self._children(top.pid, recursive=True)))
            if "workers" in command or "worker" in command.split():
                worker += own + children
            elif "api" in command.split():
                api, api_process = api + own + children, api_process + own
        return Memory(api, api_process, worker)

    def _tree(self) -> list[psutil.Process]:
        return list(self._children(self._process.pid, recursive=True))

    def _children(self, pid: int, recursive: bool = False) -> Iterator[psutil.Process]:
        with contextlib.suppress(psutil.Error):
            yield from psutil.Process(pid).children(recursive)


def _command_line(process: psutil.Process) -> Sequence[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return ()


def _kill(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def _unique_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().uss)
    except psutil.Error:
        return 0


def form(fields: Sequence[tuple[str, str]], file: bytes, path: str = "/datasets") -> Request:
    """Return the upload of a file with these fields of a multipart form."""
    boundary = "hostile-boundary"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="data"\r\n\r\n'
    body = "".join(parts).encode() + head.encode() + file + f"\r\n--{boundary}--\r\n".encode()
    return Request("POST", path, body, f"multipart/form-data; boundary={boundary}")
