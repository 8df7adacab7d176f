"""Large requests, lost messages and killed uploads on a running service: nobody else waits, and nothing is lost."""

import signal
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import redis

from tests.end_to_end.conftest import service_on
from tests.end_to_end.test_main_job import LONG_MODEL, submit, upload, wait_for_progress
from tests.service_process import RunningService, responds, send_signal, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    # One thread is enough to keep the worker busy.
    changes = {"BRISTLECONE_REPUBLISH_AFTER_SECONDS": "2", "BRISTLECONE_THREADS_PER_JOB": "1"}
    with service_on("sqlite", request, tmp_path_factory, **changes) as running:
        yield running


@pytest.fixture(scope="module")
def dataset(service: RunningService, table_csv: bytes) -> dict[str, Any]:
    return upload(service, table_csv)


def _wide_table(n_columns: int, n_rows: int) -> dict[str, list[Any]]:
    values = np.random.default_rng(0).random((n_columns, n_rows)).round(4)
    columns: dict[str, list[Any]] = {f"x{number}": column.tolist() for number, column in enumerate(values)}
    return columns | {"y": [row % 2 for row in range(n_rows)]}


def test_a_large_request_keeps_no_other_waiting(service: RunningService, dataset: dict[str, Any]) -> None:
    """Other requests are answered and leases of 4 s are renewed while 3 MB of inline data are read."""
    running = submit(service, dataset, model=LONG_MODEL | {"n_estimators": 9000}, evaluation={"kind": "none"})
    wait_for_progress(service, running["id"])
    inline = {"data": {"columns": _wide_table(4000, 90), "target": "y"}, "model": {"kind": "tree"}}
    answers: list[tuple[int, Any]] = []

    def send() -> None:
        answers.append(service.request("POST", "/train", inline, {"Idempotency-Key": "large"}))

    senders = [threading.Thread(target=send) for _ in range(2)]
    for sender in senders:
        sender.start()
    statuses, number = set(), 0
    while any(sender.is_alive() for sender in senders):
        number += 1
        statuses.add(service.request("PATCH", f"/datasets/{dataset['id']}", {"description": f"change {number}"})[0])
        time.sleep(0.1)  # more requests would take the processor from those that they test
    assert statuses == {200}
    assert [status for status, _ in answers] == [202, 202]
    assert len({job["id"] for _, job in answers}) == 1
    state = service.request("GET", f"/jobs/{running['id']}")[1]
    assert state["attempt"] == 1
    service.request("POST", f"/jobs/{running['id']}/cancel")
    assert service.wait_for_job(running["id"])["attempt"] == 1
    assert service.wait_for_job(answers[0][1]["id"])["state"] == "succeeded"


def test_lost_messages_are_found_under_steady_load(service: RunningService, dataset: dict[str, Any]) -> None:
    tree = {"kind": "forest", "n_estimators": 60}
    blocking = submit(service, dataset, model=LONG_MODEL)
    wait_for_progress(service, blocking["id"])
    lost = [submit(service, dataset, model=tree, seed=seed) for seed in range(8)]
    with redis.Redis(unix_socket_path=str(service.home / "run" / "redis.sock")) as broker:
        wait_until(lambda: broker.llen("bristlecone") >= 8, 30, "messages of the jobs being published")
        broker.flushall()
    service.request("POST", f"/jobs/{blocking['id']}/cancel")
    seeds = iter(range(100, 10_000))

    def all_lost_have_ended() -> bool:
        # There is always another job in the queue.
        if service.request("GET", "/jobs?state=queued&limit=50")[1]["items"][9:] == []:
            submit(service, dataset, model=tree, seed=next(seeds))
        return all(service.request("GET", f"/jobs/{job['id']}")[1]["state"] == "succeeded" for job in lost)

    wait_until(all_lost_have_ended, 180, "lost jobs succeeding")


def test_a_killed_upload_leaves_no_file(service: RunningService) -> None:
    head = (
        "POST /datasets?target=y&name=killed HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/csv\r\n"
        "Content-Length: 50000000\r\n\r\nx,y\n"
    )
    staging = service.home / "staging"
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(head.encode() + b"1,0\n" * 1_000_000)
        wait_until(lambda: any(path.suffix != ".lock" for path in staging.iterdir()), 30, "a staged file")
        for process in service.processes("app.cli api"):
            send_signal(process, signal.SIGKILL)
        wait_until(lambda: list(staging.iterdir()) == [], 120, "staged files being removed")
    wait_until(lambda: responds(f"{service.url}/healthz"), 60, "the API being restarted")
    assert service.request("GET", "/datasets?name=killed")[1]["items"] == []
