"""GET /models/{reference}/trees/{number} and /importances: nodes by name, parts, and stored importances."""

import uuid

import numpy as np
import pandas as pd
import pytest

import core
from app.inspection import endpoints as inspection
from app.inspection import service
from app.predictions.service import PredictionService
from app.storage.pages import SliceQuery
from tests.app.trained_models.made import FEATURES, client_of, fitted, make_trained_model
from tests.app.trained_models.problems import problem


@pytest.fixture
def client(context):
    with client_of(context) as client:
        client.app.include_router(inspection.router)
        yield client


@pytest.fixture
def model(context):
    """Return a forest of five trees with a numeric and a categorical feature."""
    return make_trained_model(context)


JOBS = FEATURES[1]["categories"]
DATED = [*FEATURES, {**FEATURES[0], "name": "since", "kind": "datetime"}]


def whole_tree(client, reference, number, **query):
    """Return the head of a tree and its nodes from all parts."""
    nodes, cursor = [], None
    while True:
        part = client.get(
            f"/models/{reference}/trees/{number}", params=query | ({"cursor": cursor} if cursor else {})
        ).json()
        nodes += part["nodes"]
        cursor = part["next_cursor"]
        if cursor is None:
            return part, nodes


def leaf(nodes, row):
    """Follow the answer from the root to a leaf for a row of cells by feature."""
    node = nodes[0]
    while node["feature"] is not None:
        value = row[node["feature"]]
        side = node["missing_goes"]
        if value is not None and node["categories"] is not None:
            side = node["categories_go"] if value in node["categories"] else side
        elif value is not None:
            value = JOBS.index(value) if isinstance(value, str) else value
            side = "left" if node["threshold"] is None or value <= node["threshold"] else "right"
        node = nodes[node[side]]
    return node


def fitted_on_a_frame(*_):
    """Return a forest whose trees split sets of categories."""
    generator = np.random.default_rng(0)
    columns = {"age": generator.integers(0, 50, 300).astype(float), "job": generator.choice(JOBS, 300)}
    labels = np.where((columns["age"] > 20) ^ np.isin(columns["job"], ["1", "skilled"]), "bad", "good")
    columns["age"][:15] = np.nan
    forest = core.ForestClassifier(n_estimators=5, random_state=0)
    return forest.fit(core.encode_frame(pd.DataFrame(columns)), labels)


class TestTrees:
    def test_categories_are_shown_by_name(self, client, context, monkeypatch):
        monkeypatch.setattr("tests.app.trained_models.made.fitted", fitted_on_a_frame)
        make_trained_model(context, name="credit-risk")
        self.check_predictions(client)
        nodes = [node for number in range(5) for node in whole_tree(client, "credit-risk", number)[1]]
        splits = [node for node in nodes if node["categories"]]
        assert splits
        assert all(node["feature"] == "job" and set(node["categories"]) <= set(JOBS) for node in splits)
        assert all({node["categories_go"], node["missing_goes"]} == {"left", "right"} for node in splits)

    def test_following_the_nodes_of_all_trees_gives_the_prediction(self, client, model):
        self.check_predictions(client)

    def check_predictions(self, client):
        trees = [whole_tree(client, "credit-risk", number)[1] for number in range(5)]
        for row in ({"age": 41, "job": "skilled"}, {"age": 3, "job": None}, {"age": None, "job": "true"}):
            shares = [leaf(nodes, row)["distribution"] for nodes in trees]
            answer = client.post("/predict", json={"model": "credit-risk", "rows": [row]}).json()
            expected = list(answer["predictions"][0]["probabilities"].values())
            assert [sum(column) / 5 for column in zip(*shares, strict=True)] == pytest.approx(expected)

    def test_the_head_and_the_root(self, client, model):
        head, nodes = whole_tree(client, str(model.id), 4)
        assert head["model"] == {"id": str(model.id), "name": "credit-risk", "version": 1}
        assert (head["tree"], head["n_trees"], head["n_nodes"]) == (4, 5, len(nodes))
        assert head["n_leaves"] == sum(node["left"] is None for node in nodes)
        assert head["depth"] == max(node["depth"] for node in nodes)
        assert (head["classes"], head["class"], head["rule_weight"]) == (["bad", "good"], None, None)
        assert (nodes[0]["parent"], nodes[0]["n_rows"] > 0, nodes[0]["feature"] in ("age", "job")) == (None, True, True)

    def test_parts_are_the_whole(self, client, model):
        _, nodes = whole_tree(client, "credit-risk", 0, limit=1000)
        head, in_parts = whole_tree(client, "credit-risk", 0, limit=3)
        assert (in_parts, len(nodes)) == (nodes, head["n_nodes"])

    def test_a_part_ends_early_where_nodes_are_large(self, client, context, model, monkeypatch):
        monkeypatch.setattr(service, "MAX_CELLS", 40)
        part = client.get("/models/credit-risk/trees/0").json()
        assert len(part["nodes"]) == 2
        _, nodes = whole_tree(client, "credit-risk", 0)
        assert len(nodes) == part["n_nodes"]

    def test_one_node_is_returned_however_large(self, context, model):
        served = PredictionService(
            context.sessions, context.artifact_store, context.served_models, context.instruments
        ).open("credit-risk")
        limits = context.settings.limits.model_copy(update={"max_answer_cells": 1})
        part = service.tree_part(served, 0, SliceQuery(limit=10, cursor=None), limits)
        assert (len(part.nodes), part.next_cursor is None) == (1, False)

    @pytest.mark.parametrize("number", [5, 2**31 - 1])
    def test_out_of_range(self, client, model, number):
        body = problem(client.get(f"/models/credit-risk/trees/{number}"), 404, "tree_not_found")
        assert body["errors"][0]["pointer"] == "path/number"
        assert "trees 0 to 4" in body["detail"]

    def test_refused(self, client, model):
        problem(client.get("/models/credit-risk/trees/-1"), 422, "invalid_request")
        problem(client.get("/models/credit-risk/trees/0?limit=1001"), 422, "invalid_request")
        problem(client.get("/models/nobody/trees/0"), 404, "model_not_found")
        cursor = client.get("/models/credit-risk/trees/0?limit=1").json()["next_cursor"]
        problem(client.get("/models/credit-risk/trees/1", params={"cursor": cursor}), 422, "invalid_cursor")

    def test_thresholds_of_dates_are_dates(self, client, context):
        make_trained_model(context, features=DATED, name="dated")
        nodes = [node for number in range(5) for node in whole_tree(client, "dated", number)[1]]
        thresholds = [node["threshold"] for node in nodes if node["feature"] == "since" and node["threshold"]]
        assert thresholds
        assert all(text.startswith("1970-01-01T00:0") and text.endswith("Z") for text in thresholds)

    def test_rules_of_a_booster(self, client, context, monkeypatch):
        forest = fitted(FEATURES, ("bad", "good"))
        booster = core.AdaBoostClassifier(n_rounds=3, random_state=0)
        monkeypatch.setattr("tests.app.trained_models.made.fitted", lambda *_: _booster(booster, forest))
        make_trained_model(context, name="boosted", kind="adaboost")
        head, nodes = whole_tree(client, "boosted", 0)
        assert (head["class"], head["n_trees"]) == ("good", 3)
        assert head["rule_weight"] > 0
        assert [node["output"] is None for node in nodes] == [node["left"] is not None for node in nodes]


