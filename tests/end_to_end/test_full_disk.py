"""Full disks, on a small file system of their own: nothing is half stored, jobs wait, and all goes on afterwards."""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from app.datasets.receiving import SPACE_CHECK_BYTES
from tests.end_to_end.conftest import QUICK_LEASES
from tests.end_to_end.test_main_job import LONG_MODEL, artifact, submit, trained_model, upload, wait_for_progress
from tests.service_process import RunningService, responds, wait_until

pytestmark = pytest.mark.slow

MEBIBYTE = 1024**2
SIZE, MIN_FREE = 96 * MEBIBYTE, 24 * MEBIBYTE
FOREST = {"kind": "forest", "n_estimators": 20}


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(scope="module")
def service(disk: Path) -> Iterator[RunningService]:
    service = RunningService(disk / "home", changes=QUICK_LEASES | {"BRISTLECONE_MIN_FREE_BYTES": str(MIN_FREE)})
    service.log = disk.with_name("service.log")
    with service:
        yield service


@pytest.fixture(scope="module")
def dataset(service: RunningService, table_csv: bytes) -> dict[str, Any]:
    return upload(service, table_csv)


@contextmanager
def _filled(disk: Path, n_free: int) -> Iterator[None]:
    """Leave this much space free for as long as the block runs."""
    ballast = disk / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file:
            status = os.statvfs(disk)
            try:
                for size in (MEBIBYTE, 4096):
                    while os.statvfs(disk).f_bavail * status.f_frsize >= n_free + size:
                        file.write(b"\0" * size)
            except OSError:
                assert n_free == 0
        yield
    finally:
        ballast.unlink()


def _wait_for_removed_staging(service: RunningService) -> None:
    """Wait until no staged file is left: they are removed after the commit that ends the job."""
    wait_until(lambda: not list((service.home / "staging").iterdir()), 30, "staged files being removed")


def _files(service: RunningService) -> set[Path]:
    return {path for name in ("datasets", "artifacts", "staging") for path in (service.home / name).iterdir()}


def _job(service: RunningService, job_id: str) -> dict[str, Any]:
    return service.request("GET", f"/jobs/{job_id}")[1]


def _wait_for_waiting(service: RunningService, job_id: str) -> None:
    wait_until(lambda: _job(service, job_id)["progress"]["phase"] == "waiting for disk space", 60, "job waiting")


def _refused(service: RunningService, method: str, path: str, body: Any, headers: dict[str, str] | None = None) -> None:
    status, problem = service.request(method, path, body, headers)
    assert (status, problem["code"]) == (507, "storage_full"), problem


CSV = {"Content-Type": "text/csv"}
INLINE = {"data": {"columns": {"x": [1, 2] * 50, "y": [0, 1] * 50}, "target": "y"}, "model": {"kind": "tree"}}


def test_a_disk_that_is_nearly_full(service: RunningService, disk: Path, dataset: dict[str, Any]) -> None:
    undisturbed = trained_model(service, service.wait_for_job(submit(service, dataset, model=FOREST, name="a")["id"]))
    _wait_for_removed_staging(service)
    files = _files(service)
    assert service.request("GET", "/readyz")[0] == 200
    with _filled(disk, MIN_FREE // 2):
        status, readiness = service.request("GET", "/readyz")
        assert (status, readiness["checks"]["storage"]) == (503, "unavailable")
        _refused(service, "POST", "/datasets?target=y&name=refused", b"x,y\n1,0\n2,1\n" * 10, CSV)
        _refused(service, "POST", "/train", INLINE)
        assert service.request("GET", "/datasets?name=refused")[1]["items"] == []
        assert _files(service) == files
        cancelled = submit(service, dataset, model=FOREST, name="cancelled", seed=1)
        _wait_for_waiting(service, cancelled["id"])
        service.request("POST", f"/jobs/{cancelled['id']}/cancel")
        assert service.wait_for_job(cancelled["id"], 20)["state"] == "cancelled"
        waiting = submit(service, dataset, model=FOREST, name="b")
        _wait_for_waiting(service, waiting["id"])
    job = service.wait_for_job(waiting["id"])
    model = trained_model(service, job)
    assert job["attempt"] == 1
    assert artifact(service, model) == artifact(service, undisturbed)
    wait_until(lambda: service.request("GET", "/readyz")[0] == 200, 10, "readiness")
    _wait_for_removed_staging(service)


def test_a_large_upload_is_refused_before_it_is_sent(service: RunningService, disk: Path) -> None:
    head = (
        "POST /datasets?target=y&name=refused HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/csv\r\n"
        f"Content-Length: {4 * MEBIBYTE}\r\n\r\n"
    )
    with _filled(disk, MIN_FREE + 2 * MEBIBYTE), socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 507 ")


def test_an_upload_of_undeclared_length_is_refused_while_it_is_sent(service: RunningService, disk: Path) -> None:
    head = (
        "POST /datasets?target=y&name=refused HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/csv\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"100000\r\n" + b"1,0\n" * (MEBIBYTE // 4) + b"\r\n"
    files = _files(service)
    # All of it would fit, but leave too little free.
    n_chunks = SPACE_CHECK_BYTES // MEBIBYTE + 4
    with (
        _filled(disk, n_chunks * MEBIBYTE + MIN_FREE // 4),
        socket.create_connection(("127.0.0.1", service.port)) as out,
    ):
        out.sendall(head.encode())
        with suppress(ConnectionError):
            for _ in range(n_chunks):
                out.sendall(chunk)
        assert out.recv(100).startswith(b"HTTP/1.1 507 ")
        wait_until(lambda: _files(service) == files, 30, "the file being removed")


def test_a_disk_without_any_space(service: RunningService, disk: Path, dataset: dict[str, Any]) -> None:
    # Many small trees take as long as other long jobs, and their file fits on the disk afterwards.
    running = submit(service, dataset, model=LONG_MODEL | {"max_depth": 5}, name="running")
    wait_for_progress(service, running["id"])
    before = {process.pid for process in service.processes("app.cli api")}
    with _filled(disk, 0):
        n_lines = len(service.log.read_text().splitlines())
        _refused(service, "POST", "/datasets?target=y&name=refused", b"x,y\n1,0\n2,1\n" * 10, CSV)
        _refused(service, "POST", "/train", INLINE)
        statuses = {service.request("POST", "/train", {"dataset_id": dataset["id"], "model": FOREST})[0]}
        for number in range(60):
            change = {"description": f"{number} " * 400}
            statuses.add(service.request("PATCH", f"/datasets/{dataset['id']}", change)[0])
        assert statuses <= {200, 202, 507}
        assert service.request("GET", "/healthz")[0] == 200
        assert len(service.log.read_text().splitlines()) - n_lines < 1000
    assert {process.pid for process in service.processes("app.cli api")} == before
    assert service.wait_for_job(running["id"])["state"] == "succeeded"
    new = submit(service, dataset, model=FOREST, name="afterwards")
    assert service.wait_for_job(new["id"])["state"] == "succeeded"


def test_the_service_starts_although_the_disk_is_nearly_full(service: RunningService, disk: Path) -> None:
    service.stop()
    with _filled(disk, MIN_FREE // 2):
        # It returns once the service is ready, after the space is free again.
        starter = threading.Thread(target=service.start)
        starter.start()
        wait_until(lambda: responds(f"{service.url}/healthz"), 120, "the API being started")
        assert service.request("GET", "/readyz")[0] == 503
    starter.join(60)
    assert service.request("GET", "/readyz")[0] == 200
