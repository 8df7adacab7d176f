"""Properties of all routes: request ids, problem details, limits and logs."""

import json
import logging
import re

import pytest
from fastapi import APIRouter
from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator
from sqlalchemy.exc import OperationalError

from app.http.refusal import HEALTH_PATHS
from app.jobs.queue import make_celery

#: For what no database has a part in.
ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
PROBLEM_KEYS = {"type", "title", "status", "detail", "code"}


def _is_problem(response, status: int, code: str) -> dict:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert set(problem) - {"errors"} == PROBLEM_KEYS
    assert (problem["status"], problem["code"]) == (status, code)
    assert response.headers["X-Request-Id"]
    return problem


@ON_SQLITE
class TestRequestId:
    def test_is_generated_for_every_answer(self, client: TestClient) -> None:
        ids = {client.get(path).headers["X-Request-Id"] for path in ("/healthz", "/nowhere", "/jobs")}
        assert len(ids) == 3

    def test_of_the_client_is_used(self, client: TestClient) -> None:
        response = client.get("/healthz", headers={"X-Request-Id": "trace-42"})
        assert response.headers["X-Request-Id"] == "trace-42"

    def test_that_could_forge_a_log_line_is_replaced(self, client: TestClient) -> None:
        response = client.get("/healthz", headers={"X-Request-Id": "a b\tc"})
        assert response.headers["X-Request-Id"] != "a b\tc"


