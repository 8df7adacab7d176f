"""Logs of a real service contain no cell and no label, not even after statements that failed."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from app.operations.loopback import open_loopback
from tests.end_to_end.test_main_job import upload
from tests.service_process import RunningService, wait_until

pytestmark = pytest.mark.slow

SECRET_CELL, SECRET_LABEL = "Doe-Jane-1957", "hidden-diagnosis"
TABLE = "\n".join(
    ["name,age,finding", *(f"{SECRET_CELL}-{row % 3},{row},{SECRET_LABEL}-{row % 2}" for row in range(60))]
).encode()


@contextmanager
def _broken_table(service: RunningService, on_sqlite: str, on_postgresql: str) -> Iterator[None]:
    """Break the table of data sets while the block runs. Each text has a statement and the one that undoes it."""
    url = service.environment.get("DATABASE_URL", f"sqlite:///{service.home / 'bristlecone.db'}")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    change, undo = (on_postgresql if "DATABASE_URL" in service.environment else on_sqlite).split(" -- ")
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(change)
        yield
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql(undo)
        engine.dispose()


def _logs(service: RunningService) -> str:
    files = [service.log, *(service.home / "logs").iterdir()]
    return "\n".join(file.read_text(errors="replace") for file in files)


FAULTS = {
    "constraint": (
        "CREATE TRIGGER refuse BEFORE INSERT ON datasets BEGIN SELECT RAISE(ABORT, 'refused'); END "
        "-- DROP TRIGGER refuse",
        "ALTER TABLE datasets ADD CONSTRAINT refused CHECK (n_rows < 0) NOT VALID "
        "-- ALTER TABLE datasets DROP CONSTRAINT refused",
    ),
    "missing table": (
        "ALTER TABLE datasets RENAME TO elsewhere -- ALTER TABLE elsewhere RENAME TO datasets",
        "ALTER TABLE datasets RENAME TO elsewhere -- ALTER TABLE elsewhere RENAME TO datasets",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_failing_statements_are_logged_without_row_data(service: RunningService, fault: str) -> None:
    n_before = len(service.log.read_text())
    with _broken_table(service, *FAULTS[fault]), pytest.raises(AssertionError, match=r"'status': 50[03]"):
        upload(service, TABLE, "finding")
    lines = service.log.read_text()[n_before:]
    assert "Traceback" in lines
    assert "INSERT INTO datasets" in lines or "FROM datasets" in lines
    logs = _logs(service)
    for secret in (SECRET_CELL, SECRET_LABEL):
        assert secret not in logs


def test_a_job_logs_no_label(service: RunningService) -> None:
    dataset = upload(service, TABLE, "finding")
    request = {"dataset_id": dataset["id"], "model": {"kind": "tree"}, "noise": {"inject": {"kind": "flip"}}}
    assert service.request("POST", "/train", request)[0] == 422
    request = {"name": "findings", "dataset_id": dataset["id"], "model": {"kind": "tree"}}
    status, job = service.request("POST", "/train", request, {"X-Request-Id": "request-of-the-job"})
    assert status == 202
    model_id = service.wait_for_job(job["id"])["model_id"]
    assert service.request("PUT", "/aliases/production", {"model_id": model_id})[0] == 201
    assert service.request("PATCH", "/models/by-name/findings", {"name": "renamed"})[0] == 200
    assert service.request("GET", f"/predict?model=@production&name={SECRET_CELL}&age=1")[0] == 422
    for path in ("/metrics", f"/jobs/{job['id']}/events", f"/models?name_contains={SECRET_LABEL}"):
        with open_loopback(service.url + path, timeout=60) as response:
            answer = response.read().decode()
            assert path == "/metrics" or "bristlecone_" not in answer
            assert SECRET_CELL not in answer
    logs = _logs(service)
    assert f"[job {job['id']} attempt 1 request request-of-the-job] succeeded" in logs
    assert "alias_moved actor=None name='production' from_model=None to_model='findings:1" in logs
    assert "models_renamed actor=None from_name='findings' to_name='renamed'" in logs
    for secret in (SECRET_CELL, SECRET_LABEL):
        assert secret not in logs


def test_metrics_of_workers_reach_every_api_process(service: RunningService) -> None:
    dataset = upload(service, TABLE, "finding")
    before = _metric(service, 'bristlecone_jobs_ended_total{kind="train",state="succeeded"}')
    status, job = service.request("POST", "/train", {"dataset_id": dataset["id"], "model": {"kind": "tree"}})
    assert status == 202
    service.wait_for_job(job["id"])
    assert _metric(service, 'bristlecone_jobs_ended_total{kind="train",state="succeeded"}', before + 1) == before + 1
    assert _metric(service, 'bristlecone_job_seconds_total{kind="train",phase="fitting"}') > 0


def _metric(service: RunningService, name: str, expected: float | None = None) -> float:
    """Return the value of a metric, 0 if it has none; wait for the expected one, because some are kept for seconds."""

    def value() -> float:
        with open_loopback(f"{service.url}/metrics", timeout=60) as response:
            lines = response.read().decode().splitlines()
        return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(name)), 0.0)

    if expected is not None:
        wait_until(lambda: value() == expected, 30, f"{name} being {expected:g}")
    return value()
