"""Permutation importances of training jobs: measured on held-out rows, within bounds."""

from typing import Any

import numpy as np
import pytest

import core
from app.context import ServiceContext
from core import service_api
from tests.workers.training_runs import made, run, store
from workers import importances

FOREST = {"kind": "forest", "n_estimators": 10}


def wide(n_features: int, n_rows: int = 300) -> dict[str, list[Any]]:
    """Return a table whose labels depend on the first feature only."""
    X = np.random.default_rng(0).normal(size=(n_features, n_rows))
    columns = {f"x{j}": X[j].tolist() for j in range(n_features)}
    return {**columns, "y": (X[0] > 0).astype(int).tolist()}


def measured(context: ServiceContext, columns: dict[str, list[Any]], **request: Any) -> dict[str, Any]:
    model = run(context, dataset_id=store(context, columns), **{"model": FOREST, "seed": 3, **request})
    assert model.importances is not None
    return model.importances


def test_they_are_those_of_the_held_out_rows(context: ServiceContext) -> None:
    columns = wide(4)
    found = measured(context, columns, evaluation={"kind": "holdout", "test_fraction": 0.5})
    assert (found["n_rows"], found["n_repeats"], found["reason"]) == (150, importances.N_REPEATS, None)
    assert set(found["features"]) == {"0", "1", "2", "3"}
    mean, sd = found["features"]["0"]
    assert mean > 0.3 > sd > 0
    assert all(abs(found["features"][j][0]) < 0.1 for j in "123")
    assert found == measured(context, columns, evaluation={"kind": "holdout", "test_fraction": 0.5})


@pytest.mark.parametrize("evaluation", [{"kind": "none"}, {"kind": "cross_validation", "folds": 2}])
def test_without_held_out_rows_there_is_a_reason(context: ServiceContext, evaluation: dict[str, Any]) -> None:
    found = measured(context, wide(2), evaluation=evaluation)
    assert set(found) == {"reason"}
    assert "holdout" in found["reason"]


def test_a_test_data_set(context: ServiceContext) -> None:
    evaluation = {"kind": "dataset", "dataset_id": store(context, made(80, seed=5))}
    found = measured(context, made(200), evaluation=evaluation)
    assert found["n_rows"] == 80
    assert found["accuracy"] > 0.8


@pytest.mark.parametrize(
    ("bound", "value", "n_rows"), [("MAX_ROWS", 40, 40), ("MAX_VISITS", 1, 20), ("MAX_CELLS", 100, 25)]
)
def test_the_work_is_bounded_by_fewer_rows(
    context: ServiceContext, monkeypatch: pytest.MonkeyPatch, bound: str, value: int, n_rows: int
) -> None:
    monkeypatch.setattr(importances, "MIN_ROWS", 20)
    monkeypatch.setattr(importances, bound, value)
    assert measured(context, wide(4))["n_rows"] == n_rows


def test_of_many_features_the_most_important_ones_are_permuted(
    context: ServiceContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importances, "MAX_FEATURES", 3)
    dataset_id = store(context, wide(12))
    model = run(context, dataset_id=dataset_id, model=FOREST)
    estimator = core.load(context.artifact_store.path(model.artifact_sha256))
    best = np.argsort(-service_api.impurity_importances(estimator).mean)[:3]
    assert model.importances is not None
    assert set(model.importances["features"]) == {str(j) for j in best.tolist()}
    assert "3 most important" in model.importances["reason"]