class TestProblems:
    def test_unknown_route(self, client: TestClient) -> None:
        _is_problem(client.get("/nowhere"), 404, "not_found")

    def test_wrong_method(self, client: TestClient) -> None:
        response = client.put("/jobs")
        _is_problem(response, 405, "method_not_allowed")
        assert response.headers["allow"] == "GET, HEAD"
        several = _is_problem(client.put("/datasets"), 405, "method_not_allowed")
        assert several["detail"] == "PUT is not possible at /datasets; the methods there are GET, HEAD, POST."

    @ON_SQLITE
    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
    def test_every_path_names_its_methods(self, client: TestClient, method: str) -> None:
        paths = client.get("/openapi.json").json()["paths"]
        methods = {path: {name.upper() for name in operations} for path, operations in paths.items()}
        methods |= {path: {"GET"} for path in ("/docs", "/docs/{name}", "/openapi.json")}
        for path in methods:
            request_path = path.replace("{", "").replace("}", "")
            # `/models/compare` names its own methods alone; others look for a model of that name, which is reserved.
            reached = set().union(*(methods[other] for other in methods if _matches(other, request_path)))
            own = methods.get(request_path) or reached
            if method not in reached:
                response = client.request(method, request_path)
                if path.startswith("/v2"):  # errors of the Open Inference Protocol have another form
                    assert response.status_code == 405
                    assert "GET" in response.json()["error"] or "POST" in response.json()["error"]
                else:
                    _is_problem(response, 405, "method_not_allowed")
                named = set(response.headers["allow"].split(", "))
                assert named == own | ({"HEAD"} if "GET" in own else set()), path

    @pytest.mark.parametrize("path", ["/docs", "/docs/start.js", "/openapi.json", "/healthz", "/readyz"])
    def test_unknown_parameters_are_refused_everywhere(self, client: TestClient, path: str) -> None:
        assert client.get(path).status_code == 200
        problem = _is_problem(client.get(path, params={"nmae": "x"}), 422, "invalid_request")
        assert problem["errors"][0]["pointer"] == "query/nmae"

    @pytest.mark.parametrize("path", ["/jobs", "/datasets", "/openapi.json", "/docs", "/healthz", "/nowhere"])
    def test_head_is_get_without_the_body(self, client: TestClient, path: str) -> None:
        with_body, without = client.get(path), client.head(path)
        assert (without.status_code, without.content) == (with_body.status_code, b"")
        for name in ("content-type", "content-length"):
            assert without.headers[name] == with_body.headers[name]

    def test_head_where_there_is_no_get(self, client: TestClient) -> None:
        response = client.head("/train")
        assert (response.status_code, response.headers["allow"]) == (405, "POST")

    @pytest.mark.parametrize("path", ["/train", "/predict"])
    @pytest.mark.parametrize("body", [b"{", b'{"\xff": 1}', b"9" * 5000])
    def test_body_that_is_not_json(self, client: TestClient, path: str, body: bytes) -> None:
        response = client.post(path, content=body, headers={"Content-Type": "application/json"})
        _is_problem(response, 422, "invalid_json")

    def test_a_malformed_job_id(self, client: TestClient) -> None:
        problem = _is_problem(client.get("/jobs/17"), 422, "invalid_request")
        assert problem["errors"][0]["pointer"] == "path/job_id"

    def test_body_over_the_limit_names_the_limit(self, client: TestClient) -> None:
        limit = client.app.state.settings.limits.max_body_bytes
        response = client.post("/train", content=b" " * (limit + 1), headers={"Content-Type": "application/json"})
        assert str(limit) in _is_problem(response, 413, "body_too_large")["detail"]

    @pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
    def test_an_internal_error_shows_only_its_id(self, client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
        router = APIRouter()

        @router.get("/broken")
        def broken() -> None:
            raise RuntimeError("/secret/path")

        client.app.include_router(router)
        response = client.get("/broken")
        problem = _is_problem(response, 500, "internal_error")
        assert "secret" not in response.text
        assert "X-Request-Id" in problem["detail"]
        assert "/secret/path" in caplog.text

    @pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
    def test_an_unavailable_database(self, client: TestClient) -> None:
        router = APIRouter()

        @router.get("/away")
        def away() -> None:
            raise OperationalError("SELECT 1", {}, Exception("password=hunter2"))

        client.app.include_router(router)
        response = client.get("/away")
        _is_problem(response, 503, "database_unavailable")
        assert "hunter2" not in response.text


def _matches(template: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path) is not None


class TestLog:
    def test_never_holds_a_query_string(self, client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO):
            client.get("/predict?model=m&salary=123456789")
        ours = [record.getMessage() for record in caplog.records if not record.name.startswith("httpx2")]
        assert any(line.startswith("GET /predict 404") for line in ours), ours
        assert not any("123456789" in line for line in ours)

    def test_never_grows_with_the_request(self, client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO):
            client.request("B" * 5000, "/" + "x" * 5000)
        assert all(len(record.getMessage()) < 1000 for record in caplog.records if record.name == "app.access")

    def test_has_one_line_per_request_whatever_the_path(
        self, client: TestClient, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.INFO):
            client.get("/x%0A2026-01-01 INFO forged")
        assert not any("\n" in record.getMessage() for record in caplog.records if record.name == "app.access")


class TestHealth:
    def test_alive(self, client: TestClient) -> None:
        assert client.get("/healthz").json() == {"status": "ok"}

    def test_ready(self, client: TestClient) -> None:
        answer = client.get("/readyz").json()
        assert answer["status"] == "ready"
        assert set(answer["checks"].values()) == {"ok"}

    def test_not_ready_without_a_broker(self, client: TestClient) -> None:
        client.app.state.celery = make_celery("redis+socket:///nowhere.sock")
        response = client.get("/readyz")
        assert response.status_code == 503
        assert response.json()["checks"] == {
            "database": "ok",
            "broker": "unavailable",
            "store": "ok",
            "migrations": "ok",
            "storage": "ok",
        }


@ON_SQLITE
class TestOpenApi:
    def test_describes_every_route_with_a_summary(self, client: TestClient) -> None:
        paths = client.get("/openapi.json").json()["paths"]
        assert {"/datasets", "/train", "/jobs", "/jobs/{job_id}", "/models", "/predict", "/healthz"} <= set(paths)
        operations = [operation for path in paths.values() for operation in path.values()]
        assert all(operation["summary"] for operation in operations)

    def test_train_shows_examples_that_are_valid(self, client: TestClient) -> None:
        body = client.get("/openapi.json").json()["paths"]["/train"]["post"]["requestBody"]
        examples = body["content"]["application/json"]["examples"]
        assert len(examples) >= 3
        for example in examples.values():
            # Well-formed: the only fault is that the data set of the example does not exist.
            _is_problem(client.post("/train", json=example["value"]), 404, "dataset_not_found")

    def test_document_and_all_references_are_valid(self, client: TestClient) -> None:
        document = client.get("/openapi.json").json()
        for schema in document["components"]["schemas"].values():
            Draft202012Validator.check_schema(schema)
        references = re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(document))
        assert references
        for reference in references:
            part = document
            for token in reference.split("/"):
                part = part[token.replace("~1", "/").replace("~0", "~")]
        assert '"$defs"' not in json.dumps(document)

    def test_every_answer_of_the_server_is_documented(self, client: TestClient) -> None:
        document = client.get("/openapi.json").json()
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                expected = {"400", "408", "422", "431"}
                expected |= set() if path in HEALTH_PATHS else {"401", "403", "421", "429", "503"}
                expected |= {"403"} if method != "get" else set()
                expected |= {"413", "415"} if "requestBody" in operation else set()
                assert expected <= set(operation["responses"]), (method, path)

    def test_raw_uploads_have_their_fields_in_the_query(self, client: TestClient) -> None:
        upload = client.get("/openapi.json").json()["paths"]["/datasets"]["post"]
        assert {"target", "name", "exclude", "types"} <= {parameter["name"] for parameter in upload["parameters"]}

    def test_rows_and_columns_exclude_each_other(self, client: TestClient) -> None:
        document = client.get("/openapi.json").json()
        schema = document["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        valid = Draft202012Validator({**schema, "components": document["components"]}).is_valid
        rows, columns = [{"x": 1}], {"x": [1]}
        assert valid({"model": "m", "rows": rows})
        assert valid({"model": "m", "columns": columns, "rows": None})
        assert not valid({"model": "m", "rows": rows, "columns": columns})
        assert not valid({"model": "m"})

    def test_problem_is_a_known_schema(self, client: TestClient) -> None:
        assert "Problem" in client.get("/openapi.json").json()["components"]["schemas"]


@pytest.mark.parametrize("path", ["/jobs", "/models", "/datasets"])
def test_lists_refuse_unknown_filters(client: TestClient, path: str) -> None:
    assert client.get(path, params={"limit": 5, "dataset_ids": "x"}).status_code == 422
    response = client.get(path, params={"nmae": "loans"})
    assert response.json()["code"] == "invalid_request"
    assert response.json()["errors"][0]["pointer"] == "query/nmae"
    assert "limit" in response.json()["detail"]
    assert client.get(path, params={"limit": 5, "sort": "-created_at"}).status_code == 200
