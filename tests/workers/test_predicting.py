"""Predictions in the background: from the request to the result, which is the answer of POST /predict."""

import json
import uuid
from dataclasses import replace
from threading import Thread
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.context import ServiceContext
from app.jobs import lease, state_machine
from app.jobs.service import JobService
from app.jobs.states import JobState
from app.predictions.results import remove_unreferenced
from app.predictions.specs import PredictSpec
from app.predictions.submission import PredictionSubmission
from app.predictions.tables import PredictionRow
from app.storage.database import reading, writing
from app.trained_models.errors import ModelInUse, ModelNotFound
from app.trained_models.records import TrainedModelRecord
from app.trained_models.service import delete_model
from tests.app.trained_models.made import make_trained_model
from tests.factories import job, make_job, store_columns
from tests.job_attempts import attempt_job
from tests.stored_files import remove
from workers.predicting import predict

CSV = "age,job\n" + "41,skilled\n,unskilled\n7.5,\n" * 40
ASYNC = {"Prefer": "respond-async, wait=10"}
KEY = {"Idempotency-Key": "a"}
TABLE = {"Content-Type": "text/csv"}


def queued(client: TestClient, **headers: str) -> Any:
    answer = client.post("/predict?model=credit-risk", content=CSV, headers={**TABLE, **ASYNC, **headers})
    assert (answer.status_code, answer.headers.get("Preference-Applied")) == (202, "respond-async"), answer.text
    return answer.json()


def run(client: TestClient, made: Any) -> Any:
    attempt_job(client.app.state.context, uuid.UUID(made["id"]), predict)
    return client.get(f"/jobs/{made['id']}").json()


def test_the_result_is_the_answer(client: TestClient) -> None:
    context = client.app.state.context
    make_trained_model(context)
    made = queued(client, **KEY)
    assert (made["kind"], made["state"], made["request"]["n_rows"]) == ("predict", "queued", 120)
    early = client.get(f"/jobs/{made['id']}/result")
    assert (early.status_code, early.json()["code"]) == (409, "prediction_not_finished")
    ended = run(client, made)
    assert (ended["state"], ended["progress"]["fraction"]) == ("succeeded", 1.0), ended
    assert ended["result"] == {"href": f"/jobs/{made['id']}/result"}
    for accept in ("application/json", "text/csv", "application/x-ndjson"):
        result = client.get(ended["result"]["href"], headers={"Accept": accept})
        now = client.post("/predict?model=credit-risk", content=CSV, headers={**TABLE, "Accept": accept})
        assert result.text == now.text
        assert result.headers["X-Model-Id"] == now.headers["X-Model-Id"]
    events = [json.loads(line[5:]) for line in _lines(client, made) if line.startswith("data:")]
    states = [event["state"] for event in events if "state" in event]
    assert (states[0], states[-1]) == ("queued", "succeeded")
    with reading(context.sessions) as session:
        assert session.get_one(PredictionRow, uuid.UUID(made["id"])).rows_sha256 is None
    assert client.delete(f"/jobs/{made['id']}").status_code == 204
    assert remove_unreferenced(context.sessions, context.rows_store, context.prediction_store, -1) == 1
    assert client.get(ended["result"]["href"]).json()["code"] == "job_not_found"


def _lines(client: TestClient, made: Any) -> list[str]:
    return client.get(f"/jobs/{made['id']}/events").text.splitlines()


