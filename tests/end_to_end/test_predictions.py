"""Predictions in the background: results larger than an answer may be, cancelled jobs, and a killed worker."""

import io
import signal
import urllib.request
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest

from app.operations.loopback import open_loopback
from tests.end_to_end.conftest import service_on
from tests.end_to_end.test_main_job import submit as train
from tests.end_to_end.test_main_job import trained_model, upload
from tests.end_to_end.test_survival import signal_workers
from tests.service_process import RunningService, wait_until

pytestmark = pytest.mark.slow

#: 240,000 rows with 7 features and 3 classes, which a worker predicts in three parts, each in about a second.
N_COPIES = 80
FOREST = {"kind": "forest", "n_estimators": 200}
TABLE = {"Content-Type": "text/csv"}


@pytest.fixture(scope="module")
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with service_on("sqlite", request, tmp_path_factory, BRISTLECONE_MAX_ANSWER_CELLS="1000") as running:
        yield running


@pytest.fixture(scope="module")
def rows(table_csv: bytes) -> bytes:
    header, *lines = table_csv.splitlines()
    return b"\n".join([header, *lines * N_COPIES])


@pytest.fixture(scope="module")
def model(service: RunningService, table_csv: bytes) -> dict[str, Any]:
    job = train(service, upload(service, table_csv), name="scorer", model=FOREST, evaluation={"kind": "none"})
    return trained_model(service, service.wait_for_job(job["id"]))


@pytest.fixture(scope="module")
def undisturbed(service: RunningService, model: dict[str, Any], rows: bytes) -> bytes:
    """Result of a job that ran without interruption."""
    return result(service, service.wait_for_job(submit(service, rows), 300))


def submit(service: RunningService, rows: bytes) -> str:
    status, job = service.request("POST", "/predict?model=scorer", rows, {**TABLE, "Prefer": "respond-async"})
    assert status == 202, job
    return job["id"]


def result(service: RunningService, job: dict[str, Any]) -> bytes:
    assert job["state"] == "succeeded", job
    headers = {"Accept": "application/vnd.apache.parquet"}
    with open_loopback(urllib.request.Request(service.url + job["result"]["href"], headers=headers)) as response:
        return response.read()


def wait_for_a_part(service: RunningService, job_id: str) -> None:
    """Wait until a part of the rows, and not all of them, has been predicted."""

    def has_begun() -> bool:
        job = service.request("GET", f"/jobs/{job_id}")[1]
        assert job["state"] in ("queued", "running"), job
        return job["progress"]["phase"] == "predicting" and job["progress"]["completed"] > 0

    wait_until(has_begun, 60, f"a part of job {job_id}", longest_pause=0.05)


def test_a_result_may_be_larger_than_an_answer(
    service: RunningService, rows: bytes, table_csv: bytes, undisturbed: bytes
) -> None:
    status, problem = service.request("POST", "/predict?model=scorer", rows, TABLE)
    assert (status, problem["code"]) == (413, "too_many_cells")
    labels = pq.read_table(io.BytesIO(undisturbed)).column("label").to_pylist()
    few = b"\n".join(table_csv.splitlines()[:51])
    answer = service.request("POST", "/predict?model=scorer", few, TABLE)[1]
    assert [prediction["label"] for prediction in answer["predictions"]] == labels[:50]
    assert labels == labels[:3_000] * N_COPIES


def test_a_killed_worker_does_not_change_the_result(service: RunningService, rows: bytes, undisturbed: bytes) -> None:
    job_id = submit(service, rows)
    wait_for_a_part(service, job_id)
    signal_workers(service, signal.SIGKILL)
    finished = service.wait_for_job(job_id, 300)
    assert finished["attempt"] == 2
    assert result(service, finished) == undisturbed


def test_running_and_queued_jobs_can_be_cancelled(service: RunningService, model: dict[str, Any], rows: bytes) -> None:
    running, queued = submit(service, rows), submit(service, rows)
    wait_for_a_part(service, running)
    status, job = service.request("POST", f"/jobs/{queued}/cancel")
    assert (status, job["state"]) == (202, "cancelled")
    status, job = service.request("POST", f"/jobs/{running}/cancel")
    assert status == 202
    assert job["state"] in ("cancelling", "cancelled")
    assert service.wait_for_job(running, 30)["state"] == "cancelled"
    for job_id in (running, queued):
        status, problem = service.request("GET", f"/jobs/{job_id}/result")
        assert (status, problem["code"]) == (409, "prediction_not_finished")
    # Both have the same rows.
    folder = service.home / "rows"
    assert len(list(folder.iterdir())) == 1
    service.request("DELETE", f"/jobs/{queued}")
    assert len(list(folder.iterdir())) == 1
    service.request("DELETE", f"/jobs/{running}")
    assert not list(folder.iterdir())
