"""Answers made of large rows: complete, sent in pieces, and bounded in memory and disk space."""

import json
import uuid

import pytest
from fastapi.testclient import TestClient

from app.audits.tables import AuditRow
from app.datasets.schemas import Dataset
from app.datasets.service import DatasetService, dataset_named_at
from app.http.large_answers import SMALL_BYTES, LargeAnswers
from app.http.memory_budget import MemoryBudget
from app.jobs.service import JobService
from app.jobs.states import JobKind, JobState
from app.jobs.submission import NewChild, NewJob
from app.jobs.tables import JobRow
from app.storage.database import reading, writing
from app.sweeps.tables import SweepCellRow
from tests.app.trained_models.made import make_trained_model
from tests.factories import FEATURES, make_dataset, make_job, queued

MATRIX = [[1 / (1 + row + column) for column in range(150)] for row in range(150)]
REQUEST = {"name": "é 💡 \\u0001", "noise": {"inject": {"kind": "matrix", "transition": MATRIX}}}
CATEGORIES = [f"{code:03}" + "é" * 200 for code in range(1_000)]
LARGE = [FEATURES[0], {**FEATURES[1], "kind": "categorical", "categories": CATEGORIES}]


@pytest.fixture
def context(client: TestClient):
    return client.app.state.context


@pytest.fixture
def large(client: TestClient) -> LargeAnswers:
    return client.app.state.large_answers


def make_large_sweep(context) -> uuid.UUID:
    dataset_id = make_dataset(context)
    cell = {"model": {"kind": "tree"}, "noise": REQUEST["noise"]["inject"]}
    children = [NewChild(JobKind.SWEEP_CELL, {**cell, "seed": seed}) for seed in range(2)]
    grid = {"repeats": 1, "test_fraction": 0.2, "seed": 0}
    with writing(context.sessions) as session:
        new = NewJob(JobKind.SWEEP, grid, [dataset_id], children)
        sweep = queued(JobService(session, context.settings.limits), new)
        session.add_all(SweepCellRow(job_id=child.id, position=n) for n, child in enumerate(sweep.children))
    return sweep.job.id


def make_large_audit(context) -> uuid.UUID:
    job_id = make_job(context, kind=JobKind.AUDIT)
    n = len(MATRIX)
    counts = {"given": 1, "issues": 0, "share": 0.5, "share_error": None}
    names = ("n_wrong", "n_judged", "noise_rate")
    report = {
        **dict.fromkeys(names, 0),
        "n_wrong_error": None,
        "noise_rate_error": None,
        "classes": [{"label": label, **counts} for label in range(n)],
        "transition": MATRIX,
        "transition_error": MATRIX,
        "confused": [],
        "method": "folds",
    }
    with writing(context.sessions) as session:
        session.get_one(JobRow, job_id).state = JobState.SUCCEEDED
        values = {"n_rows": n, "n_issues": 0, "report": report, "issues_sha256": "0" * 64}
        session.add(AuditRow(job_id=job_id, classes=list(range(n)), **values))
    return job_id


def large_paths(context) -> dict[str, str]:
    """Return the path of a large answer of each kind."""
    metrics = {"test": {"accuracy": 0.5, "confusion": MATRIX}}
    return {
        "job": f"/jobs/{make_job(context, request=REQUEST)}",
        "data set": f"/datasets/{make_dataset(context, features=LARGE)}",
        "model": f"/models/{make_trained_model(context, metrics=metrics).id}",
        "sweep": f"/sweeps/{make_large_sweep(context)}",
        "audit": f"/audits/{make_large_audit(context)}",
    }


def parts(path: str, document: dict):
    """Return the large value of an answer, and what it was made from."""
    if path == "job":
        return document["request"], REQUEST
    if path == "data set":
        return document["features"][1]["categories"], CATEGORIES
    if path == "model":
        return document["metrics"]["test"]["confusion"], MATRIX
    if path == "sweep":
        return [cell["noise"]["transition"] for cell in document["cells"]], [MATRIX] * 4
    return document["transition"], MATRIX


