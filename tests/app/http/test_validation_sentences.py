"""Invalid fields are described in the words of this service, whatever the field and the value."""

import re
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic_core.core_schema import ErrorType

from app.http.validation_sentences import field_errors
from core import ESTIMATORS, LOSSES, NOISE_KINDS, service_api

#: Words of the sentences of pydantic and of no sentence of this service.
FOREIGN = re.compile(r"\b(should|Input|Value error|Extra inputs|Field required|Unable to|Assertion failed|Object)\b")
BROKEN: list[Any] = [None, True, "text", -1, 1.5, 10**30, [], [[]], ["a", 1], {}, {"kind": "no"}, {"a": [1]}]

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def _broken_models() -> Iterator[Any]:
    """Yield models of every kind in which every parameter has the same broken value, and values that are no models."""
    yield from BROKEN
    for value in BROKEN:
        for kind in ESTIMATORS:
            yield {"kind": kind, **{p.name: value for p in service_api.estimator_parameters(kind)}, "nonsense": value}
        for kind in LOSSES:
            loss = {"kind": kind, **{p.name: value for p in service_api.loss_parameters(kind)}, "nonsense": value}
            yield {"kind": "tree", "loss": loss}


def _broken_noise() -> Iterator[Any]:
    yield from BROKEN
    for value in BROKEN:
        yield {"inject": value, "correction": value}
        yield {"correction": {"kind": value, "transition": value, "nonsense": value}}
        for kind in NOISE_KINDS:
            parameters = {p.name: value for p in service_api.noise_parameters(kind)}
            yield {"inject": {"kind": kind, **parameters, "nonsense": value}}


def _broken_bodies(client: TestClient) -> Iterator[tuple[str, Any]]:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    for path, name in (("/train", "TrainRequest"), ("/audits", "AuditSpec"), ("/sweeps", "SweepSpec")):
        for value in BROKEN:
            yield path, dict.fromkeys(schemas[name]["properties"], value)
            yield path, value
        for model in _broken_models():
            yield path, {"model": model, "models": [model]}
        for noise in _broken_noise():
            yield path, {"model": {"kind": "tree"}, "noise": noise}
    for value in BROKEN:
        for kind in ("none", "holdout", "cross_validation", "dataset"):
            names = ("test_fraction", "stratify", "folds", "dataset_id")
            yield "/train", {"model": {"kind": "tree"}, "evaluation": {"kind": kind, **dict.fromkeys(names, value)}}
        yield "/train", {"model": {"kind": "tree"}, "data": {"columns": value, "target": value}}
        yield "/train", {"model": {"kind": "tree"}, "data": {"columns": {"x": value}, "target": "x"}}
        yield "/predict", dict.fromkeys(("model", "rows", "columns", "on_unknown", "on_missing", "extra"), value)
        yield "/predict", value


def _check(response: Any, sent: Any) -> None:
    assert 400 <= response.status_code < 500, (sent, response.text)
    problem = response.json()
    texts = [problem["detail"], *(error["detail"] for error in problem.get("errors", ()))]
    for text in texts:
        assert not FOREIGN.search(text), (sent, text)
        assert len(text) < 2000


def test_bodies(client: TestClient) -> None:
    n_sent = 0
    for path, body in _broken_bodies(client):
        _check(client.post(path, json=body), body)
        n_sent += 1
    assert n_sent > 1000


def test_query_parameters(client: TestClient) -> None:
    n_sent = 0
    for path, described in client.get("/openapi.json").json()["paths"].items():
        for parameter in described.get("get", {}).get("parameters", ()):
            if parameter["in"] == "query" and parameter["schema"].get("type") != "string":
                url = re.sub(r"\{\w+\}", "00000000-0000-0000-0000-000000000001", path)
                for value in ("", "text", "-1", "1.5", "9" * 400, "\0"):
                    response = client.get(url, params={parameter["name"]: value})
                    if response.status_code != 200:
                        _check(response, (path, parameter["name"], value))
                        n_sent += 1
    assert n_sent > 20


def test_fields_of_an_upload(client: TestClient) -> None:
    raw = {"content": "x,y\n1,a\n2,b\n", "headers": {"Content-Type": "text/csv"}}
    for name in ("target", "name", "types", "exclude"):
        for values in (["", ""], ["{"], ["[]"], ['{"x": 3}'], ["a" * 300], ["\0"], []):
            response = client.post("/datasets", params={"target": ["y"], name: values}, **raw)
            if response.status_code not in (200, 201):
                _check(response, (name, values))
                pointers = [error["pointer"] for error in response.json()["errors"]]
                assert all(re.fullmatch(r"/|query/\w+(/(x|\d+))?", pointer) for pointer in pointers), pointers


