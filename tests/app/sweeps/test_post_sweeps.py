"""POST /sweeps: accepted and refused requests, and the pointers of the errors."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.sweeps.specs import MAX_CELLS
from tests.app.training.train_requests import wide_dataset
from tests.factories import make_dataset

TREES = [{"kind": "tree"}, {"kind": "tree", "loss": {"kind": "ne", "lambda": 0.25}}]
NOISE = [{"kind": "uniform", "rate": 0.0}, {"kind": "one_sided", "class": 1, "rate": 0.2}]


CLASS_CONDITIONAL = {"kind": "class_conditional"}


def body(dataset_id: str, /, **fields: Any) -> dict[str, Any]:
    return {"dataset_id": dataset_id, "models": TREES, "noise": NOISE} | fields


def limit_queued_jobs(client: TestClient, limit: int) -> None:
    context = client.app.state.context
    limits = context.settings.limits.model_copy(update={"max_queued_jobs": limit})
    object.__setattr__(context, "settings", context.settings.model_copy(update={"limits": limits}))


def n_jobs(client: TestClient) -> int:
    return len(client.get("/jobs").json()["items"]) + len(client.get("/jobs?kind=sweep_cell").json()["items"])


def refused(client: TestClient, request: dict[str, Any], status: int = 422) -> tuple[str, list[str]]:
    response = client.post("/sweeps", json=request)
    assert response.status_code == status, response.text
    assert n_jobs(client) == 0
    problem = response.json()
    return problem["code"], [error["pointer"] for error in problem["errors"]]


class TestAccepted:
    def test_returns_a_queued_job(self, client: TestClient, dataset_id: str) -> None:
        response = client.post("/sweeps", json=body(dataset_id))
        job = response.json()
        assert (response.status_code, job["kind"], job["attempt"]) == (202, "sweep", 0)
        assert response.headers["Location"] == f"/jobs/{job['id']}"
        assert client.get(f"/jobs/{job['id']}").json()["id"] == job["id"]

    def test_models_may_be_given_by_their_kinds(self, client: TestClient, dataset_id: str) -> None:
        request = client.post("/sweeps", json=body(dataset_id, models=["tree", "forest"])).json()["request"]
        assert [model["kind"] for model in request["models"]] == ["tree", "forest"]

    def test_fills_in_the_defaults(self, client: TestClient, dataset_id: str) -> None:
        request = client.post("/sweeps", json=body(dataset_id)).json()["request"]
        assert {key: request[key] for key in ("repeats", "test_fraction", "seed")} == {
            "repeats": 5,
            "test_fraction": 0.2,
            "seed": 0,
        }
        assert [model["loss"] for model in request["models"]] == [{"kind": "gini"}, {"kind": "ne", "lambda": 0.25}]
        assert request["noise"] == NOISE

    def test_every_model_under_every_noise_is_a_job(self, client: TestClient, dataset_id: str) -> None:
        sweep = client.post("/sweeps", json=body(dataset_id, repeats=2, seed=3, test_fraction=0.5)).json()
        cells = client.get(f"/jobs?parent_id={sweep['id']}&sort=created_at").json()["items"]
        cells = [client.get(f"/jobs/{cell['id']}").json() for cell in cells]
        assert {(cell["kind"], cell["parent_id"]) for cell in cells} == {("sweep_cell", sweep["id"])}
        grid = [(cell["request"]["model"]["loss"]["kind"], cell["request"]["noise"]) for cell in cells]
        assert grid == [("gini", NOISE[0]), ("gini", NOISE[1]), ("ne", NOISE[0]), ("ne", NOISE[1])]
        for cell in cells:
            assert [cell["request"][key] for key in ("repeats", "seed", "test_fraction")] == [2, 3, 0.5]

    def test_lists_show_cells_only_on_request(self, client: TestClient, dataset_id: str) -> None:
        sweep = client.post("/sweeps", json=body(dataset_id)).json()
        assert [job["id"] for job in client.get("/jobs").json()["items"]] == [sweep["id"]]
        assert len(client.get("/jobs?kind=sweep_cell").json()["items"]) == 4
        assert client.get(f"/jobs?parent_id={uuid.uuid4()}").json()["items"] == []
        assert client.get("/jobs?parent_id=none").json()["errors"][0]["pointer"] == "query/parent_id"

    def test_its_data_set_cannot_be_deleted(self, client: TestClient, dataset_id: str) -> None:
        sweep = client.post("/sweeps", json=body(dataset_id)).json()
        response = client.delete(f"/datasets/{dataset_id}")
        assert (response.status_code, response.json()["code"]) == (409, "dataset_in_use")
        assert client.post(f"/jobs/{sweep['id']}/cancel").json()["state"] == "cancelled"
        assert client.delete(f"/datasets/{dataset_id}").status_code == 204


class TestRefused:
    @pytest.mark.parametrize(
        ("fields", "pointers"),
        [
            ({"models": []}, ["/models"]),
            ({"noise": []}, ["/noise"]),
            ({"models": [{"kind": "tree"}, {"kind": "forest", "n_estimators": 0}]}, ["/models/1/n_estimators"]),
            ({"models": [{"kind": "tree"}, {"kind": "tree", "loss": "hinge"}]}, ["/models/1/loss"]),
            ({"models": [{"kind": "tree", "correction": {}}]}, ["/models/0/correction"]),
            ({"noise": [{"kind": "uniform", "rate": 0.1}, {"kind": "fog"}]}, ["/noise/1"]),
            ({"noise": [{"kind": "uniform", "rate": 1.5}]}, ["/noise/0/rate"]),
            ({"noise": [None]}, ["/noise/0"]),
            ({"repeats": 0}, ["/repeats"]),
            ({"repeats": 101}, ["/repeats"]),
            ({"repeats": "5"}, ["/repeats"]),
            ({"test_fraction": 0}, ["/test_fraction"]),
            ({"test_fraction": 1}, ["/test_fraction"]),
            ({"seed": -1}, ["/seed"]),
            ({"seed": 2**53}, ["/seed"]),
            ({"folds": 5}, ["/folds"]),
            ({"dataset_id": 17}, ["/dataset_id"]),
        ],
        ids=str,
    )
    def test_malformed(self, client: TestClient, dataset_id: str, fields: Any, pointers: list[str]) -> None:
        assert refused(client, body(dataset_id, **fields)) == ("invalid_request", pointers)

    @pytest.mark.parametrize(
        ("models", "pointers"),
        [
            ([{"kind": "tree"}, {"kind": "forest", "n_estimators": 10_001}], ["/models/1/n_estimators"]),
            ([{"kind": "tree", "class_weight": {"maybe": 2.0}}], ["/models/0/class_weight/maybe"]),
            (
                [{"kind": "tree", "class_weight": {"0": 0, "1": 0}}, {"kind": "rmboost", "class_weight": {"0": 0}}],
                ["/models/0/class_weight", "/models/1/class_weight"],
            ),
        ],
        ids=str,
    )
    def test_incompatible_models(self, client: TestClient, dataset_id: str, models: Any, pointers: list[str]) -> None:
        assert refused(client, body(dataset_id, models=models)) == ("invalid_training_request", pointers)

    def test_a_loss_that_is_incompatible_with_the_classes(self, client: TestClient) -> None:
        three = str(make_dataset(client.app.state.context, classes=[{"label": label, "count": 9} for label in "abc"]))
        models = [{"kind": "tree"}, {"kind": "tree", "loss": "ranking"}]
        request = body(three, models=models, noise=[{"kind": "class_conditional"}])
        assert refused(client, request) == ("invalid_training_request", ["/models/1/loss"])

    @pytest.mark.parametrize(
        ("noise", "pointers"),
        [
            ([{"kind": "uniform", "rate": 0.5}], ["/noise/0/rate"]),
            (
                [{"kind": "uniform", "rate": 0.4}, {"kind": "uniform", "rate": 0.6}, {"kind": "class_conditional"}],
                ["/noise/1/rate", "/noise/2/kind"],
            ),
            ([{"kind": "one_sided", "class": "1", "rate": 0.1}], ["/noise/0/class"]),
            ([{"kind": "matrix", "transition": [[1.0]]}], ["/noise/0/transition"]),
        ],
        ids=str,
    )
    def test_incompatible_noise(self, client: TestClient, dataset_id: str, noise: Any, pointers: list[str]) -> None:
        assert refused(client, body(dataset_id, noise=noise)) == ("invalid_noise", pointers)

    def test_too_many_classes_and_features_for_distances(self, client: TestClient) -> None:
        request = body(wide_dataset(client, 300, 700), noise=[{"kind": "uniform", "rate": 0.1}, CLASS_CONDITIONAL])
        assert refused(client, request) == ("invalid_noise", ["/noise/1/kind"])

    def test_too_few_rows_for_a_holdout(self, client: TestClient) -> None:
        tiny = str(make_dataset(client.app.state.context, n_rows=3))
        assert refused(client, body(tiny)) == ("invalid_training_request", ["/test_fraction"])

    def test_a_holdout_that_leaves_less_than_one_row_per_class(self, client: TestClient, dataset_id: str) -> None:
        request = body(dataset_id, test_fraction=0.999)
        assert refused(client, request) == ("invalid_training_request", ["/test_fraction"])

    def test_equal_entries_are_both_named(self, client: TestClient, dataset_id: str) -> None:
        models = [{"kind": "tree"}, {"kind": "forest"}, {"kind": "tree", "loss": "mse"}]
        one_sided = {"kind": "one_sided", "rate": 0.1}
        noise = [{"kind": "uniform", "rate": 0}, {"kind": "uniform", "rate": 0.0}]
        noise += [one_sided | {"class": 1}, one_sided | {"class": 1.0}]
        response = client.post("/sweeps", json=body(dataset_id, models=models, noise=noise))
        assert (response.status_code, response.json()["code"]) == (422, "invalid_sweep")
        problems = {error["pointer"]: error["detail"] for error in response.json()["errors"]}
        assert set(problems) == {"/models/2", "/noise/1", "/noise/3"}
        assert "/models/0" in problems["/models/2"]
        assert "/noise/0" in problems["/noise/1"]

    def test_too_many_cells(self, client: TestClient, dataset_id: str) -> None:
        models = [{"kind": "tree", "max_depth": depth} for depth in range(1, MAX_CELLS // 2 + 2)]
        assert refused(client, body(dataset_id, models=models)) == ("invalid_sweep", ["/models"])

    def test_an_unknown_data_set(self, client: TestClient) -> None:
        assert refused(client, body(str(uuid.uuid4())), 404) == ("dataset_not_found", ["/dataset_id"])

    def test_a_body_that_is_not_json(self, client: TestClient) -> None:
        headers = {"Content-Type": "application/json"}
        assert client.post("/sweeps", content=b"{", headers=headers).json()["code"] == "invalid_json"

    def test_more_cells_than_the_queue_can_ever_hold(self, client: TestClient, dataset_id: str) -> None:
        limit_queued_jobs(client, 3)
        response = client.post("/sweeps", json=body(dataset_id))
        # Not 429, after which clients would retry.
        assert (response.status_code, response.json()["code"]) == (422, "invalid_sweep")
        assert "limit of 3 queued jobs (BRISTLECONE_MAX_QUEUED_JOBS)" in response.json()["detail"]
        assert n_jobs(client) == 0

    def test_more_cells_than_the_queue_can_hold_now(self, client: TestClient, dataset_id: str) -> None:
        limit_queued_jobs(client, 4)
        assert client.post("/sweeps", json=body(dataset_id)).status_code == 202
        response = client.post("/sweeps", json=body(dataset_id))
        assert (response.status_code, response.json()["code"]) == (429, "too_many_queued_jobs")
        assert "BRISTLECONE_MAX_QUEUED_JOBS: 4" in response.json()["detail"]

    def test_cells_whose_matrices_are_too_large(self, client: TestClient) -> None:
        n_classes = 150
        classes = [{"label": label, "count": 20} for label in range(n_classes)]
        many = str(make_dataset(client.app.state.context, n_rows=20 * n_classes, classes=classes))
        rows = np.full((n_classes, n_classes), 0.1 / (n_classes - 1))
        np.fill_diagonal(rows, 0.9)
        models = [{"kind": "tree", "max_depth": depth} for depth in range(1, 41)]
        noise = [{"kind": "matrix", "transition": rows.tolist()}]
        assert refused(client, body(many, models=models, noise=noise)) == ("invalid_sweep", ["/noise"])
        assert client.post("/sweeps", json=body(many, models=models[:4], noise=noise)).status_code == 202

    def test_models_that_differ_in_the_type_of_a_number_are_different(
        self, client: TestClient, dataset_id: str
    ) -> None:
        models = [{"kind": "forest", "max_features": 1}, {"kind": "forest", "max_features": 1.0}]
        assert client.post("/sweeps", json=body(dataset_id, models=models)).status_code == 202


class TestIdempotencyKey:
    def test_gives_the_same_sweep(self, client: TestClient, dataset_id: str) -> None:
        headers = {"Idempotency-Key": "once"}
        first = client.post("/sweeps", json=body(dataset_id), headers=headers).json()
        limit_queued_jobs(client, 1)
        again = client.post("/sweeps", json=body(dataset_id, repeats=5), headers=headers)
        assert (again.status_code, again.json()["id"]) == (202, first["id"])
        assert n_jobs(client) == 5

    def test_of_another_request_is_refused(self, client: TestClient, dataset_id: str) -> None:
        headers = {"Idempotency-Key": "once"}
        client.post("/sweeps", json=body(dataset_id), headers=headers)
        response = client.post("/sweeps", json=body(dataset_id, repeats=4), headers=headers)
        assert (response.status_code, response.json()["code"]) == (422, "idempotency_key_reused")
        assert response.json()["errors"][0]["pointer"] == "header/Idempotency-Key"

    def test_concurrent_calls_queue_one_sweep(self, client: TestClient, dataset_id: str) -> None:
        headers = {"Idempotency-Key": "once"}
        with ThreadPoolExecutor(4) as pool:
            calls = pool.map(lambda _: client.post("/sweeps", json=body(dataset_id), headers=headers), range(4))
            answers = list(calls)
        assert {answer.status_code for answer in answers} == {202}
        assert len({answer.json()["id"] for answer in answers}) == 1
        assert n_jobs(client) == 5
