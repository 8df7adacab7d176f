"""`bristlecone api` with several processes that share a port."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.context import open_context
from app.storage.schema import upgrade_to_head
from tests.app.trained_models.made import make_trained_model
from tests.app.trained_models.registered import like, register
from tests.conftest import make_settings
from tests.service_process import (
    free_port,
    responds,
    send_signal,
    service_environment,
    service_processes,
    wait_until,
)

SECONDS = 400.0


class Api:
    """Two API processes and their parent."""

    def __init__(self, home: Path) -> None:
        self.home, self.port = home, free_port()
        settings = make_settings(home, f"sqlite:///{home / 'bristlecone.db'}")
        upgrade_to_head(settings)
        context = open_context(settings)
        first = make_trained_model(context)
        register(context, like(first, seed=1))
        context.close()
        with (home.parent / "log").open("wb") as log:
            self.parent = subprocess.Popen(
                [sys.executable, "-m", "app.cli", "api"],
                env=service_environment(home, self.port, BRISTLECONE_API_PROCESSES="2"),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until(lambda: len(self.children()) == 2, SECONDS, "two API processes")

    def children(self) -> set[int]:
        assert self.parent.poll() is None, (self.home.parent / "log").read_text()
        return {child.pid for child in psutil.Process(self.parent.pid).children()}

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def process_of(self, connection: http.client.HTTPConnection) -> int:
        """Return the id of the process that has accepted a connection."""
        port = connection.sock.getsockname()[1]
        ends = [(one.laddr[1:], one.raddr[1:], one.pid) for one in psutil.net_connections("tcp")]
        [pid] = [pid for local, remote, pid in ends if (local, remote) == ((self.port,), (port,))]
        assert pid is not None
        return pid


def _ask(connection: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> Any:
    headers = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    content = response.read()
    assert response.status < 300, content
    return json.loads(content)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    home = tmp_path_factory.mktemp("api") / "home"
    home.mkdir()
    running = Api(home)
    try:
        yield running
    finally:
        running.parent.kill()
        for process in service_processes(home):
            send_signal(process, signal.SIGKILL)
        running.parent.wait()


@contextlib.contextmanager
def _one_of_each(api: Api) -> Iterator[list[http.client.HTTPConnection]]:
    """Yield a connection to each of the two processes."""
    found: dict[int, http.client.HTTPConnection] = {}
    opened = contextlib.ExitStack()

    def connect() -> bool:
        connection = opened.enter_context(contextlib.closing(api.connect()))
        _ask(connection, "GET", "/healthz")
        found.setdefault(api.process_of(connection), connection)
        return len(found) == 2

    with opened:
        wait_until(connect, SECONDS, "connections to both processes")
        yield list(found.values())


def test_a_moved_alias_counts_in_the_next_request_to_the_other_process(api: Api) -> None:
    with _one_of_each(api) as (here, there):
        for step in range(20):
            version = 1 + step % 2
            _ask(here, "PUT", "/aliases/live", {"model_id": f"credit-risk:{version}"})
            for connection in (there, here, there):
                answer = _ask(connection, "GET", "/predict?model=@live&age=41&job=skilled")
                assert answer["model"]["version"] == version
            here, there = there, here


def _counted(connection: http.client.HTTPConnection) -> float:
    """Return how many requests to GET /models the metrics count."""
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    name = 'bristlecone_http_request_seconds_count{method="GET",route="/models",status="2xx"} '
    return next((float(line.removeprefix(name)) for line in lines if line.startswith(name)), 0.0)


def _wait_until_both_count(connections: Sequence[http.client.HTTPConnection], requests: int) -> None:
    """Wait for the count, as a process may count a request shortly after it has sent the answer."""
    wait_until(lambda: {_counted(connection) for connection in connections} == {requests}, SECONDS, "equal counts")


def test_metrics_are_sums_that_outlive_a_killed_process(api: Api) -> None:
    with _one_of_each(api) as connections:
        for connection in connections * 10:
            _ask(connection, "GET", "/models")
        _wait_until_both_count(connections, 20)
    before = api.children()
    os.kill(min(before), signal.SIGKILL)
    wait_until(lambda: len(api.children() - before) == 1, 60, "a new process")
    with _one_of_each(api) as connections:
        assert [_counted(connection) for connection in connections] == [20, 20]
        _ask(connections[0], "GET", "/models")
        _wait_until_both_count(connections, 21)


def test_a_process_that_dies_is_restarted_while_the_other_answers(api: Api) -> None:
    before = api.children()
    os.kill(min(before), signal.SIGKILL)
    wait_until(lambda: len(api.children() - before) == 1, 60, "a new process")
    assert responds(f"http://127.0.0.1:{api.port}/healthz")
    assert max(before) in api.children()


def test_the_port_is_refused_to_others(api: Api) -> None:
    environment = service_environment(api.home, api.port, BRISTLECONE_API_PROCESSES="2")
    second = subprocess.run([sys.executable, "-m", "app.cli", "api"], env=environment, capture_output=True, check=False)
    assert second.returncode == 1
    assert b"BRISTLECONE_PORT" in second.stderr


def test_sigterm_stops_all(api: Api) -> None:
    api.parent.terminate()
    assert api.parent.wait(60) == 0
    wait_until(lambda: not service_processes(api.home), 10, "all processes ending")