def test_a_repeated_request_is_answered_before_its_body_is_read(client: TestClient) -> None:
    context = client.app.state.context
    model = make_trained_model(context)
    made = queued(client, **KEY)
    client.post(f"/jobs/{made['id']}/cancel")
    assert client.delete(f"/models/{model.id}").status_code == 204
    remove(context.rows_store, made["request"]["rows_sha256"])
    assert queued(client, **KEY)["id"] == made["id"]
    assert client.post("/predict?model=credit-risk", content=CSV, headers={**TABLE, **ASYNC}).status_code == 404


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_key_stands_for_one_request_of_one_route(client: TestClient) -> None:
    make_trained_model(client.app.state.context)
    made = queued(client, **KEY)
    training = {"data": {"columns": {"x": [1, 2] * 10, "y": ["a", "b"] * 10}, "target": "y"}, "model": {"kind": "tree"}}
    expected = client.post("/train", json=training, headers=KEY).json()
    assert (expected["status"], expected["code"]) == (422, "idempotency_key_reused")
    expected.pop("request_id", None)
    for query, content, media_type in [
        ("model=credit-risk&output=labels", CSV, "text/csv"),
        ("model=credit-risk", CSV, "text/csv; charset=latin-1"),
        ("model=credit-risk", CSV, "text/tab-separated-values"),
        ("model=credit-risk", CSV + "1,skilled\n", "text/csv"),
        ("model=nobody", "", "text/csv"),
        ("", "{", "application/json"),
        ("", " " * 70_000 + "{", "application/json"),
    ]:
        answer = client.post(f"/predict?{query}", content=content, headers={**ASYNC, **KEY, "Content-Type": media_type})
        assert expected.items() <= answer.json().items(), (query, answer.text)
    assert [item["id"] for item in client.get("/jobs").json()["items"]] == [made["id"]]


@pytest.mark.parametrize("claim", [False, True])
def test_a_model_stays_while_a_job_needs_it(client: TestClient, claim: bool) -> None:
    context = client.app.state.context
    make_trained_model(context)
    client.put("/aliases/scoring", json={"model_id": "credit-risk"})
    made = queued(client)
    if claim:
        with writing(context.sessions) as session:
            assert lease.claim(session, uuid.UUID(made["id"]), lease_seconds=600.0)
    both = client.delete("/models/@scoring").json()
    assert "'scoring'" in both["detail"]
    assert made["id"] in both["detail"]
    # The job refers to the version, so that its name and its aliases can change.
    assert client.delete("/aliases/scoring").status_code == 204
    assert client.patch("/models/by-name/credit-risk", json={"name": "risk"}).status_code == 200
    for reference in ("risk", "risk:1", made["request"]["model_id"]):
        refused = client.delete(f"/models/{reference}")
        assert (refused.status_code, refused.json()["code"]) == (409, "model_in_use")
        assert f"jobs that have not ended ('{made['id']}') need risk:1; cancel them" in refused.json()["detail"]
    assert client.delete(f"/jobs/{made['id']}").json()["code"] == "job_not_finished"
    client.post(f"/jobs/{made['id']}/cancel")
    if claim:
        assert client.delete("/models/risk").status_code == 409
        with writing(context.sessions) as session:
            assert state_machine.enter(session, uuid.UUID(made["id"]), JobState.CANCELLED, fence=1)
    assert client.delete("/models/risk").status_code == 204


def submission_of(context: ServiceContext, model: TrainedModelRecord) -> PredictionSubmission:
    """Return a job whose rows were read; there is no file with them."""
    spec = PredictSpec(model="credit-risk", model_id=model.id, rows_sha256="0" * 64, n_rows=1)
    return PredictionSubmission(spec, {"body": ""}, model.dataset_id, None, 1, 4, context.settings.limits)


def test_a_model_that_is_deleted_while_rows_are_read(context: ServiceContext) -> None:
    model = make_trained_model(context)
    with submission_of(context, model).prepare() as store_inputs:
        delete_model(context.sessions, context.artifact_store, str(model.id))
        with pytest.raises(ModelNotFound), writing(context.sessions) as session, store_inputs(session):
            pass


def test_a_deletion_waits_for_a_job_that_is_being_queued(context: ServiceContext) -> None:
    model = make_trained_model(context)
    errors: list[Exception] = []

    def delete() -> None:
        try:
            delete_model(context.sessions, context.artifact_store, str(model.id))
        except ModelInUse as error:
            errors.append(error)

    deletion = Thread(target=delete)
    submission = submission_of(context, model)
    with submission.prepare() as store, writing(context.sessions) as session, store(session) as new:
        deletion.start()
        deletion.join(0.5)
        job_id = JobService(session, context.settings.limits).queue(new, "0" * 64).job.id
    deletion.join(30)
    assert [str(job_id) in str(error) for error in errors] == [True]


