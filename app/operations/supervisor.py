"""Supervisor of the embedded service: an API, a worker and, unless REDIS_URL is set, a private Redis.

Redis is started first, then the API and the worker together. A process that dies is restarted, and all are stopped in
reverse order. The supervisor does not handle requests or jobs itself.
"""

import json
import logging
import os
import signal
import sys
import time
import urllib.error
from types import FrameType

from app.operations.child_process import ChildCommand, ChildProcess, describe_exit
from app.operations.embedded_redis import prepare_socket, redis_command, wait_until_loaded
from app.operations.loopback import open_loopback
from app.operations.startup_checks import (
    StartRefused,
    exclusive_home,
    require_free_port,
    require_older_schema,
    require_own_state,
    require_private_address,
)
from app.settings import Settings
from app.storage.schema_version import schema_fault

log = logging.getLogger(__name__)

#: The first start of a version compiles the prediction kernels, which takes seconds, or longer on a busy machine.
READY_SECONDS = 600.0
EXPLAIN_AFTER_SECONDS = 5.0
API_STOP_SECONDS = 10.0
WORKER_STOP_SECONDS = 20.0
POLL_SECONDS = 0.05


def serve(settings: Settings) -> None:
    """Run the service until SIGINT, SIGTERM or SIGHUP.

    Raises:
        StartRefused: it cannot start with these settings, or a process ended while starting.
    """
    require_private_address(settings)
    with exclusive_home(settings):
        require_free_port(settings)
        Supervisor(settings).run()


def service_url(settings: Settings) -> str:
    """Return the URL of the API for a browser on this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


class Supervisor:
    """Runs the processes of one service until it is asked to stop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._children: list[ChildProcess] = []
        self._stop_requests = 0
        # An absolute path, so that children find the home folder from any working directory.
        self._environment = {**os.environ, "BRISTLECONE_HOME": str(settings.home)}

    def run(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Signals that nohup or the `&` of a shell has turned off stay ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._request_stop)
        try:
            self._start()
            while not self._stop_requests:
                for child in self._children:
                    child.keep_alive()
                time.sleep(POLL_SECONDS)
        finally:
            self._stop()

    def _migrate(self) -> None:
        if schema_fault(self._settings):
            require_older_schema(self._settings)
            from app.storage.schema import upgrade_to_head  # noqa: PLC0415  (a slow import that few starts need)

            upgrade_to_head(self._settings)

    def _start(self) -> None:
        self._settings.logs_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._start_redis()
        self._migrate()
        require_own_state(self._settings)
        # Together, because on a first start the API compiles the kernels of predictions and the worker those of growth.
        self._start_python("api", ["-m", "app.cli", "api"], API_STOP_SECONDS)
        self._start_python("worker", ["-m", "workers"], WORKER_STOP_SECONDS)
        self._wait_until_ready()
        if not self._stop_requests:
            self._announce()

    def _start_redis(self) -> None:
        socket_path = self._settings.broker.socket_path
        if socket_path is None:
            return
        data_folder = self._settings.home / "redis"
        data_folder.mkdir(mode=0o700, exist_ok=True)
        prepare_socket(socket_path)
        command = redis_command(socket_path, data_folder, self._settings.logs_folder / "redis.log")
        redis = ChildProcess(command, self._environment)
        self._children.append(redis)
        wait_until_loaded(socket_path, alive=lambda: redis.exit_code is None)

    def _start_python(self, name: str, arguments: list[str], stop_seconds: float) -> None:
        command = ChildCommand(name, [sys.executable, *arguments], stop_seconds)
        self._children.append(ChildProcess(command, self._environment))

    def _wait_until_ready(self) -> None:
        url = f"{service_url(self._settings)}/readyz"
        began, explained = time.monotonic(), False
        while not self._stop_requests and not _answers(url):
            self._check_children()
            waited = time.monotonic() - began
            if waited > READY_SECONDS:
                raise StartRefused(f"{url} did not answer within {READY_SECONDS:.0f} s; see the log above")
            if waited > EXPLAIN_AFTER_SECONDS and not explained:
                log.info("the first start of a version compiles kernels, which takes several seconds")
                explained = True
            time.sleep(POLL_SECONDS)

    def _check_children(self) -> None:
        """Restart a dead worker, which the API does not need for its start. Raises StartRefused for the others."""
        *others, worker = self._children
        worker.keep_alive()
        for child in others:
            if child.exit_code is not None:
                raise StartRefused(
                    f"{child.name} ended while starting ({describe_exit(child.exit_code)}); see the log above"
                )

    def _announce(self) -> None:
        url = service_url(self._settings)
        log.info("API   %s", url)
        log.info("Docs  %s/docs", url)
        log.info("State %s", self._settings.home)
        log.info("Press Ctrl-C to stop the service.")

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        self._stop_requests += 1

    def _stop(self) -> None:
        log.info("stopping; press Ctrl-C again to stop at once")
        patience = max(1, self._stop_requests)
        for child in reversed(self._children):
            child.stop(at_once=lambda: self._stop_requests > patience)
        log.info("stopped")


def _answers(url: str) -> bool:
    """Return whether the API is ready, or only lacks disk space: the data to delete is deleted through the API."""
    try:
        with open_loopback(url, timeout=2.0) as response:
            return int(response.status) == 200
    except urllib.error.HTTPError as error:
        with error:
            return _lacks_only_space(error.read())
    except (urllib.error.URLError, OSError):
        return False


def _lacks_only_space(answer: bytes) -> bool:
    try:
        checks: dict[str, str] = json.loads(answer)["checks"]
    except (ValueError, KeyError, TypeError):
        return False
    return {name for name, outcome in checks.items() if outcome != "ok"} == {"storage"}
