"""`bristlecone serve`: start, restart, refused starts and shutdown."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.service_process import RunningService, answers, free_port, processes_of, service_environment, wait_until

RESTART_SECONDS = 60.0


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("supervisor") / "home") as running:
        yield running


def refusal(home: Path, port: int, **changes: str) -> subprocess.CompletedProcess[str]:
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
            lambda: service.log.read_text() if "loopback" in service.log.read_text() else "", 10, "the banner"
        )
        assert f"API   {service.url}\n" in log
        assert f"Docs  {service.url}/docs\n" in log
        assert answers(f"{service.url}/docs")

    def test_log_has_a_line_for_each_request_and_no_query_string(self, service: RunningService) -> None:
        service.request("GET", "/predict?model=nobody&diagnosis=secret-value")
        log = wait_until(
            lambda: service.log.read_text() if "GET /predict" in service.log.read_text() else "", 10, "the line"
        )
        assert "secret-value" not in log

    def test_state_and_socket_are_closed_to_other_users(self, service: RunningService) -> None:
        for folder in (service.home, service.home / "run", service.home / "redis", service.home / "logs"):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder

    def test_redis_listens_on_no_tcp_port(self, service: RunningService) -> None:
        (redis,) = service.processes("redis-server")
        assert [c for c in redis.net_connections(kind="inet") if c.status == psutil.CONN_LISTEN] == []

    @pytest.mark.parametrize("part", ["-m workers", "redis-server", "app.cli api"])
    def test_killed_process_is_restarted(self, service: RunningService, part: str) -> None:
        wait_until(lambda: service.processes(part), 30, f"{part} running")
        before = {process.pid for process in service.processes(part)}
        for pid in before:
            os.kill(pid, signal.SIGKILL)

        def successor() -> bool:
            now = {process.pid for process in service.processes(part)}
            return bool(now) and not now & before and answers(f"{service.url}/readyz")

        wait_until(successor, RESTART_SECONDS, f"{part} running again")

    def test_second_start_on_the_same_home_is_refused(self, service: RunningService) -> None:
        refused = refusal(service.home, free_port())
        assert refused.returncode == 1
        assert "already uses" in refused.stderr
        assert answers(f"{service.url}/healthz")

    def test_second_start_on_the_same_port_is_refused(self, service: RunningService, tmp_path: Path) -> None:
        refused = refusal(tmp_path / "other", service.port)
        assert refused.returncode == 1
        assert "BRISTLECONE_PORT" in refused.stderr
        assert processes_of(tmp_path / "other") == []


class TestRefusals:
    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
    def test_address_beyond_loopback_without_keys(self, tmp_path: Path, host: str) -> None:
        refused = refusal(tmp_path / "home", free_port(), BRISTLECONE_HOST=host)
        assert refused.returncode == 1
        assert "BRISTLECONE_ALLOW_OPEN_NETWORK" in refused.stderr

    def test_setting_of_the_wrong_type_is_named(self, tmp_path: Path) -> None:
        refused = refusal(tmp_path / "home", free_port(), BRISTLECONE_LEASE_SECONDS="soon")
        assert refused.returncode == 1
        assert refused.stderr.startswith("bristlecone: BRISTLECONE_LEASE_SECONDS: ")


class TestStopping:
    def test_sigterm_ends_with_0_and_leaves_no_process(self, tmp_path: Path) -> None:
        service = RunningService(tmp_path / "home").start()
        wait_until(lambda: len(processes_of(service.home)) >= 5, 60, "the worker's child running")
        assert service.process is not None
        service.process.terminate()
        assert service.process.wait(60) == 0
        assert processes_of(service.home) == []

    def test_home_with_a_long_path_works_and_starts_again_after_sigkill(self, tmp_path: Path) -> None:
        """A socket path has at most about 100 bytes, and files of a killed service must not prevent the next start."""
        service = RunningService(tmp_path / ("long-" * 20) / "home").start()
        assert service.process is not None
        service.process.kill()
        service.process.wait()
        wait_until(lambda: processes_of(service.home) == [], 60, "every part ending with its supervisor")
        with service:
            assert answers(f"{service.url}/readyz")
