"""`bristlecone serve`: start, restart, rejected starts and shutdown."""

import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from app.operations.startup_checks import StartRefused
from app.operations.supervisor import serve
from tests.conftest import make_settings
from tests.service_process import (
    RunningService,
    command_line,
    free_port,
    responds,
    send_signal,
    service_environment,
    service_processes,
    wait_for_no_process,
    wait_until,
)

pytestmark = pytest.mark.slow

RESTART_SECONDS = 60.0


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Yield a service whose home has a long path; a path of a socket has at most about 100 bytes."""
    with RunningService(tmp_path_factory.mktemp("supervisor") / ("long-" * 20) / "home") as running:
        yield running


def run_serve(home: Path, port: int, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app.cli", "serve"],
        env=service_environment(home, port, **changes),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class TestRunning:
    def test_log_names_the_addresses_of_the_api_and_its_docs(self, service: RunningService) -> None:
        log = wait_until(
            lambda: service.log.read_text() if "Press Ctrl-C" in service.log.read_text() else "", 10, "the banner"
        )
        assert f"API   {service.url}\n" in log
        assert f"Docs  {service.url}/docs\n" in log
        assert responds(f"{service.url}/docs")

    def test_log_contains_requests_without_query_strings(self, service: RunningService) -> None:
        service.request("GET", "/predict?model=nobody&diagnosis=secret-value")
        log = wait_until(
            lambda: service.log.read_text() if "GET /predict" in service.log.read_text() else "", 10, "the line"
        )
        assert "secret-value" not in log

    def test_other_users_cannot_access_state_and_socket(self, service: RunningService) -> None:
        for folder in (service.home, service.home / "run", service.home / "redis", service.home / "logs"):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder

    def test_redis_does_not_listen_on_tcp(self, service: RunningService) -> None:
        (redis,) = service.processes("redis-server")
        assert [c for c in redis.net_connections(kind="inet") if c.status == psutil.CONN_LISTEN] == []

    @pytest.mark.parametrize("part", ["-m workers", "redis-server", "app.cli api"])
    def test_killed_process_is_restarted(self, service: RunningService, part: str) -> None:
        wait_until(lambda: service.processes(part), 30, f"{part} running")
        before = {process.pid for process in service.processes(part)}
        for process in service.processes(part):
            send_signal(process, signal.SIGKILL)

        def is_restarted() -> bool:
            after = {process.pid for process in service.processes(part)}
            return bool(after) and not after & before and responds(f"{service.url}/readyz")

        wait_until(is_restarted, RESTART_SECONDS, f"{part} running again")

    def test_second_start_with_the_same_home_fails(self, service: RunningService) -> None:
        completed = run_serve(service.home, free_port())
        assert completed.returncode == 1
        assert "already uses" in completed.stderr
        assert responds(f"{service.url}/healthz")

    def test_second_start_on_the_same_port_fails(self, service: RunningService, tmp_path: Path) -> None:
        completed = run_serve(tmp_path / "other", service.port)
        assert completed.returncode == 1
        assert "BRISTLECONE_PORT" in completed.stderr
        assert service_processes(tmp_path / "other") == []


class TestStarting:
    @pytest.mark.parametrize("starting", [True], indirect=True, ids=["compiled"])
    def test_a_worker_that_dies_meanwhile_is_restarted(self, starting: "Starting") -> None:
        starting.wait_for("-m workers").kill()
        wait_until(lambda: responds(f"http://127.0.0.1:{starting.port}/readyz"), 60, "the API")
        starting.wait_for("-m workers")
        assert starting.stop() == 0

    @pytest.mark.parametrize("starting", [False], indirect=True, ids=["not compiled"])
    def test_a_stop_while_kernels_are_compiled_leaves_no_process(self, starting: "Starting") -> None:
        starting.wait_for("workers.background_compilation")
        assert starting.stop() == 0
        wait_for_no_process(starting.home)


@dataclass
class Starting:
    """A service that nobody waits for."""

    process: "subprocess.Popen[bytes]"
    home: Path
    port: int

    def wait_for(self, part: str) -> psutil.Process:
        """Return the first process whose command contains `part`."""

        def found() -> psutil.Process | None:
            processes = [one for one in service_processes(self.home) if part in " ".join(command_line(one))]
            return processes[0] if processes else None

        found_process: psutil.Process = wait_until(found, 60, part)
        return found_process

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(60)


@pytest.fixture
def starting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Starting]:
    """Yield a service that has begun to start, with the kernels of the tests or without any."""
    port = free_port()
    cold = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "BRISTLECONE_COMPILE_AHEAD": "true"}
    environment = service_environment(tmp_path / "home", port, **({} if request.param else cold))
    with subprocess.Popen([sys.executable, "-m", "app.cli", "serve"], env=environment) as process:
        try:
            yield Starting(process, tmp_path / "home", port)
        finally:
            process.kill()


class TestInvalidSettings:
    def test_public_address_requires_permission(self, tmp_path: Path) -> None:
        completed = run_serve(tmp_path / "home", free_port(), BRISTLECONE_HOST="0.0.0.0")
        assert completed.returncode == 1
        assert "BRISTLECONE_ALLOW_OPEN_NETWORK" in completed.stderr

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
    def test_public_addresses(self, tmp_path: Path, host: str) -> None:
        settings = make_settings(tmp_path, f"sqlite:///{tmp_path / 'none.db'}").model_copy(update={"host": host})
        with pytest.raises(StartRefused, match="BRISTLECONE_ALLOW_OPEN_NETWORK"):
            serve(settings)

    def test_invalid_setting_is_named(self, tmp_path: Path) -> None:
        completed = run_serve(tmp_path / "home", free_port(), BRISTLECONE_LEASE_SECONDS="soon")
        assert completed.returncode == 1
        assert completed.stderr.startswith("bristlecone: BRISTLECONE_LEASE_SECONDS: ")


class TestStopping:
    """The last tests: they end the service."""

    def test_restarts_after_sigkill(self, service: RunningService) -> None:
        """Files of a killed service do not prevent the next start."""
        assert service.process is not None
        service.process.kill()
        service.process.wait()
        wait_until(lambda: service_processes(service.home) == [], 60, "all processes ending with the supervisor")
        service.start()
        assert responds(f"{service.url}/readyz")

    def test_sigterm_exits_with_0_and_leaves_no_process(self, service: RunningService) -> None:
        wait_until(lambda: len(service_processes(service.home)) >= 5, 60, "the worker's child running")
        assert service.process is not None
        service.process.terminate()
        assert service.process.wait(60) == 0
        wait_for_no_process(service.home)