@pytest.mark.parametrize(
    ("body", "pointer", "sentence"),
    [
        ({"seed": -1}, "/seed", "seed is -1; it must be at least 0"),
        (
            {"noise": {"inject": {"kind": "pairwise", "rates": [0.1, "a"]}}},
            "/noise/inject/rates/1",
            "rates[1] is 'a'; it must be ",
        ),
        ({"seed": "0"}, "/seed", "seed is '0'; it must be an integer"),
        ({"colour": 1}, "/colour", "colour is not a known key here; remove it, or use one of 'data', 'dataset_id', "),
        ({"n_fits": 8}, "/n_fits", "n_fits is not a known key here; remove it, or move it into 'model', where "),
        (
            {"noise": {"transition": [[1.0]]}},
            "/noise/transition",
            "transition is not a known key here; remove it, or move it into 'correction' or 'inject', where it may be ",
        ),
        ({"target": "y"}, "/target", "target is not a known key here; remove it, or move it into 'data', where it "),
        (
            {"model": {"kind": "auto", "timebudget": 3}},
            "/model/timebudget",
            "timebudget is not a known key here; did you mean 'time_budget'? Remove it, or use one of "
            "'class_weight', 'kind', 'n_fits', 'time_budget'",
        ),
        (
            {"model": {"kind": "tree", "loss": {"kind": "gce", "p": 0.5}}},
            "/model/loss/p",
            "p is not a known key here; remove it, or use one of 'kind', 'q'",
        ),
        ({"model": {"kind": None}}, "/model", "kind is null; it must be one of 'tree', 'forest', "),
        ({"model": {"n_fits": 3}}, "/model", "kind is missing in model; add it: one of 'adaboost', "),
        ({"model": {"kind": "stump"}}, "/model", "kind is 'stump'; it must be one of 'tree', 'forest', "),
        (
            {"model": "Forest"},
            "/model",
            "kind is 'Forest'; did you mean 'forest'? It must be one of 'tree', 'forest', ",
        ),
        ({"model": "stump"}, "/model", "kind is 'stump'; it must be one of 'tree', 'forest', "),
        (
            {"model": {"kind": "tree", "loss": 3}},
            "/model/loss",
            '3 is neither an object with a kind nor a kind alone, such as "gini"',
        ),
        ({"model": 3}, "/model", '3 is neither an object with a kind nor a kind alone, such as "forest"'),
        (
            {"model": {"kind": "tree", "max_features": -1}},
            "/model/max_features",
            "max_features is -1; it must be an integer at least 1, or a number above 0, or 'sqrt' or 'log2'",
        ),
        ({"seed": 10**20}, "/seed", "seed is 100000000000000000000; it must be at most 9007199254740991"),
        (
            {"model": {"kind": "tree", "class_weight": {"a": -1}}},
            "/model/class_weight/a",
            "a is -1; it must be at least 0",
        ),
        (
            {"model": {"kind": "tree", "loss": {"kind": "adaptive_ne", "grid": []}}},
            "/model/loss/grid",
            "grid is a list of length 0; it must be a list with at least 1 entry",
        ),
        (
            {"data": {"columns": {}, "target": "y"}},
            "/data/columns",
            "columns is an object of length 0; it must be an object with at least 1 entry",
        ),
        ({"name": "a/b"}, "/name", "'a/b' is not a model name; use 1 to 100 letters"),
    ],
)
def test_value_rule_and_way_out(client: TestClient, body: dict[str, Any], pointer: str, sentence: str) -> None:
    problem = client.post("/train", json={"model": {"kind": "tree"}, **body}).json()
    [error] = [error for error in problem["errors"] if error["pointer"] in (pointer, pointer.rpartition("/")[0])]
    assert error["pointer"] == pointer
    detail = error["detail"]
    assert detail.startswith(sentence)
    assert problem["detail"].startswith("At /")


def test_an_id_that_is_none(client: TestClient) -> None:
    [error] = client.get("/jobs/mine").json()["errors"]
    assert error["pointer"] == "path/job_id"
    assert error["detail"] == "job_id is 'mine'; it must be an id as the service returns it (a UUID)"


def test_every_kind_of_error_has_a_sentence(database_url: str) -> None:
    bounds = dict.fromkeys(("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length"), 1)
    context = {**bounds, "expected": "'a'", "expected_tags": "'a'", "tag": "b", "discriminator": "'kind'"}
    for kind in typing.get_args(ErrorType):
        item = {"type": kind, "loc": ("body", "x"), "msg": "Input should, be", "input": 1, "ctx": context}
        [error], _ = field_errors([item], {"x": 1})
        assert error.pointer == "/x"
        assert "Input" not in error.detail


def test_an_empty_body_and_unknown_routes(client: TestClient) -> None:
    empty = client.post("/train", content=b"", headers={"Content-Type": "application/json"}).json()
    assert empty["errors"] == [{"pointer": "/", "detail": "the body is empty; send JSON"}]
    way_out = "GET /openapi.json lists all routes, and /docs shows them in a browser."
    assert client.get("/model").json()["detail"] == f"There is no route GET /model; {way_out}"
    refused = client.put("/models").json()
    assert refused["detail"] == "PUT is not possible at /models; the methods there are GET, HEAD."
