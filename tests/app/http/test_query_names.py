"""Every route refuses query parameters that it does not have."""

import re
import uuid

import pytest
from fastapi.testclient import TestClient

from tests.app.trained_models.made import make_trained_model

METHODS = ("get", "post", "put", "patch", "delete")


def _operations(client: TestClient) -> list[tuple[str, str]]:
    paths = client.get("/openapi.json").json()["paths"]
    return [(method, path) for path, described in paths.items() for method in METHODS if method in described]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_every_route_refuses_an_unknown_parameter(client: TestClient) -> None:
    operations = [operation for operation in _operations(client) if operation != ("get", "/predict")]
    assert len(operations) > 15
    for method, path in operations:
        response = client.request(method, re.sub(r"\{\w+\}", str(uuid.uuid4()), path), params={"nonsense": "1"})
        assert response.status_code == 422, (method, path, response.text)
        problem = response.json()
        if path.startswith("/v2"):  # errors of the Open Inference Protocol have another form
            assert "'nonsense'" in problem["error"]
            continue
        pointers = [error["pointer"] for error in problem["errors"]]
        assert (problem["code"], pointers) == ("invalid_request", ["query/nonsense"]), (method, path)
        assert "'nonsense'" in problem["detail"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_thousands_of_unknown_parameters_are_one_error(client: TestClient) -> None:
    for path in ("/jobs", "/openapi.json"):
        problem = client.get(path, params={f"unknown{i}": "" for i in range(3_000)})
        assert problem.status_code == 422
        assert len(problem.content) < 4_000
        assert "3,000 query parameters are not known here: 'unknown0', " in problem.json()["detail"]
        assert len(problem.json()["errors"]) == 1


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", ["model", "on_missing"])
def test_a_prediction_refuses_a_parameter_that_is_given_twice(client: TestClient, name: str) -> None:
    query = [("model", "m"), (name, "error"), (name, "error")]
    problem = client.post("/predict", params=query, json={"rows": [{"age": 41}]}).json()
    assert problem["code"] == "invalid_request", problem
    assert [error["pointer"] for error in problem["errors"]] == [f"query/{name}"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_names_of_features_are_parameters_of_a_prediction(client: TestClient) -> None:
    make_trained_model(client.app.state.context, name="m")
    response = client.get("/predict", params={"model": "m", "age": "41", "job": "skilled"})
    assert response.status_code == 200, response.text
    refused = client.get("/predict", params={"model": "m", "age": "41", "job": "skilled", "Jobs": "1"})
    assert refused.json()["code"] == "unknown_feature"
    assert refused.json()["errors"][0]["detail"].endswith("; did you mean 'job'?")


def test_the_nearest_parameter_is_suggested(client: TestClient) -> None:
    response = client.get("/jobs", params={"limt": 3, "zzz": 1})
    first, second = [error["detail"] for error in response.json()["errors"]]
    assert first.endswith("; did you mean 'limit'?")
    assert "did you mean" not in second


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_parameters_that_a_route_reads_itself_are_known(client: TestClient) -> None:
    make_trained_model(client.app.state.context, name="m")
    rows = {"rows": [{"age": 41}]}
    assert client.post("/predict", params={"model": "m", "on_missing": "missing"}, json=rows).status_code == 200
    raw = {"content": "x,y\n1,a\n2,b\n", "headers": {"Content-Type": "text/csv"}}
    assert client.post("/datasets", params={"target": "y", "name": "raw"}, **raw).status_code == 201


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_fields_of_a_form_are_refused_in_the_query(client: TestClient) -> None:
    form = {"files": {"file": ("t.csv", "x,y\n1,a\n2,b\n")}, "data": {"target": "y"}}
    response = client.post("/datasets", params={"name": "lost"}, **form)
    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"] == "query/name"
    assert client.post("/datasets", **form).status_code == 201


def test_a_value_too_many_is_refused(client: TestClient) -> None:
    for path in ("/jobs?limit=1&limit=2", f"/datasets/{uuid.uuid4()}/rows?limit=3&limit=17"):
        response = client.get(path)
        assert response.status_code == 422
        [error] = response.json()["errors"]
        assert error == {"pointer": "query/limit", "detail": "limit is given 2 times; it has one value, send it once"}


def test_a_parameter_that_is_a_list_may_be_repeated(client: TestClient) -> None:
    response = client.get(f"/datasets/{uuid.uuid4()}/profile?column=a&column=b")
    assert response.json()["code"] == "dataset_not_found"