def _booster(booster, forest):
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.integers(0, 50, 300), generator.integers(0, 4, 300)]).astype(float)
    return booster.fit(X, forest.predict(X))


class TestImportances:
    def test_of_a_model_without_measured_ones(self, client, model):
        body = client.get("/models/credit-risk/importances").json()
        assert body["permutation"] == {
            "accuracy": None, "n_rows": None, "n_repeats": None,
            "reason": "the model was trained by an earlier version",
        }  # fmt: skip
        assert sum(one["impurity"] for one in body["features"]) == pytest.approx(1)
        assert all(one["impurity_sd"] > 0 and one["permutation"] is None for one in body["features"])
        assert body["n_trees"] == 5
        shares = [one["impurity"] for one in body["features"]]
        assert shares == sorted(shares, reverse=True)

    def test_measured_ones_and_features_without_a_split(self, client, context):
        measured = {"accuracy": 0.9, "n_rows": 60, "n_repeats": 5, "features": {"1": [0.25, 0.01]}, "reason": None}
        make_trained_model(context, name="measured", importances=measured)
        body = client.get("/models/measured/importances").json()
        assert body["permutation"] == {name: measured[name] for name in ("accuracy", "n_rows", "n_repeats", "reason")}
        by_name = {one["feature"]: (one["permutation"], one["permutation_sd"]) for one in body["features"]}
        assert by_name == {"age": (None, None), "job": (0.25, 0.01)}

    def test_pages_are_the_whole_in_order_of_importance(self, client, context, model):
        numbers = [{**FEATURES[0], "name": f"x{number}"} for number in range(7)]
        make_trained_model(context, name="wide", features=numbers)
        whole = client.get("/models/wide/importances").json()
        assert (whole["total"], len(whole["features"]), whole["next_cursor"]) == (7, 7, None)
        pages = [client.get("/models/wide/importances?limit=3").json()]
        while cursor := pages[-1]["next_cursor"]:
            pages.append(client.get("/models/wide/importances", params={"limit": 3, "cursor": cursor}).json())
        assert [len(page["features"]) for page in pages] == [3, 3, 1]
        assert [one for page in pages for one in page["features"]] == whole["features"]
        assert {page["total"] for page in pages} == {7}
        foreign = {"cursor": pages[0]["next_cursor"]}
        problem(client.get("/models/credit-risk/importances", params=foreign), 422, "invalid_cursor")

    def test_not_found(self, client):
        problem(client.get(f"/models/{uuid.uuid4()}/importances"), 404, "model_not_found")
