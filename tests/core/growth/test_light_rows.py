"""Rows whose weights vanish in the rounding of the other rows' weights."""

import warnings
from typing import Any

import numpy as np
import pytest

import core

LOSSES = (
    "gini",
    "entropy",
    "misclassification",
    "twoing",
    "ranking",
    "ne",
    {"kind": "gce", "q": 0.7},
    {"kind": "credal", "s": 1.0},
    {"kind": "credal", "s": 1e-3},
)


@pytest.mark.parametrize("categorical", [None, [0]], ids=["numbers", "categories"])
@pytest.mark.parametrize("exponent", [-14, -320])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_rows_of_any_weight_do_not_stop_growth(loss: Any, exponent: int, categorical: list[int] | None) -> None:
    """Among the seeds are some with which all rows on one side of a cut are too light to change the sum of all."""
    for seed in (7, 16, 36, 54, 61):
        generator = np.random.default_rng(seed)
        X, y = generator.integers(0, 6, (100, 2)), generator.integers(0, 2 if loss == "ranking" else 3, 100)
        weights = 10 ** generator.uniform(exponent, 0, 100)
        parameters = {"loss": loss, "categorical_features": categorical, "random_state": 0}
        for model in (core.TreeClassifier(**parameters), core.ForestClassifier(n_estimators=3, **parameters)):
            with warnings.catch_warnings(action="error"):
                model.fit(X, y, sample_weight=weights)
            np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("weight", [1e-16, 1e-200], ids=str)
def test_credal_trees_of_light_rows_alone(weight: float) -> None:
    """The free mass outweighs all rows by far."""
    tree = core.TreeClassifier(loss={"kind": "credal", "s": 1.0}, categorical_features=[0])
    tree.fit([[0, 1], [2, 0]], [0, 1], sample_weight=[weight, weight])
    np.testing.assert_allclose(tree.predict_proba([[0, 1]]).sum(), 1.0)
