"""Jobs whose worker, broker or API process is killed."""

import signal
from typing import Any

import pytest

from tests.end_to_end.conftest import on_one
from tests.end_to_end.test_main_job import LONG_MODEL, artifact, submit, trained_model, upload, wait_for_progress
from tests.service_process import RunningService, send_signal, wait_until

pytestmark = pytest.mark.slow

#: A fit of seconds, which each test interrupts as soon as it shows progress.
REQUEST = {"model": LONG_MODEL | {"n_estimators": 3000}, "evaluation": {"kind": "none"}, "seed": 5}


@pytest.fixture(scope="module")
def dataset(service: RunningService, table_csv: bytes) -> dict[str, Any]:
    return upload(service, table_csv)


@pytest.fixture(scope="module")
def uninterrupted(service: RunningService, dataset: dict[str, Any]) -> bytes:
    """Artifact of an uninterrupted job."""
    return artifact(service, trained_model(service, service.wait_for_job(submit(service, dataset, **REQUEST)["id"])))


def signal_workers(service: RunningService, number: signal.Signals) -> None:
    workers = service.processes("workers")
    assert workers
    for process in workers:
        send_signal(process, number)


# Jobs of killed and of terminated workers on both databases: tests/workers/test_stubborn_jobs.py. Killed workers on
# PostgreSQL: test_audits.py.
@on_one("sqlite")
def test_killed_worker_costs_one_attempt(
    service: RunningService, dataset: dict[str, Any], uninterrupted: bytes
) -> None:
    job = submit(service, dataset, **REQUEST)
    wait_for_progress(service, job["id"])
    signal_workers(service, signal.SIGKILL)
    finished = service.wait_for_job(job["id"])
    assert finished["attempt"] == 2
    assert artifact(service, trained_model(service, finished)) == uninterrupted


@on_one("sqlite")
def test_terminated_worker_returns_its_job_to_the_queue(
    service: RunningService, dataset: dict[str, Any], uninterrupted: bytes
) -> None:
    job = submit(service, dataset, **REQUEST)
    wait_for_progress(service, job["id"])
    parent = min(service.processes("workers"), key=lambda process: process.create_time())
    parent.terminate()
    finished = service.wait_for_job(job["id"])
    assert finished["attempt"] == 2
    assert artifact(service, trained_model(service, finished)) == uninterrupted


def test_job_is_accepted_and_run_after_the_broker_was_killed(service: RunningService, dataset: dict[str, Any]) -> None:
    redis = service.processes("redis-server")
    assert redis
    for process in redis:
        send_signal(process, signal.SIGKILL)
    job = submit(service, dataset, model={"kind": "tree"})
    assert service.wait_for_job(job["id"])["state"] == "succeeded"
    wait_until(lambda: service.request("GET", "/readyz")[0] == 200, 30, "readiness after the broker was killed")


def test_job_continues_when_the_api_is_killed(service: RunningService, dataset: dict[str, Any]) -> None:
    job = submit(service, dataset, **REQUEST)
    wait_for_progress(service, job["id"])
    for process in service.processes("app.cli api") or service.processes(" api"):
        send_signal(process, signal.SIGKILL)
    wait_until(lambda: _is_healthy(service), 60, "the API to restart")
    finished = service.wait_for_job(job["id"])
    assert (finished["state"], finished["attempt"]) == ("succeeded", 1)


def _is_healthy(service: RunningService) -> bool:
    try:
        return service.request("GET", "/healthz")[0] == 200
    except OSError:
        return False
