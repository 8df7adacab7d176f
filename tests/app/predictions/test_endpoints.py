"""GET /predict and POST /predict: the same rules and the same numbers."""

import json

import numpy as np
import pytest

import core
from core.artifact.format import FORMAT_VERSION
from tests.app.trained_models.made import client_of, make_trained_model
from tests.core.artifact.artifact_files import forged, set_in

MODEL = "credit-risk"


@pytest.fixture
def trained(context):
    return make_trained_model(context)


@pytest.fixture
def client(context, trained):
    with client_of(context) as client:
        yield client


def get(client, **query):
    return client.get("/predict", params={"model": MODEL} | query)


def post(client, **body):
    return client.post("/predict", json={"model": MODEL} | body)


def post_text(client, text, content_type="application/json"):
    return client.post("/predict", content=text, headers={"Content-Type": content_type})


def problem(response, status, code, *pointers):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["code"] == code
    assert [error["pointer"] for error in body.get("errors", [])] == list(pointers)
    return body


def probabilities_of(context, row, X):
    return core.load(context.artifact_store.path(row.artifact_sha256)).predict_proba(np.array(X, dtype=float))


class TestPredictOne:
    def test_the_numbers_of_the_estimator(self, client, context, trained):
        body = get(client, age="41", job="unskilled").json()
        [expected] = probabilities_of(context, trained, [[41, 1]]).tolist()
        assert body["model"] == {"id": str(trained.id), "name": MODEL, "version": 1}
        assert body["probabilities"] == dict(zip(["bad", "good"], expected, strict=True))
        assert body["label"] == max(["bad", "good"], key=body["probabilities"].get)

    @pytest.mark.parametrize("age", ["41", " 41 ", "+41", "41.", "4.1e1", "410E-1"])
    def test_number_formats(self, client, trained, age):
        [expected] = post(client, rows=[{"age": 41, "job": None}]).json()["predictions"]
        assert (
            get(client, age=age, job="").json()
            == {"model": {"id": str(trained.id), "name": MODEL, "version": 1}} | expected
        )

    @pytest.mark.parametrize("age", ["old", "1_000", "0x10", "041", "inf", "-Infinity", "1e999", "١", "1,5", "--1"])
    def test_not_a_number(self, client, age):
        detail = problem(get(client, age=age, job="skilled"), 422, "not_a_number", "query/age")["detail"]
        assert age in detail

    def test_missing_feature(self, client):
        problem(get(client, age="41"), 422, "missing_feature", "query/job")
        lenient = get(client, age="41", on_missing="missing").json()
        assert lenient == get(client, age="41", job="").json()

    def test_unknown_feature(self, client):
        assert (
            "'age', 'job'"
            in problem(get(client, age="41", job="", wage="1"), 422, "unknown_feature", "query/wage")["detail"]
        )
        assert get(client, age="41", job="", wage="1", extra="ignore").status_code == 200

    def test_unknown_category(self, client):
        body = problem(get(client, age="41", job="pilot"), 422, "unknown_category", "query/job")
        assert "'pilot'" in body["detail"]
        assert "'skilled', 'unskilled'" in body["detail"]
        assert get(client, age="41", job="pilot", on_unknown="missing").json() == get(client, age="41", job="").json()

    def test_a_name_that_occurs_twice(self, client):
        twice = client.get(f"/predict?model={MODEL}&age=41&age=42&job=")
        problem(twice, 422, "duplicate_feature", "query/age")
        problem(client.get(f"/predict?model={MODEL}&model={MODEL}&age=1&job="), 422, "duplicate_feature", "query/model")

    def test_several_faults_at_once(self, client):
        problem(get(client, age="old", wage="1"), 422, "unknown_feature", "query/wage", "query/age", "query/job")

    @pytest.mark.parametrize("reference", ["nobody", f"{MODEL}:2", "@best"])
    def test_model_not_found(self, client, reference):
        problem(get(client, model=reference), 404, "model_not_found")

    def test_model_not_named(self, client):
        problem(client.get("/predict?age=1"), 422, "invalid_request", "query/model")

    def test_option_that_does_not_exist(self, client):
        refused = problem(get(client, age="1", job="", extra="drop"), 422, "invalid_request", "query/extra")
        assert (
            "extra is 'drop'; it must be 'error' or 'ignore'; write a feature with this name as x.extra"
            in (refused["detail"])
        )

    def test_reserved_names(self, client, context):
        names = ["model", "extra", "x.model", "x.age", "x.x.extra"]
        features = [{"name": name, "kind": "numeric", "categories": None} for name in names]
        make_trained_model(context, name="odd", features=features)
        query = {"x.model": "1", "x.extra": "2", "x.x.model": "3", "x.age": "4", "x.x.x.extra": "5"}
        answer = get(client, model="odd", **query).json()
        row = dict(zip(names, range(1, 6), strict=True))
        assert [answer["probabilities"]] == [
            found["probabilities"] for found in post(client, model="odd", rows=[row]).json()["predictions"]
        ]
        del query["x.model"]
        missing = problem(get(client, model="odd", **query), 422, "missing_feature", "query/x.model")
        assert "write the feature as x.model, because model has another meaning in the query" in missing["detail"]
        twice = client.get("/predict", params={"model": ["1", "odd"], "x.model": "1", **query})
        assert "write the feature as x.model" in problem(twice, 422, "duplicate_feature", "query/model")["detail"]

    def test_etag(self, client):
        first = get(client, age="41", job="skilled")
        again = client.get(
            f"/predict?job=skilled&age=4.1e1&model={MODEL}:1", headers={"If-None-Match": first.headers["etag"]}
        )
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        assert get(client, age="42", job="skilled").headers["etag"] != first.headers["etag"]
        assert get(client, age="", job="skilled").headers["etag"] != first.headers["etag"]

    def test_etag_of_a_name_changes_with_its_latest_version(self, client, context):
        first = get(client, age="41", job="skilled")
        make_trained_model(context)
        second = client.get(first.request.url, headers={"If-None-Match": first.headers["etag"]})
        assert (second.status_code, second.json()["model"]["version"]) == (200, 2)

    @pytest.mark.parametrize(
        ("labels", "texts"),
        [((False, True), ["false", "true"]), ((1, 2, 10), ["1", "2", "10"]), (("1", "x"), ["1", "x"])],
    )
    def test_labels_keep_their_type(self, client, context, labels, texts):
        make_trained_model(context, name="typed", labels=labels)
        body = get(client, model="typed", age="3", job="1").json()
        assert list(body["probabilities"]) == texts
        assert type(body["label"]) is type(labels[0])
        assert body["label"] in labels


