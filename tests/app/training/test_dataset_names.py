"""Data sets that requests name instead of giving their ids."""

import uuid

import pytest
from fastapi.testclient import TestClient

from tests.app.trained_models.made import make_trained_model
from tests.app.training.train_requests import TREE, refused
from tests.factories import make_dataset

NOISE = [{"kind": "uniform", "rate": 0.1}]


def body_of(path: str, reference: str) -> dict:
    if path == "/sweeps":
        return {"dataset_id": reference, "models": [TREE], "noise": NOISE}
    return {"dataset_id": reference, "model": TREE}


@pytest.mark.parametrize("path", ["/train", "/audits", "/sweeps"])
def test_the_newest_data_set_of_a_name_is_meant_when_the_job_is_queued(client: TestClient, path: str) -> None:
    context = client.app.state.context
    make_dataset(context, name="loans/2024 (é)")
    newest = make_dataset(context, name="loans/2024 (é)")
    job = client.post(path, json=body_of(path, "loans/2024 (é)")).json()
    assert job["request"]["dataset_id"] == str(newest)
    make_dataset(context, name="loans/2024 (é)")
    assert client.get(f"/jobs/{job['id']}").json()["request"]["dataset_id"] == str(newest)
    cells = client.get("/jobs", params={"kind": "sweep_cell"}).json()["items"]
    requests = [client.get(f"/jobs/{cell['id']}").json()["request"] for cell in cells]
    assert {request["dataset_id"] for request in requests} <= {str(newest)}


def test_the_data_set_to_score_on(client: TestClient) -> None:
    context = client.app.state.context
    make_dataset(context, name="train")
    test_id = make_dataset(context, name="test")
    body = {"dataset_id": "train", "model": TREE, "evaluation": {"kind": "dataset", "dataset_id": "test"}}
    job = client.post("/train", json=body).json()
    assert job["request"]["evaluation"] == {"kind": "dataset", "dataset_id": str(test_id)}
    assert client.delete(f"/datasets/{test_id}").status_code == 409
    body["evaluation"]["dataset_id"] = "nobody"
    assert refused(client, body, 404) == ("dataset_not_found", ["/evaluation/dataset_id"])


@pytest.mark.parametrize("path", ["/train", "/audits", "/sweeps"])
@pytest.mark.parametrize("reference", ["nobody", str(uuid.UUID(int=7)), "x" * 200])
def test_unknown_names(client: TestClient, path: str, reference: str) -> None:
    problem = client.post(path, json=body_of(path, reference)).json()
    assert (problem["code"], problem["errors"][0]["pointer"]) == ("dataset_not_found", "/dataset_id")


@pytest.mark.parametrize("reference", ["", "x" * 201, "a\0b", 3, [], True])
def test_what_is_not_a_name(client: TestClient, reference: object) -> None:
    assert refused(client, {"dataset_id": reference, "model": TREE}) == ("invalid_request", ["/dataset_id"])


def test_an_idempotency_key_stands_for_the_name(client: TestClient) -> None:
    context, headers = client.app.state.context, {"Idempotency-Key": "once"}
    make_dataset(context, name="loans")
    first = client.post("/train", json=body_of("/train", "loans"), headers=headers).json()["id"]
    make_dataset(context, name="loans")
    assert client.post("/train", json=body_of("/train", "loans"), headers=headers).json()["id"] == first


def test_routes_of_a_data_set_take_its_name(client: TestClient) -> None:
    context = client.app.state.context
    older, newest = (str(make_dataset(context, name="loans 2024")) for _ in range(2))
    assert client.get("/datasets/loans%202024").json()["id"] == newest
    assert client.patch("/datasets/loans%202024", json={"description": "new"}).json()["id"] == newest
    assert client.get(f"/datasets/{older}").json()["description"] is None
    assert client.delete("/datasets/loans%202024").status_code == 204
    assert client.get("/datasets/loans%202024").json()["id"] == older
    for path in ("", "/rows", "/profile"):
        problem = client.get(f"/datasets/nobody{path}").json()
        assert (problem["code"], problem["errors"][0]["pointer"]) == ("dataset_not_found", "path/dataset_id")


@pytest.mark.parametrize("path", ["/jobs", "/audits", "/sweeps"])
def test_lists_of_jobs_are_filtered_by_the_name(client: TestClient, path: str) -> None:
    context, submitted_to = client.app.state.context, {"/jobs": "/train"}.get(path, path)
    for name in ("loans", "cars", "loans"):
        newest = make_dataset(context, name=name)
        submitted = client.post(submitted_to, json=body_of(submitted_to, name)).json()
    listed = client.get(path, params={"dataset_id": "loans"}).json()
    assert (listed["total"], [item["id"] for item in listed["items"]]) == (1, [submitted["id"]])
    assert client.get(path, params={"dataset_id": str(newest)}).json() == listed
    check_unknown(client, path)


def test_models_are_filtered_by_the_name(client: TestClient) -> None:
    context = client.app.state.context
    loans = make_dataset(context, name="loans")
    model = make_trained_model(context, dataset_id=loans)
    make_trained_model(context, name="other")
    listed = client.get("/models", params={"dataset_id": "loans"}).json()["items"]
    assert [item["id"] for item in listed] == [str(model.id)]
    check_unknown(client, "/models")


def check_unknown(client: TestClient, path: str) -> None:
    problem = client.get(path, params={"dataset_id": "nobody"}).json()
    assert (problem["code"], problem["errors"][0]["pointer"]) == ("dataset_not_found", "query/dataset_id")
    # Jobs outlive their data sets, so an id that is unknown may be right.
    assert client.get(path, params={"dataset_id": str(uuid.uuid4())}).json()["items"] == []
    problem = client.get(path, params={"dataset_id": ""}).json()
    assert (problem["code"], problem["errors"][0]["pointer"]) == ("invalid_request", "query/dataset_id")
