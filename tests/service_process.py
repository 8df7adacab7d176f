"""Complete service for end-to-end tests, started as by `make serve` with its own home and port."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from app.operations.loopback import open_loopback

#: Includes compiling the kernels if the cache is empty.
START_SECONDS = 400.0
STOP_SECONDS = 60.0
#: Requests of many megabytes take long beside other tests.
REQUEST_SECONDS = 240.0

#: Prefixes of environment variables that would change the configuration of the service under test.
_SERVICE_VARIABLES = ("DATABASE_URL", "REDIS_URL", "BRISTLECONE_")


def free_port() -> int:
    """Return a TCP port on the loopback interface that is currently unused."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def service_environment(home: Path, port: int, **changes: str) -> dict[str, str]:
    """Return the current environment without other settings of the service, with these changes."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_SERVICE_VARIABLES)}
    own = {"BRISTLECONE_HOME": str(home), "BRISTLECONE_PORT": str(port), "BRISTLECONE_COMPILE_AHEAD": "false"}
    return environment | own | changes


def service_processes(home: Path) -> list[psutil.Process]:
    """Return the living processes of the service with this home, regardless of their current parent."""
    return [process for process in psutil.process_iter() if _has_home(process, home)]


def _has_home(process: psutil.Process, home: Path) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        # Redis overwrites its environment with its title, so it is identified by its working directory.
        return process.environ().get("BRISTLECONE_HOME") == str(home) or process.cwd() == str(home / "redis")
    except psutil.Error:
        return False


def send_signal(process: psutil.Process, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended: parts of a service end when another one is killed."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def wait_for_no_process(home: Path) -> None:
    """Wait until no process of the service with this home lives: its last ones end just after the first one."""
    wait_until(lambda: service_processes(home) == [], 10, "the last process ending")


def wait_until(condition: Any, seconds: float, event: str, longest_pause: float = 0.25) -> Any:
    """Return the first true result of `condition()`; fail after `seconds`.

    The pauses between calls grow: a condition that is asked for often takes the processor from what it waits for.
    """
    deadline, pause = time.monotonic() + seconds, 0.02
    while time.monotonic() < deadline:
        if result := condition():
            return result
        time.sleep(pause)
        pause = min(1.2 * pause, longest_pause)
    raise AssertionError(f"{event} did not happen within {seconds:g} s")


def responds(url: str) -> bool:
    """Return True if GET `url` returns a 2xx status."""
    try:
        with open_loopback(url, timeout=5) as response:
            return 200 <= response.status < 300
    except (urllib.error.URLError, OSError):
        return False


class RunningService:
    """Service process, as a context manager: `with RunningService(tmp_path / "home") as service:`.

    Requests go to `service.url`. `changes` are environment variables, for example `DATABASE_URL` to run on PostgreSQL.
    """

    def __init__(self, home: Path, port: int | None = None, changes: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = home.with_name(f"{home.name}.log")
        self.environment = service_environment(home, self.port, **(changes or {}))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app.cli", "serve"],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            wait_until(self._has_started_or_ended, START_SECONDS, f"{self.url}/readyz answering")
            assert self.process.poll() is None, f"serve ended during startup:\n{self.log.read_text()}"
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self) -> int:
        """Stop the service as a service manager does; return the exit code of `serve`."""
        assert self.process is not None
        self.process.terminate()
        try:
            return self.process.wait(STOP_SECONDS)
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill all processes of the service, regardless of its state."""
        for process in service_processes(self.home):
            send_signal(process, signal.SIGKILL)
        wait_for_no_process(self.home)
        if self.process is not None:
            self.process.wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def processes(self, part: str) -> list[psutil.Process]:
        """Return the living processes whose command line contains `part`, such as "workers" or "redis-server"."""
        return [process for process in service_processes(self.home) if part in " ".join(command_line(process))]

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Return the status and the parsed response. `bytes` are sent unchanged, other bodies as JSON."""
        status, content = self.exchange(method, path, body, headers)
        return status, json.loads(content or b"null")

    def exchange(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Return the status and the response."""
        raw = isinstance(body, bytes)
        data = body if raw or body is None else json.dumps(body).encode()
        content_type = {} if raw or body is None else {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, {**content_type, **(headers or {})}, method=method)
        try:
            with open_loopback(request, timeout=REQUEST_SECONDS) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def wait_for_job(self, job_id: str, seconds: float = 120.0) -> dict[str, Any]:
        """Return the job after it has succeeded, failed or been cancelled."""

        def finished_job() -> dict[str, Any] | None:
            _, job = self.request("GET", f"/jobs/{job_id}")
            return job if job["state"] in ("succeeded", "failed", "cancelled") else None

        return wait_until(finished_job, seconds, f"job {job_id} ending")

    def _has_started_or_ended(self) -> bool:
        assert self.process is not None
        return self.process.poll() is not None or responds(f"{self.url}/readyz")


def command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