class TestPredictMany:
    def test_rows_and_columns(self, client, context, trained):
        rows = [{"age": 41, "job": "unskilled"}, {"job": None, "age": 2.5}, {"age": "", "job": "skilled"}]
        columns = {"age": [41, 2.5, None], "job": ["unskilled", "", "skilled"]}
        expected = probabilities_of(context, trained, [[41, 1], [2.5, np.nan], [np.nan, 0]]).tolist()
        body = post(client, rows=rows).json()
        assert [list(found["probabilities"].values()) for found in body["predictions"]] == expected
        assert body == post(client, columns=columns).json()
        assert body["model"] == {"id": str(trained.id), "name": MODEL, "version": 1}

    @pytest.mark.parametrize(("cell", "text"), [(1, "1"), (1.0, "1"), (True, "true")])
    def test_typed_cells_of_a_categorical_feature(self, client, cell, text):
        typed = post(client, rows=[{"age": 1, "job": cell}])
        assert typed.status_code == 200
        assert typed.json() == post(client, rows=[{"age": 1, "job": text}]).json()

    @pytest.mark.parametrize("cell", ["old", "041", True, [1], {"a": 1}, 10**400])
    def test_not_a_number(self, client, cell):
        rows = [{"age": 1, "job": None}] * 3
        problem(post(client, rows=[*rows, {"age": cell, "job": None}]), 422, "not_a_number", "/rows/3/age")
        columns = {"age": [1, cell], "job": [None, None]}
        problem(post(client, columns=columns), 422, "not_a_number", "/columns/age/1")

    @pytest.mark.parametrize("cell", ["NaN", "Infinity", "-Infinity", "1e999"])
    @pytest.mark.parametrize("name", ["age", "job"])
    def test_numbers_that_are_not_finite(self, client, cell, name):
        row = json.dumps({"age": 1, "job": None} | {name: "CELL"}).replace('"CELL"', cell)
        response = post_text(client, f'{{"model": "{MODEL}", "rows": [{row}]}}')
        problem(response, 422, "not_a_number", f"/rows/0/{name}")

    @pytest.mark.parametrize("cell", ["pilot", 2, False, ["skilled"], "Skilled"])
    def test_unknown_category(self, client, cell):
        problem(post(client, rows=[{"age": 1, "job": cell}]), 422, "unknown_category", "/rows/0/job")
        lenient = post(client, rows=[{"age": 1, "job": cell}], on_unknown="missing")
        assert lenient.json() == post(client, rows=[{"age": 1, "job": None}]).json()

    def test_missing_feature(self, client):
        rows = [{"age": 1, "job": ""}, {"age": 1}]
        problem(post(client, rows=rows), 422, "missing_feature", "/rows/1/job")
        problem(post(client, columns={"age": [1]}), 422, "missing_feature", "/columns/job")
        lenient = post(client, rows=rows, on_missing="missing").json()["predictions"]
        assert lenient[0] == lenient[1]
        assert post(client, columns={"age": [1]}, on_missing="missing").json()["predictions"] == lenient[:1]

    def test_unknown_feature(self, client):
        row = {"age": 1, "job": None}
        odd = row | {"a/b~": 1}
        problem(post(client, rows=[row, odd]), 422, "unknown_feature", "/rows/1/a~1b~0")
        columns = {name: [value] for name, value in odd.items()}
        problem(post(client, columns=columns), 422, "unknown_feature", "/columns/a~1b~0")
        for body in ({"rows": [row, odd]}, {"columns": columns}):
            assert post(client, **body, extra="ignore").status_code == 200

    @pytest.mark.parametrize(
        ("text", "pointer"),
        [
            ('{"model": "M", "rows": [{"age": 1, "job": null, "age": 1}]}', "/rows/0/age"),
            ('{"model": "M", "columns": {"age": [1], "job": [null], "age": [1]}}', "/columns/age"),
            ('{"model": "M", "model": "M", "rows": []}', "/model"),
        ],
    )
    def test_a_name_that_occurs_twice(self, client, text, pointer):
        problem(post_text(client, text.replace("M", MODEL)), 422, "duplicate_feature", pointer)

    def test_faults_are_reported_together_up_to_twenty(self, client):
        rows = [{"age": "old", "job": "pilot"}] * 15
        errors = post(client, rows=rows).json()["errors"]
        assert len(errors) == 20
        assert {"/rows/0/age", "/rows/14/age", "/rows/0/job"} <= {error["pointer"] for error in errors}

    @pytest.mark.parametrize(
        ("body", "code", "pointer"),
        [
            ({"rows": []}, "nothing_to_predict", "/rows"),
            ({"columns": {}}, "nothing_to_predict", "/columns"),
            ({"columns": {"age": [], "job": []}}, "nothing_to_predict", "/columns"),
            ({"columns": {"age": [1, 2], "job": [None]}}, "ragged_columns", "/columns/job"),
            ({"columns": {"age": 1}}, "invalid_request", "/columns/age"),
            ({"rows": [[1, 2]]}, "invalid_request", "/rows/0"),
            ({"rows": {"age": 1}}, "invalid_request", "/rows"),
            ({"columns": [1]}, "invalid_request", "/columns"),
            ({}, "invalid_request", "/rows"),
            ({"rows": [{}], "columns": {"age": [1]}}, "invalid_request", "/rows"),
            ({"rows": [{}], "colour": 1}, "invalid_request", "/colour"),
            ({"rows": [{}], "extra": "drop"}, "invalid_request", "/extra"),
            ({"model": 1, "rows": [{}]}, "invalid_request", "/model"),
        ],
    )
    def test_refused_forms(self, client, body, code, pointer):
        problem(post(client, **body), 422, code, pointer)

    @pytest.mark.parametrize("text", ["", "{", "\ud800".encode("utf-8", "surrogatepass"), "9" * 5000])
    def test_not_json(self, client, text):
        problem(post_text(client, text), 422, "invalid_json")

    def test_nested_too_deeply(self, client):
        problem(post_text(client, "[" * 100_000), 422, "nested_too_deeply")

    def test_half_a_surrogate_pair_in_a_name(self, client):
        response = post_text(client, f'{{"model": "{MODEL}", "rows": [{{"\\ud800": "\\ud800", "age": 1, "job": 1}}]}}')
        problem(response, 422, "unknown_feature", "/rows/0/\\ud800")

    @pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded"])
    def test_other_media_types(self, client, content_type):
        refused = post_text(client, "age,job", content_type)
        detail = problem(refused, 415, "unsupported_media_type", "header/Content-Type")["detail"]
        assert "application/json, text/csv, " in detail

    def test_model_not_found(self, client):
        problem(post(client, model="nobody", rows=[{}]), 404, "model_not_found")

    def test_parameters_in_the_query(self, client):
        rows = {"rows": [{"age": 1}]}
        assert client.post(f"/predict?model={MODEL}&on_missing=missing", json=rows).status_code == 200
        problem(
            client.post(f"/predict?model={MODEL}", json=rows | {"model": MODEL}), 422, "duplicate_feature", "/model"
        )

    def test_body_too_large(self, context, trained):
        small = context.settings.limits.model_copy(update={"max_body_bytes": 100})
        settings = context.settings.model_copy(update={"limits": small})
        with client_of(type(context)(**{**vars(context), "settings": settings})) as client:
            body = problem(post(client, rows=[{"age": 1, "job": None}] * 10), 413, "body_too_large")
        assert "BRISTLECONE_MAX_BODY_BYTES" in body["detail"]

    def test_more_cells_than_fit_into_memory(self, client, context):
        wide = [{"name": f"x{i}", "kind": "numeric", "categories": None} for i in range(700)]
        make_trained_model(context, name="wide", features=wide)
        problem(post(client, model="wide", rows=[{}] * 100_000, on_missing="missing"), 413, "too_many_cells")

    def test_damaged_artifact(self, client, context, trained):
        path = context.artifact_store.path(trained.artifact_sha256)
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        detail = problem(post(client, rows=[{"age": 1, "job": None}]), 500, "artifact_damaged")["detail"]
        assert str(context.settings.home) not in detail

    def test_artifact_of_a_newer_version(self, client, context, trained):
        path = context.artifact_store.path(trained.artifact_sha256)
        path.write_bytes(forged(path.read_bytes(), set_in("format", to=FORMAT_VERSION + 1)))
        detail = problem(post(client, rows=[{"age": 1, "job": None}]), 500, "artifact_unsupported")["detail"]
        assert "newer version" in detail
        assert str(context.settings.home) not in detail


