"""GET /metrics: figures of requests over all API processes, and of jobs over all workers."""

import math
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import func, select

from app.context import ServiceContext
from app.jobs import lease, state_machine
from app.jobs.figures import Figure, FigureName, add_up, count, sums
from app.jobs.service import JobService
from app.jobs.states import JobKind, JobState
from app.jobs.tables import JobFigureRow, JobRow
from app.main import create_app
from app.settings import Settings
from app.storage.database import reading, writing
from app.storage.orm import utc_now
from tests.app.trained_models.made import make_trained_model
from tests.factories import make_job, make_sweep

Samples = dict[tuple[str, tuple[str, ...]], float]


def _scraped(client: TestClient) -> Samples:
    client.app.state.metrics._read_at = -math.inf
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    families = text_string_to_metric_families(answer.text)
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.fixture
def clients(settings: Settings, broker_url: str, client: TestClient) -> Iterator[list[TestClient]]:
    """Yield clients of two API processes with one state folder, as far as metrics tell them apart."""
    broker = settings.broker.model_copy(update={"url": broker_url})
    second = create_app(settings.model_copy(update={"broker": broker}))
    with TestClient(second, base_url="http://localhost", raise_server_exceptions=False) as other:
        yield [client, other]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_requests_of_all_api_processes_are_counted(clients: list[TestClient]) -> None:
    table = {"file": ("t.csv", b"x,y\n" + b"".join(b"%d,%d\n" % (row, row % 2) for row in range(30)))}
    for client in clients:
        assert client.get("/jobs/3f0e8f7e-0000-4000-8000-000000000000?secret=1").status_code in (404, 422)
        assert client.get("/jobs").status_code == 200
        assert client.get("/no/such/route").status_code == 404
        assert client.request("BREW", "/jobs").status_code == 405
        assert client.post("/datasets", files=table, data={"target": "y"}).status_code in (200, 201)
        assert client.post("/datasets", files=table, data={"target": "absent"}).status_code == 422
    for client in clients:
        samples = _scraped(client)
        requests = {
            labels: value
            for (name, labels), value in samples.items()
            if name == "bristlecone_http_request_seconds_count"
        }
        assert requests["GET", "/jobs", "2xx"] == 2
        assert requests["GET", "none", "4xx"] == 2
        assert requests["other", "none", "4xx"] == 2
        assert requests["GET", "/jobs/{job_id}", "4xx"] == 2
        assert requests["POST", "/datasets", "2xx"] == requests["POST", "/datasets", "4xx"] == 2
        assert samples["bristlecone_http_request_seconds_bucket", ("+Inf", "GET", "/jobs", "2xx")] == 2
        assert samples["bristlecone_http_request_seconds_sum", ("GET", "/jobs", "2xx")] > 0
        assert samples["bristlecone_http_errors_total", ("not_found",)] == 2
        assert (
            samples["bristlecone_uploads_total", ("created",)] == samples["bristlecone_uploads_total", ("known",)] == 1
        )
        assert samples["bristlecone_uploads_total", ("refused",)] == 2
        assert samples["bristlecone_uploaded_bytes_total", ()] > 0
        assert samples["bristlecone_api_processes", ()] == 2
        assert samples["bristlecone_database_up", ()] == 1
        assert not [labels for _, labels in samples if "secret" in str(labels) or "/no/such" in str(labels)]


def test_counts_outlive_the_application(settings: Settings) -> None:
    for n_before in range(2):
        with TestClient(create_app(settings), base_url="http://localhost") as client:
            assert client.get("/jobs").status_code == 200
            samples = _scraped(client)
            assert samples["bristlecone_http_request_seconds_count", ("GET", "/jobs", "2xx")] == n_before + 1
            assert samples["bristlecone_api_processes", ()] == 1


def test_predictions_and_the_cache_are_counted(client: TestClient) -> None:
    context = client.app.state.context
    make_trained_model(context, name="credit-risk")
    rows = [{"age": 41, "job": "skilled"}] * 3
    for _ in range(2):
        answer = client.post("/predict", json={"model": "credit-risk", "rows": rows})
        assert answer.status_code == 200, answer.text
    samples = _scraped(client)
    assert samples["bristlecone_predicted_rows_total", ("credit-risk",)] == 6
    assert samples["bristlecone_model_cache_lookups_total", ("miss",)] == 1
    assert samples["bristlecone_model_cache_lookups_total", ("hit",)] == 1
    assert samples["bristlecone_model_cache_bytes", ()] > 0


class TestJobs:
    def test_are_counted_by_state_and_outcome(self, client: TestClient) -> None:
        context = client.app.state.context
        ended, lost, _ = (make_job(context) for _ in range(3))
        make_sweep(context, 2)
        settings = context.settings.jobs
        for job_id in (ended, lost):
            with writing(context.sessions) as session:
                claim = lease.claim(session, job_id, 60)
        with writing(context.sessions) as session:
            assert claim is not None
            state_machine.fail(session, ended, "broken", "it broke", fence=1)
            session.get_one(JobRow, lost).lease_expires_epoch = 1.0
        with writing(context.sessions) as session:
            lease.take_back(session, lost, settings.max_attempts, 0.0)
        _let_jobs_wait(context, seconds=1000)
        samples = _scraped(client)
        assert samples["bristlecone_jobs", ("train", "queued")] == 2
        assert samples["bristlecone_jobs", ("sweep_cell", "queued")] == 2
        assert samples["bristlecone_jobs_ended_total", ("train", "failed")] == 1
        assert samples["bristlecone_job_attempts_total", ("train", "started")] == 2
        assert samples["bristlecone_job_attempts_total", ("train", "lost")] == 1
        assert 1000 <= samples["bristlecone_oldest_queued_job_seconds", ()] < 2000
        client.delete(f"/jobs/{ended}")
        assert _scraped(client)["bristlecone_jobs_ended_total", ("train", "failed")] == 1

    def test_figures_are_added_up(self, context: ServiceContext) -> None:
        ended = Figure(FigureName.ENDED, JobKind.TRAIN, "failed")
        spent = Figure(FigureName.SECONDS, JobKind.AUDIT, "fitting")
        for _ in range(300):
            with writing(context.sessions) as session:
                count(session, {ended: 1, spent: 0.25})
        assert add_up(context.sessions) == 500
        with reading(context.sessions) as session:
            assert sums(session) == {ended: 300, spent: 75.0}
            assert session.scalar(select(func.count()).select_from(JobFigureRow)) == 102
        assert add_up(context.sessions) == 0


def _let_jobs_wait(context: ServiceContext, seconds: float) -> None:
    with writing(context.sessions) as session:
        for row in session.scalars(select(JobRow).where(JobRow.state == JobState.QUEUED)):
            row.created_at = utc_now() - timedelta(seconds=seconds)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_metrics_of_requests_are_there_without_the_database(client: TestClient, monkeypatch) -> None:
    monkeypatch.setattr(JobService, "figures", lambda _: (_ for _ in ()).throw(TimeoutError))
    client.get("/jobs")
    samples = _scraped(client)
    assert samples["bristlecone_database_up", ()] == 0
    assert samples["bristlecone_http_request_seconds_count", ("GET", "/jobs", "2xx")] == 1
    assert not [name for name, _ in samples if name.startswith("bristlecone_jobs")]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_disk_without_space_leaves_the_service_running(settings: Settings, tmp_path: Path, monkeypatch) -> None:
    settings.home.mkdir()
    settings.metrics_folder.write_text("not a folder")
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        client.get("/jobs")
        assert _scraped(client)["bristlecone_http_request_seconds_count", ("GET", "/jobs", "2xx")] == 1
