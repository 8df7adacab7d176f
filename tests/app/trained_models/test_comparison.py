"""GET /models/compare: values of several models side by side."""

import pytest

from tests.app.trained_models.made import make_trained_model
from tests.app.trained_models.problems import problem
from tests.app.trained_models.registered import like, register


def compared(client, ids, group):
    response = client.get("/models/compare", params={"ids": ids})
    assert response.status_code == 200, response.text
    return {entry["name"]: (entry["values"], entry["differs"]) for entry in response.json()[group]}


@pytest.fixture
def pair(context):
    first = make_trained_model(
        context,
        parameters={"n_estimators": 5, "loss": {"kind": "ne", "lambda": 0.5}, "oob_score": True, "class_weight": None},
        metrics={"test": {"accuracy": 0.75, "confusion": [[1, 0], [0, 1]], "reason": None}, "folds": [{}]},
        noise={"injected": {"kind": "uniform", "rate": 0.2}, "correction": None},
    )
    second = like(
        first,
        parameters={"n_estimators": 5, "loss": {"kind": "gini"}, "oob_score": 1, "class_weight": {"a": 1.0}},
        metrics={"test": {"accuracy": 0.5, "log_loss": None, "reason": "too few"}, "minimax_risk": 0.2},
        noise={"injected": None, "correction": {"kind": "forward", "transition": [[0.9, 0.1]] * 200}},
    )
    return first, register(context, second)


def test_models_come_in_the_order_of_the_references(client, pair):
    client.put("/aliases/best", json={"model_id": str(pair[1].id)})
    for ids, versions in (("credit-risk:1,@best", [1, 2]), (f"credit-risk,{pair[0].id}", [2, 1])):
        models = client.get("/models/compare", params={"ids": ids}).json()["models"]
        assert [model["version"] for model in models] == versions


def test_parameters(client, pair):
    assert compared(client, "credit-risk:1,credit-risk:2", "parameters") == {
        "n_estimators": ([5, 5], False),
        "loss.kind": (["ne", "gini"], True),
        "loss.lambda": ([0.5, None], True),
        "oob_score": ([True, 1], True),
        "class_weight": ([None, None], False),
        "class_weight.a": ([None, 1.0], True),
    }


def test_metrics_are_the_numbers(client, pair):
    assert compared(client, "credit-risk:1,credit-risk:2", "metrics") == {
        "test.accuracy": ([0.75, 0.5], True),
        "test.log_loss": ([None, None], False),
        "minimax_risk": ([None, 0.2], True),
    }


def test_a_long_matrix_is_shown_by_its_digest(client, pair):
    noise = compared(client, "credit-risk:1,credit-risk:2", "noise")
    assert noise["injected.rate"] == ([0.2, None], True)
    [_, digest], differs = noise["correction.transition"]
    assert "SHA-256" in digest
    assert differs
    assert compared(client, "credit-risk:2,credit-risk:2", "noise")["correction.transition"] == ([digest] * 2, False)


def test_evaluations(client, context, pair):
    register(context, like(pair[0], evaluation={"kind": "holdout", "test_fraction": 0.2, "stratify": True}))
    register(context, like(pair[0], evaluation={"kind": "cross_validation", "folds": 5}))
    assert compared(client, "credit-risk:1,credit-risk:3,credit-risk:4", "evaluation") == {
        "kind": ([None, "holdout", "cross_validation"], True),
        "test_fraction": ([None, 0.2, None], True),
        "stratify": ([None, True, None], True),
        "folds": ([None, None, 5], True),
    }
    assert compared(client, "credit-risk:1,credit-risk:2", "evaluation") == {}


def test_lineage(client, pair):
    lineage = compared(client, "credit-risk:1,credit-risk:2", "lineage")
    assert lineage["data_sha256"] == (["0" * 64] * 2, False)
    assert set(lineage) == {
        "kind", "seed", "dataset_id", "data_sha256", "code_version", "fit_seconds", "size_bytes",
    }  # fmt: skip


@pytest.mark.parametrize("ids", ["", "credit-risk", ",".join(["credit-risk"] * 21)])
def test_too_few_and_too_many(client, pair, ids):
    body = problem(client.get("/models/compare", params={"ids": ids}), 422, "invalid_request")
    assert body["errors"][0]["pointer"] == "query/ids"


def test_an_unknown_model(client, pair):
    detail = problem(client.get("/models/compare?ids=credit-risk,nobody"), 404, "model_not_found")["detail"]
    assert "nobody" in detail