class TestLargeAnswers:
    """Answers that are sent in pieces."""

    N_ROWS, LABELS = 3_000, tuple(f"class {i:02}" for i in range(50))

    @pytest.fixture
    def many(self, context):
        return make_trained_model(context, name="many", labels=self.LABELS)

    def test_are_equal_to_those_of_small_requests(self, client, many):
        rows = [{"age": i % 77, "job": ("skilled", "unskilled", None)[i % 3]} for i in range(self.N_ROWS)]
        with client.stream("POST", "/predict", json={"model": "many", "rows": rows}) as response:
            pieces = list(response.iter_bytes())
        whole = b"".join(pieces)
        assert max(map(len, pieces)) < len(whole) / 10
        assert response.headers["content-type"] == "application/json"
        answer = json.loads(whole)
        parts = [post(client, model="many", rows=rows[i : i + 100]) for i in range(0, self.N_ROWS, 100)]
        assert all("content-length" in part.headers for part in parts)
        assert answer["predictions"] == [entry for part in parts for entry in part.json()["predictions"]]
        assert answer["model"] == parts[0].json()["model"]
        assert whole == json.dumps(answer, separators=(",", ":")).encode()

    @pytest.mark.parametrize(
        "body", [{"rows": [{}] * 501}, {"columns": {"age": [1] * 501}}, {"columns": {"age": 1, "job": [None] * 501}}]
    )
    def test_are_bounded_by_cells(self, context, many, body):
        limits = context.settings.limits.model_copy(update={"max_answer_cells": 500 * (2 + len(self.LABELS))})
        settings = context.settings.model_copy(update={"limits": limits})
        with client_of(type(context)(**{**vars(context), "settings": settings})) as client:
            refused = problem(post(client, model="many", on_missing="missing", **body), 413, "too_many_cells")
            assert post(client, model="many", on_missing="missing", rows=[{}] * 500).status_code == 200
        assert "BRISTLECONE_MAX_ANSWER_CELLS" in refused["detail"]
        assert "at most 500 rows" in refused["detail"]
