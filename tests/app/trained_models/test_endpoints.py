"""GET /models, GET and DELETE /models/{reference}, GET /models/{reference}/artifact."""

import uuid

import pytest

import core
from tests.app.trained_models.made import make_trained_model
from tests.app.trained_models.problems import problem
from tests.stored_files import remove


class TestListModels:
    def test_newest_first_and_filters(self, client, context):
        made = [make_trained_model(context, name=name) for name in ("a", "b", "a")]
        assert [item["id"] for item in client.get("/models").json()["items"]] == [str(row.id) for row in made[::-1]]
        assert [item["version"] for item in client.get("/models?name=a").json()["items"]] == [2, 1]
        assert client.get("/models?kind=tree").json()["items"] == []
        models_of_data_set = client.get("/models", params={"dataset_id": str(made[1].dataset_id)}).json()["items"]
        assert [item["name"] for item in models_of_data_set] == ["b"]

    def test_an_unknown_kind_is_refused(self, client):
        refused = client.get("/models?kind=foret")
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "query/kind")
        detail = refused.json()["errors"][0]["detail"]
        assert detail.startswith("kind is 'foret'; did you mean 'forest'? It must be 'tree', 'forest', ")

    @pytest.mark.parametrize(("sort", "expected"), [("", "abc"), ("-", "cba")])
    def test_by_a_metric_page_by_page_with_models_without_it_last(self, client, context, sort, expected):
        values = {"a": 0.1, "b": 0.7500000000000001, "c": 1, "d": None}
        metrics = {name: {"test": {"accuracy": value}} for name, value in values.items()} | {"e": {}}
        ids = {name: make_trained_model(context, name=name, metrics=metrics[name]).id for name in metrics}
        # Among the models without the metric the id decides.
        tail = sorted("de", key=lambda name: ids[name], reverse=bool(sort))
        seen, cursor = [], None
        while True:
            query = {"sort": f"{sort}metrics.test.accuracy", "limit": 1} | ({"cursor": cursor} if cursor else {})
            page = client.get("/models", params=query).json()
            seen += [item["name"] for item in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert seen == [*expected, *tail]

    def test_a_metric_that_is_not_a_number_counts_as_missing(self, client, context):
        make_trained_model(context, name="a", metrics={"test": {"accuracy": "high"}})
        make_trained_model(context, name="b", metrics={"test": 3})
        make_trained_model(context, name="c", metrics={"test": {"accuracy": 0.5}})
        items = client.get("/models?sort=metrics.test.accuracy").json()["items"]
        assert items[0]["name"] == "c"
        assert len(items) == 3

    def test_metrics_of_an_item_are_numbers_and_those_of_a_model_are_all(self, client, context):
        metrics = {
            "test": {"accuracy": 0.5, "confusion": [[1, 0], [0, 1]]},
            "minimax_risk": 0.2,
            "risk_path": [0.3, 0.2],
        }
        make_trained_model(context, name="a", metrics=metrics)
        make_trained_model(context, name="b", metrics={**metrics, "minimax_risk": 0.1})
        items = client.get("/models?sort=metrics.minimax_risk").json()["items"]
        assert [item["name"] for item in items] == ["b", "a"]
        assert items[1]["metrics"] == {"test": {"accuracy": 0.5}, "minimax_risk": 0.2}
        assert client.get("/models/a").json()["metrics"] == metrics

    @pytest.mark.parametrize("sort", ["seed", "metrics", "metrics.", "metrics.a'b", 'metrics."a"', "metrics.a}"])
    def test_refused_sort(self, client, sort):
        body = problem(client.get("/models", params={"sort": sort}), 422, "unknown_sort")
        assert body["errors"][0]["pointer"] == "query/sort"

    @pytest.mark.parametrize("sort", ["metrics.nonsense", "-metrics.test.acuracy", "metrics.test"])
    def test_a_metric_that_no_model_has_is_refused_with_the_names_of_the_metrics(self, client, context, sort):
        make_trained_model(context, metrics={"test": {"accuracy": 0.5, "own_score": 3, "flag": True}, "folds": []})
        body = problem(client.get("/models", params={"sort": sort}), 422, "unknown_sort")
        [error] = body["errors"]
        assert error["pointer"] == "query/sort"
        assert error["detail"].startswith(f"no model has the metric {sort.removeprefix('-')!r}")
        assert "metrics.test.own_score" in error["detail"]
        assert "metrics.test.flag" not in error["detail"]
        assert client.get("/models?sort=metrics.test.own_score").status_code == 200

    def test_usual_metrics_are_known_before_there_are_models(self, client):
        assert client.get("/models?sort=-metrics.test.accuracy").json()["items"] == []
        assert problem(client.get("/models?sort=metrics.nonsense"), 422, "unknown_sort")

    def test_refused_cursor(self, client):
        body = problem(client.get("/models?cursor=AAAA"), 422, "invalid_cursor")
        assert body["errors"][0]["pointer"] == "query/cursor"


class TestGetModel:
    def test_every_field(self, client, context):
        row = make_trained_model(context, fitted={"lambda": 0.5})
        body = client.get(f"/models/{row.id}").json()
        assert set(body) == {
            "id", "name", "version", "description", "tags", "aliases", "is_default", "parent", "kind", "parameters",
            "seed", "dataset_id", "data_sha256", "code_version", "created_at", "fit_seconds", "size_bytes",
            "evaluation", "metrics", "schema", "noise", "fitted", "certificate",
        }  # fmt: skip
        assert body["schema"] == row.feature_schema
        assert body["fitted"] == {"lambda": 0.5}
        assert body["created_at"].endswith("Z")

    @pytest.mark.parametrize("bound", [0.75, None])
    def test_a_certificate(self, client, context, bound):
        certificate = {
            "minimax_risk": 0.2, "optimization": 0.1, "estimation": bound, "noise": 0.0, "regularization": -0.01,
            "bound": bound, "delta": 0.05, "noise_rate": None, "is_vacuous": bound is None,
            "safe_bound": bound,
        }  # fmt: skip
        row = make_trained_model(context, kind="rmboost", certificate=certificate)
        assert client.get(f"/models/{row.id}").json()["certificate"] == certificate
        assert client.get("/models").json()["items"][0]["certificate"] == certificate

    @pytest.mark.parametrize(
        "evaluation",
        [
            {"kind": "holdout", "test_fraction": 0.2, "stratify": True},
            {"kind": "cross_validation", "folds": 5},
            {"kind": "dataset", "dataset_id": str(uuid.UUID(int=1)), "data_sha256": "ab" * 32},
            {"kind": "none"},
            None,
        ],
    )
    def test_an_evaluation(self, client, context, evaluation):
        row = make_trained_model(context, evaluation=evaluation)
        assert client.get(f"/models/{row.id}").json()["evaluation"] == evaluation
        assert client.get("/models").json()["items"][0]["evaluation"] == evaluation

    @pytest.mark.parametrize("reference", ["credit-risk", "credit-risk:1"])
    def test_by_name(self, client, context, reference):
        row = make_trained_model(context)
        assert client.get(f"/models/{reference}").json()["id"] == str(row.id)

    @pytest.mark.parametrize("reference", [str(uuid.UUID(int=1)), "nobody", "nobody:1", "@best"])
    def test_not_found(self, client, reference):
        assert reference in problem(client.get(f"/models/{reference}"), 404, "model_not_found")["detail"]

    @pytest.mark.parametrize("labels", [(False, True), (0, 1, 2), ("a", "b")])
    def test_labels_keep_their_type(self, client, context, labels):
        row = make_trained_model(context, labels=labels)
        classes = client.get(f"/models/{row.id}").json()["schema"]["classes"]
        assert classes == list(labels)
        assert list(map(type, classes)) == list(map(type, labels))


class TestDeleteModel:
    def test_deletes_row_and_file(self, client, context):
        row = make_trained_model(context)
        response = client.delete(f"/models/{row.id}")
        assert (response.status_code, response.content) == (204, b"")
        assert not context.artifact_store.holds(row.artifact_sha256)
        problem(client.get(f"/models/{row.id}"), 404, "model_not_found")

    def test_keeps_a_shared_file(self, client, context):
        first, second = make_trained_model(context), make_trained_model(context)
        assert first.artifact_sha256 == second.artifact_sha256
        client.delete(f"/models/{first.id}")
        assert client.get(f"/models/{second.id}/artifact").status_code == 200

    def test_not_found(self, client):
        problem(client.delete(f"/models/{uuid.uuid4()}"), 404, "model_not_found")


class TestDownloadArtifact:
    def test_the_file_itself(self, client, context, tmp_path):
        row = make_trained_model(context)
        response = client.get(f"/models/{row.id}/artifact")
        assert response.headers["content-type"] == "application/octet-stream"
        assert response.headers["content-disposition"] == 'attachment; filename="credit-risk-1.bristlecone"'
        assert response.headers["etag"] == f'"{row.artifact_sha256}"'
        (tmp_path / "downloaded").write_bytes(response.content)
        assert core.load(tmp_path / "downloaded").classes_.tolist() == row.feature_schema["classes"]

    def test_not_modified(self, client, context):
        row = make_trained_model(context)
        tag = f'"{row.artifact_sha256}"'
        response = client.get(f"/models/{row.id}/artifact", headers={"If-None-Match": f'"other", W/{tag}'})
        assert (response.status_code, response.content, response.headers["etag"]) == (304, b"", tag)
        assert client.get(f"/models/{row.id}/artifact", headers={"If-None-Match": '"other"'}).status_code == 200

    def test_not_found(self, client):
        problem(client.get("/models/nobody/artifact"), 404, "model_not_found")

    def test_file_missing(self, client, context):
        row = make_trained_model(context)
        remove(context.artifact_store, row.artifact_sha256)
        detail = problem(client.get(f"/models/{row.id}/artifact"), 500, "artifact_missing")["detail"]
        assert str(context.settings.home) not in detail