def test_they_are_complete_and_sent_from_files(client, context, large):
    for name, path in large_paths(context).items():
        answer = client.get(path, headers={"Accept-Encoding": "identity"})
        assert answer.status_code == 200, answer.text
        assert len(answer.content) > SMALL_BYTES
        assert int(answer.headers["content-length"]) == len(answer.content), name
        shown, stored = parts(name, answer.json())
        assert shown == stored, name
    for budget in (large.memory, large.disk):
        assert budget._free_bytes == budget.capacity_bytes


def test_they_share_memory_and_small_ones_need_none(client, context, large):
    paths = large_paths(context)
    small = f"/jobs/{make_job(context)}"
    large.memory = MemoryBudget(1_000, wait_seconds=0.01)
    large.memory._free_bytes = 0
    for path in [*paths.values(), f"{paths['data set']}/rows", f"{paths['data set']}/profile"]:
        refused = client.get(path)
        assert (refused.status_code, refused.json()["code"]) == (503, "memory_busy"), path
        assert refused.headers["retry-after"]
    unchanged = client.patch(paths["data set"], json={"name": "renamed"})
    assert (unchanged.status_code, unchanged.json()["code"]) == (503, "memory_busy")
    assert "renamed" not in client.get("/datasets").text
    assert client.get(small).status_code == 200
    assert client.get(f"/jobs/{uuid.uuid4()}").status_code == 404
    large.memory._free_bytes = 1_000
    assert client.get(paths["job"]).status_code == 200


def test_they_share_disk_space(client, context, large):
    path = f"/jobs/{make_job(context, request=REQUEST)}"
    large.disk = MemoryBudget(1_000, wait_seconds=0.01)
    large.disk._free_bytes = 0
    assert client.get(path).json()["code"] == "memory_busy"
    assert large.memory._free_bytes == large.memory.capacity_bytes
    large.disk._free_bytes = 1_000
    assert client.get(path).status_code == 200
    assert large.disk._free_bytes == 1_000


def test_they_equal_what_the_schema_makes_of_the_record(client, context):
    dataset_id = make_dataset(context, features=LARGE)
    with reading(context.sessions) as session:
        record = DatasetService(session, context.dataset_store).get(dataset_id)
    expected = json.loads(Dataset.model_validate(record).model_dump_json())
    assert client.get(f"/datasets/{dataset_id}").json() == expected
    renamed = client.patch(f"/datasets/{dataset_id}", json={"name": "renamed"})
    assert renamed.json() == {**expected, "name": "renamed"}


def test_cancelled_jobs_are_shown_whole(client, context):
    job_id = make_job(context, request=REQUEST)
    answer = client.post(f"/jobs/{job_id}/cancel")
    assert answer.status_code == 202
    assert (answer.json()["state"], answer.json()["request"]) == ("cancelled", REQUEST)


def test_compressed_answers_are_the_same(client, context):
    path = f"/jobs/{make_job(context, request=REQUEST)}"
    plain = client.get(path, headers={"Accept-Encoding": "identity"})
    compressed = client.get(path, headers={"Accept-Encoding": "gzip"})
    assert compressed.headers["content-encoding"] == "gzip"
    assert compressed.json() == plain.json()


def test_the_database_counts_the_bytes_of_its_text(client, context):
    job_id = make_job(context, request=REQUEST)
    with reading(context.sessions) as session:
        jobs = JobService(session, context.settings.limits)
        text = jobs.request_text(job_id)
        assert json.loads(text) == REQUEST
        assert jobs.stored_bytes(job_id) == len(text.encode()) + len("{}")
        assert jobs.stored_bytes(uuid.uuid4()) == 0


def test_requests_for_jobs_read_no_categories(client, context):
    dataset_id = make_dataset(context, features=LARGE)
    dataset = dataset_named_at(context.sessions, "/dataset_id", dataset_id)
    expected = [{key: value for key, value in feature.items() if key != "categories"} for feature in LARGE]
    assert dataset.features == expected
    empty = make_dataset(context, features=[])
    assert dataset_named_at(context.sessions, "/dataset_id", empty).features == []
