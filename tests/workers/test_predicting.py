"""Predictions in the background: from the request to the result, which is the answer of POST /predict."""

import json
import uuid
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.jobs.states import JobState
from app.predictions.results import remove_unreferenced
from app.predictions.tables import PredictionRow
from app.storage.database import reading
from tests.app.trained_models.made import make_trained_model
from tests.factories import job, make_job, store_columns
from tests.job_attempts import attempt_job
from tests.stored_files import remove
from workers.predicting import predict

CSV = "age,job\n" + "41,skilled\n,unskilled\n7.5,\n" * 40
ASYNC = {"Prefer": "respond-async, wait=10"}
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
    made = queued(client, **{"Idempotency-Key": "a"})
    assert (made["kind"], made["state"], made["request"]["n_rows"]) == ("predict", "queued", 120)
    assert queued(client, **{"Idempotency-Key": "a"})["id"] == made["id"]
    headers = {**TABLE, **ASYNC, "Idempotency-Key": "a"}
    other = client.post("/predict?model=credit-risk&output=labels", content=CSV, headers=headers)
    assert other.json()["code"] == "idempotency_key_reused"
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
    assert remove_unreferenced(context.sessions, context.rows_store, context.prediction_store, -1) == 2
    assert client.get(ended["result"]["href"]).json()["code"] == "job_not_found"


def _lines(client: TestClient, made: Any) -> list[str]:
    return client.get(f"/jobs/{made['id']}/events").text.splitlines()


def test_a_data_set(client: TestClient) -> None:
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
    refused = client.post("/predict", json={**body, "on_unknown": "error"}, headers=ASYNC).json()
    failed = run(client, refused)
    assert (failed["state"], failed["error"]["code"]) == ("failed", "unknown_category")


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