def test_a_data_set(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    context = client.app.state.context
    make_trained_model(context)
    columns = {"job": ["skilled", "pilot", None, "unskilled"] * 5, "age": [1, 2, None, 4] * 5, "y": ["a", "b"] * 10}
    dataset = store_columns(context, columns, name="scored")
    body = {"model": "credit-risk", "dataset_id": "scored", "output": "labels", "on_unknown": "missing"}
    made = client.post("/predict", json=body, headers=ASYNC).json()
    assert made["request"]["dataset_id"] == str(dataset.id)
    assert client.delete(f"/datasets/{dataset.id}").json()["code"] == "dataset_in_use"
    run(client, made)
    assert client.get(f"/jobs/{made['id']}/result").json() == client.post("/predict", json=body).json()
    refused = client.post("/predict", json={**body, "on_unknown": "error"}, headers=ASYNC)
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_category")
    assert [error["pointer"] for error in refused.json()["errors"]] == [f"/columns/job/{i}" for i in range(1, 20, 4)]


def test_faults_of_later_rows_of_a_data_set(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    """Only its first rows are checked before the job is queued."""
    context = client.app.state.context
    make_trained_model(context)
    jobs = ["skilled"] * 70_000 + ["pilot", "unskilled"] * 2
    store_columns(context, {"job": jobs, "age": [41] * len(jobs), "y": ["a", "b"] * (len(jobs) // 2)}, name="long")
    made = client.post("/predict", json={"model": "credit-risk", "dataset_id": "long"}, headers=ASYNC).json()
    failed = run(client, made)
    assert (failed["state"], failed["error"]["code"]) == ("failed", "unknown_category")
    assert failed["error"]["message"].startswith("/columns/job/70000: the category 'pilot'")
    assert "; /columns/job/70002: the category 'pilot'" in failed["error"]["message"]
    assert not [record for record in caplog.records if record.exc_info], "the user is at fault"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("limit", "code"),
    [({"max_answer_cells": 100}, "too_many_cells"), ({"max_decoded_bytes": 5_000}, "answer_too_large")],
)
def test_limits_of_answers_are_not_limits_of_results(client: TestClient, limit: dict[str, int], code: str) -> None:
    context = client.app.state.context
    make_trained_model(context)
    ended = run(client, queued(client))
    expected = client.get(ended["result"]["href"]).json()
    limits = context.settings.limits.model_copy(update=limit)
    settings = context.settings.model_copy(update={"limits": limits})
    client.app.state.context = replace(context, settings=settings)
    columns = {"age": [1] * 120, "job": ["skilled"] * 120}
    assert client.post("/predict", json={"model": "credit-risk", "columns": columns}).json()["code"] == code
    assert client.get(ended["result"]["href"]).json() == expected
    assert len(expected["predictions"]) == 120


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_rows_are_checked_before_the_job_is_queued(client: TestClient) -> None:
    context = client.app.state.context
    make_trained_model(context)
    refused = client.post("/predict?model=credit-risk", content="age,job\nold,\n", headers={**TABLE, **ASYNC})
    assert refused.json()["code"] == "not_a_number"
    assert client.get("/jobs").json()["total"] == 0
    assert not list(context.settings.staging_folder.iterdir())
    assert not list(context.settings.rows_folder.iterdir())
    other = client.get(f"/jobs/{make_job(context)}/result")
    assert (other.status_code, other.json()["code"]) == (404, "prediction_not_found")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_worker_without_the_file_leaves_the_job_to_another(client: TestClient) -> None:
    context = client.app.state.context
    make_trained_model(context)
    made = queued(client)
    remove(context.rows_store, made["request"]["rows_sha256"])
    run(client, made)
    row = job(context, uuid.UUID(made["id"]))
    assert (row.state, row.progress["phase"]) == (JobState.QUEUED, "waiting for a worker that has its file")
