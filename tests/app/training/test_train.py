"""POST /train: accepted and refused requests, and the pointers of the errors."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.datasets.service import delete_dataset
from core import LOSSES
from tests.app.training.train_requests import TREE, n_jobs, refused
from tests.factories import make_dataset

pytestmark = pytest.mark.slow


def _limit_queued_jobs(client: TestClient, limit: int) -> None:
    context = client.app.state.context
    limits = context.settings.limits.model_copy(update={"max_queued_jobs": limit})
    object.__setattr__(context, "settings", context.settings.model_copy(update={"limits": limits}))


class TestAccepted:
    def test_returns_a_queued_job(self, client: TestClient, dataset_id: str) -> None:
        response = client.post("/train", json={"dataset_id": dataset_id, "model": TREE, "name": "risk"})
        job = response.json()
        assert (response.status_code, job["kind"], job["attempt"]) == (202, "train", 0)
        assert response.headers["Location"] == f"/jobs/{job['id']}"
        assert client.get(f"/jobs/{job['id']}").json()["id"] == job["id"]

    def test_fills_in_the_defaults(self, client: TestClient, dataset_id: str) -> None:
        body = {"dataset_id": dataset_id, "model": {"kind": "forest", "loss": "ane"}}
        request = client.post("/train", json=body).json()["request"]
        assert request["name"] == "made-forest"
        assert request["seed"] == 0
        assert request["noise"] == {"inject": None, "correction": None}
        assert request["evaluation"] == {"kind": "holdout", "test_fraction": 0.2, "stratify": True}
        assert request["model"]["n_estimators"] == 100
        assert request["model"]["loss"] == {
            "kind": "adaptive_ne",
            "grid": [0.0, 0.25, 0.5, 0.75, 1.0],
            "validation_fraction": 0.2,
            "selection": "auto",
        }

    def test_the_default_model_chooses_itself(self, client: TestClient, dataset_id: str) -> None:
        request = client.post("/train", json={"dataset_id": dataset_id}).json()["request"]
        assert request["name"] == "made-auto"
        assert request["model"] == {
            "kind": "auto",
            "time_budget": None,
            "n_fits": None,
            "class_weight": None,
        }

    def test_a_model_may_be_given_by_its_kind(self, client: TestClient, dataset_id: str) -> None:
        bodies = [{"dataset_id": dataset_id, "model": model} for model in ("forest", {"kind": "forest"})]
        by_kind, as_object = (client.post("/train", json=body).json()["request"] for body in bodies)
        assert by_kind == as_object

    def test_inline_data_becomes_a_data_set(self, client: TestClient) -> None:
        columns = {"x": [0.5, None, 1.5, 2.5], "colour": ["red", "blue", None, "red"], "y": [1, 0, 1, 0]}
        body = {"name": "small", "model": TREE, "data": {"columns": columns, "target": "y"}}
        job = client.post("/train", json=body).json()
        dataset = client.get(f"/datasets/{job['request']['dataset_id']}").json()
        assert [entry["label"] for entry in dataset["classes"]] == [0, 1]
        assert [feature["kind"] for feature in dataset["features"]] == ["numeric", "categorical"]

    @pytest.mark.parametrize(
        "loss",
        [
            *LOSSES,
            "ce",
            {"kind": "ne", "lambda": 0},
            {"kind": "gce", "q": 1.5},
            {"kind": "credal", "s": 3},
            {"kind": "distribution", "cdf": "logistic"},
            {"kind": "distribution", "cdf": "t", "parameters": {"df": 3, "loc": -0.5}},
        ],
    )
    def test_every_loss(self, client: TestClient, dataset_id: str, loss: Any) -> None:
        body = {"dataset_id": dataset_id, "model": {"kind": "tree", "loss": loss}}
        assert client.post("/train", json=body).status_code == 202


class TestRefused:
    @pytest.mark.parametrize(
        ("model", "pointers"),
        [
            ({}, ["/model"]),
            ({"kind": "oak"}, ["/model"]),
            ({"kind": "forest", "n_estimators": 0}, ["/model/n_estimators"]),
            ({"kind": "forest", "n_estimators": "5"}, ["/model/n_estimators"]),
            ({"kind": "forest", "n_estimators": True}, ["/model/n_estimators"]),
            ({"kind": "tree", "max_features": "most"}, ["/model/max_features"]),
            ({"kind": "tree", "max_bins": 1}, ["/model/max_bins"]),
            ({"kind": "tree", "depth": 3}, ["/model/depth"]),
            ("automatic", ["/model"]),
            ({"kind": "tree", "random_state": 3}, ["/model/random_state"]),
            ({"kind": "tree", "n_jobs": 64}, ["/model/n_jobs"]),
            ({"kind": "tree", "loss": "hinge"}, ["/model/loss"]),
            ({"kind": "tree", "loss": {"kind": "ne", "lambda": 1.5}}, ["/model/loss/lambda"]),
            ({"kind": "tree", "loss": {"kind": "ne", "mu": 1}}, ["/model/loss/mu"]),
            ({"kind": "tree", "loss": {"kind": "gce", "q": -1}}, ["/model/loss/q"]),
            ({"kind": "tree", "loss": {"kind": "credal", "s": 0}}, ["/model/loss/s"]),
            ({"kind": "tree", "loss": {"kind": "distribution", "cdf": "nope"}}, ["/model/loss"]),
            ({"kind": "tree", "loss": {"kind": "distribution", "cdf": "t"}}, ["/model/loss"]),
            (
                {"kind": "tree", "loss": {"kind": "distribution", "cdf": "t", "parameters": {"df": "3"}}},
                ["/model/loss/parameters/df"],
            ),
            ({"kind": "tree", "class_weight": {"maybe": 2.0}}, ["/model/class_weight/maybe"]),
            ({"kind": "tree", "class_weight": {"\ud800": 2.0}}, ["/model/class_weight/\\ud800"]),
            ({"kind": "forest", "n_estimators": 10_001}, ["/model/n_estimators"]),
            ({"kind": "rmboost", "regularization": 0}, ["/model/regularization"]),
            ({"kind": "rmboost", "regularization": -1}, ["/model/regularization"]),
            ({"kind": "adaboost", "n_rounds": 0}, ["/model/n_rounds"]),
            ({"kind": "gentleboost", "n_rounds": 10_001}, ["/model/n_rounds"]),
            ({"kind": "lpboost", "outlier_share": 1}, ["/model/outlier_share"]),
            ({"kind": "lpboost", "regularization": 1}, ["/model/regularization"]),
            ({"kind": "brownboost", "total_time": 501}, ["/model/total_time"]),
            ({"kind": "robustboost", "error_goal": 0.5}, ["/model/error_goal"]),
            ({"kind": "logitboost", "max_leaf_nodes": 257}, ["/model/max_leaf_nodes"]),
            ({"kind": "rmboost", "loss": "ane"}, ["/model"]),
            ({"kind": "rmboost", "correction": {"kind": "forward"}}, ["/model/correction"]),
            ({"kind": "forest", "correction": {"kind": "forward"}}, ["/model/correction"]),
            ({"kind": "rmboost", "class_weight": {"0": 0}}, ["/model/class_weight"]),
            ({"kind": "tree", "class_weight": {"0": 0, "1": 0}}, ["/model/class_weight"]),
            ({"kind": "forest", "oob_score": True, "bootstrap": False}, ["/model"]),
            ({"kind": "tree", "loss": {"kind": "ane", "selection": "out_of_bag"}}, ["/model"]),
            ({"kind": "tree", "loss": {"kind": "ane", "selection": "oob"}}, ["/model/loss/selection"]),
        ],
    )
    def test_models(self, client: TestClient, dataset_id: str, model: Any, pointers: list[str]) -> None:
        code, pointed = refused(client, {"dataset_id": dataset_id, "model": model})
        assert code in ("invalid_request", "invalid_training_request")
        assert pointed == pointers
        assert n_jobs(client) == 0

    @pytest.mark.parametrize(
        ("field", "value", "pointers"),
        [
            ("noise", {"inject": {"kind": "uniform", "rate": 1.2}}, ["/noise/inject/rate"]),
            ("noise", {"inject": {"kind": "fog", "rate": 0.2}}, ["/noise/inject"]),
            ("noise", {"inject": {"kind": "pairwise", "rates": [0.1]}}, ["/noise/inject/rates"]),
            ("noise", {"inject": {"kind": "pairwise", "rates": [0.1, 1]}}, ["/noise/inject/rates/1"]),
            ("noise", {"inject": {"kind": "one_sided", "rate": 0.1}}, ["/noise/inject/class"]),
            ("noise", {"inject": {"kind": "one_sided", "class": [0], "rate": 0.1}}, ["/noise/inject/class"]),
            ("noise", {"inject": {"kind": "class_conditional", "rate": 0.1}}, ["/noise/inject/rate"]),
            ("noise", {"inject": {"kind": "matrix", "transition": [[1, "0"]]}}, ["/noise/inject/transition/0/1"]),
            ("noise", {"inject": {"kind": "matrix", "transition": "estimate"}}, ["/noise/inject/transition"]),
            ("noise", {"correction": {}}, ["/noise/correction/kind", "/noise/correction/transition"]),
            ("noise", {"correction": {"kind": "up", "transition": [[1]]}}, ["/noise/correction/kind"]),
            ("noise", {"correction": {"kind": "forward", "transition": "guess"}}, ["/noise/correction/transition"]),
            ("evaluation", {"kind": "holdout", "test_fraction": 1}, ["/evaluation/test_fraction"]),
            ("evaluation", {"kind": "guess"}, ["/evaluation"]),
            ("evaluation", {"kind": "holdout", "stratify": "yes"}, ["/evaluation/stratify"]),
            ("evaluation", {"kind": "holdout", "folds": 5}, ["/evaluation/folds"]),
            ("evaluation", {"kind": "cross_validation", "folds": 1}, ["/evaluation/folds"]),
            ("evaluation", {"kind": "cross_validation", "folds": 101}, ["/evaluation/folds"]),
            ("evaluation", {"kind": "cross_validation", "folds": 2.5}, ["/evaluation/folds"]),
            ("evaluation", {"kind": "cross_validation", "folds": "5"}, ["/evaluation/folds"]),
            ("evaluation", {"kind": "dataset"}, ["/evaluation/dataset_id"]),
            ("evaluation", {"kind": "dataset", "dataset_id": 17}, ["/evaluation/dataset_id"]),
            ("seed", -1, ["/seed"]),
            ("seed", 1.5, ["/seed"]),
            ("name", "a/b", ["/name"]),
            ("name", str(uuid.UUID(int=7)), ["/name"]),
            ("colour", "red", ["/colour"]),
        ],
    )
    def test_other_fields(
        self, client: TestClient, dataset_id: str, field: str, value: Any, pointers: list[str]
    ) -> None:
        code, pointed = refused(client, {"dataset_id": dataset_id, "model": TREE, field: value})
        assert (code, pointed) == ("invalid_request", pointers)
        assert n_jobs(client) == 0

    @pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", None])
    def test_other_media_types(self, client: TestClient, content_type: str | None) -> None:
        headers = {"Content-Type": content_type} if content_type else {}
        response = client.post("/train", content=b'{"model": {"kind": "tree"}}', headers=headers)
        assert response.status_code == 415, response.text
        assert response.json()["code"] == "unsupported_media_type"
        assert "application/json" in response.json()["detail"]

    @pytest.mark.parametrize(
        ("model", "detail"),
        [
            ({"kind": "forest", "oob_score": True, "bootstrap": False}, "oob_score of ForestClassifier is True"),
            ({"kind": "tree", "loss": {"kind": "distribution", "cdf": "t"}}, "cdf 't' lacks df"),
            ({"kind": "forest", "bootstrap": None}, "bootstrap is null; it must be true or false"),
        ],
    )
    def test_the_detail_starts_with_the_value_or_the_rule(
        self, client: TestClient, dataset_id: str, model: dict[str, Any], detail: str
    ) -> None:
        (error,) = client.post("/train", json={"dataset_id": dataset_id, "model": model}).json()["errors"]
        assert error["detail"].startswith(detail)

    def test_missing_fields(self, client: TestClient) -> None:
        assert refused(client, {}) == ("invalid_request", ["/"])
        assert refused(client, {"data": {"columns": {"x": [1]}}}) == ("invalid_request", ["/data/target"])

    @pytest.mark.parametrize("tables", [{}, {"dataset_id": str(uuid.uuid4()), "data": {"columns": {}, "target": "y"}}])
    def test_no_table_or_two(self, client: TestClient, tables: dict[str, Any]) -> None:
        code, pointers = refused(client, {"model": TREE, **tables})
        assert code == "invalid_request"
        assert pointers in (["/"], ["/data/columns"])

    def test_inline_data_with_a_fault(self, client: TestClient) -> None:
        body = {"model": TREE, "data": {"columns": {"x": [1, 2], "y": ["a", "a"]}, "target": "y"}}
        assert refused(client, body) == ("single_class", ["/data/target"])
        assert client.get("/datasets").json()["items"] == []

    @pytest.mark.parametrize(
        ("columns", "code", "pointer"),
        [
            ({"x": [1, float("nan")], "y": [0, 1]}, "invalid_json", "/data/columns/x/1"),
            ({"x": [float("inf"), 2], "y": [0, 1]}, "infinite_value", "/data/columns/x/0"),
            ({"x": [10**400, 2], "y": [0, 1]}, "infinite_value", "/data/columns/x"),
            ({"\ud800": [1, 2], "y": [0, 1]}, "not_utf8", "/data/columns/\\ud800"),
            ({"x": ["\ud800", "a"], "y": [0, 1]}, "not_utf8", "/data/columns/x"),
        ],
    )
    def test_inline_values_that_cannot_be_stored(
        self, client: TestClient, columns: dict[str, Any], code: str, pointer: str
    ) -> None:
        body = {"model": TREE, "data": {"columns": columns, "target": "y"}}
        assert refused(client, body) == (code, [pointer])

    def test_an_unknown_data_set(self, client: TestClient) -> None:
        body = {"dataset_id": str(uuid.uuid4()), "model": TREE}
        assert refused(client, body, 404) == ("dataset_not_found", ["/dataset_id"])

    def test_a_loss_of_two_classes_on_three(self, client: TestClient) -> None:
        three = [{"label": label, "count": 30} for label in "abc"]
        dataset_id = str(make_dataset(client.app.state.context, classes=three))
        body = {"dataset_id": dataset_id, "model": {"kind": "tree", "loss": "ranking"}}
        assert refused(client, body) == ("invalid_training_request", ["/model/loss"])
        assert client.post("/train", json={**body, "model": {"kind": "tree", "loss": "gini"}}).status_code == 202

    def test_a_round_counts_once_per_class(self, client: TestClient) -> None:
        three = [{"label": label, "count": 30} for label in "abc"]
        body = {"dataset_id": str(make_dataset(client.app.state.context, classes=three))}
        most = {"kind": "adaboost", "n_rounds": 3333}
        assert client.post("/train", json={**body, "model": most}).status_code == 202
        more = {"kind": "adaboost", "n_rounds": 3334}
        assert refused(client, {**body, "model": more}) == ("invalid_training_request", ["/model/n_rounds"])

    @pytest.mark.parametrize(("kind", "weights"), [("adaboost", {"a": 0}), ("tree", {"a": 0, "b": 0})])
    def test_weights_that_leave_enough_classes(self, client: TestClient, kind: str, weights: dict[str, Any]) -> None:
        three = [{"label": label, "count": 30} for label in "abc"]
        dataset_id = str(make_dataset(client.app.state.context, classes=three))
        body = {"dataset_id": dataset_id, "model": {"kind": kind, "class_weight": weights}}
        assert client.post("/train", json=body).status_code == 202


class TestRefusedInlineData:
    """Inline data of a refused request is not stored, neither its row nor its file."""

    def refuse(self, client: TestClient, status: int, **fields: Any) -> None:
        columns = {"x": [1, 2, 3, 4], "y": [0, 1, 0, 1]}
        response = client.post("/train", json={"model": TREE, "data": {"columns": columns, "target": "y"}, **fields})
        assert response.status_code == status, response.text
        assert client.get("/datasets").json()["items"] == []
        settings = client.app.state.context.settings
        assert [*settings.datasets_folder.iterdir(), *settings.staging_folder.iterdir()] == []

    def test_by_the_noise(self, client: TestClient) -> None:
        self.refuse(client, 422, noise={"inject": {"kind": "uniform", "rate": 0.6}})

    def test_by_the_test_data_set(self, client: TestClient) -> None:
        self.refuse(client, 404, evaluation={"kind": "dataset", "dataset_id": str(uuid.uuid4())})

    def test_by_a_full_queue(self, client: TestClient) -> None:
        _limit_queued_jobs(client, 1)
        made = make_dataset(client.app.state.context)
        client.post("/train", json={"dataset_id": str(made), "model": TREE})
        columns = {"x": [1, 2, 3, 4], "y": [0, 1, 0, 1]}
        response = client.post("/train", json={"model": TREE, "data": {"columns": columns, "target": "y"}})
        assert response.status_code == 429
        assert list(client.app.state.context.settings.datasets_folder.iterdir()) == []

    def test_a_table_that_existed_before_is_kept(self, client: TestClient) -> None:
        columns = {"x": [1, 2, 3, 4], "y": [0, 1, 0, 1]}
        body = {"name": "kept", "model": TREE, "data": {"columns": columns, "target": "y"}}
        dataset_id = client.post("/train", json=body).json()["request"]["dataset_id"]
        refused(client, {**body, "noise": {"inject": {"kind": "uniform", "rate": 0.6}}})
        assert client.get(f"/datasets/{dataset_id}/rows").status_code == 200


class TestIdempotency:
    def test_the_same_key_and_body_give_the_same_job(self, client: TestClient, dataset_id: str) -> None:
        body = {"dataset_id": dataset_id, "model": TREE}
        answers = [client.post("/train", json=body, headers={"Idempotency-Key": "k1"}) for _ in range(3)]
        assert {answer.status_code for answer in answers} == {202}
        assert len({answer.json()["id"] for answer in answers}) == 1
        assert n_jobs(client) == 1

    def test_the_same_key_with_another_body_is_refused(self, client: TestClient, dataset_id: str) -> None:
        key = {"Idempotency-Key": "k2"}
        client.post("/train", json={"dataset_id": dataset_id, "model": TREE}, headers=key)
        response = client.post("/train", json={"dataset_id": dataset_id, "model": TREE, "seed": 1}, headers=key)
        assert (response.status_code, response.json()["code"]) == (422, "idempotency_key_reused")

    def test_the_key_is_valid_after_the_data_set_was_deleted(self, client: TestClient, dataset_id: str) -> None:
        context, body, key = (
            client.app.state.context,
            {"dataset_id": dataset_id, "model": TREE},
            {"Idempotency-Key": "k4"},
        )
        first = client.post("/train", json=body, headers=key).json()
        client.post(f"/jobs/{first['id']}/cancel")
        delete_dataset(context.sessions, context.dataset_store, uuid.UUID(dataset_id))
        again = client.post("/train", json=body, headers=key)
        assert (again.status_code, again.json()["id"]) == (202, first["id"])

    def test_concurrent_calls_queue_one_job(self, client: TestClient, dataset_id: str) -> None:
        body = {"dataset_id": dataset_id, "model": TREE}

        def call(_: int) -> Any:
            return client.post("/train", json=body, headers={"Idempotency-Key": "k3"})

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(call, range(8)))
        assert {answer.status_code for answer in answers} == {202}
        assert len({answer.json()["id"] for answer in answers}) == 1


class TestQueueLimit:
    def test_names_the_limit(self, client: TestClient, dataset_id: str) -> None:
        _limit_queued_jobs(client, 2)
        answers = [client.post("/train", json={"dataset_id": dataset_id, "model": TREE}) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [202, 202, 429]
        assert answers[-1].json()["code"] == "too_many_queued_jobs"
        assert "BRISTLECONE_MAX_QUEUED_JOBS" in answers[-1].json()["detail"]
