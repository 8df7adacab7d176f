"""Scores on the true labels in the metrics of trained models."""

from typing import Any

import numpy as np
import pytest

import core
from app.context import ServiceContext
from app.requests.evaluation_specs import NoEvaluation
from app.trained_models.records import TrainedModelRecord
from app.training.specs import TrainSpec
from tests.workers.training_runs import made, run, store
from workers.training import _phase_weights

UNIFORM = [[0.8, 0.2], [0.2, 0.8]]


def noisy(n_rows: int = 1500, rate: float = 0.2, seed: int = 0) -> dict[str, list[Any]]:
    """Return a table whose labels are all noisy."""
    columns = made(n_rows, seed=seed)
    labels = core.inject_noise(columns["y"], {"kind": "uniform", "rate": rate}, random_state=seed).labels
    return {**columns, "y": labels.tolist()}


def trained(context: ServiceContext, columns: dict[str, list[Any]], **request: Any) -> TrainedModelRecord:
    model = {"kind": "forest", "n_estimators": 30, "loss": {"kind": "ne", "lambda": 0.75}, "max_depth": 4}
    return run(context, dataset_id=store(context, columns), **{"model": model, **request})


@pytest.mark.parametrize("evaluation", [{"kind": "holdout"}, {"kind": "cross_validation", "folds": 3}])
def test_an_accurate_model_of_noisy_labels_is_recognized(context: ServiceContext, evaluation: dict[str, Any]) -> None:
    model = trained(context, noisy(), evaluation=evaluation)
    labeled, corrected = model.metrics["test"]["accuracy"], model.metrics["test_corrected"]
    estimator = core.load(context.artifact_store.path(model.artifact_sha256))
    clean = made(4000, seed=9)
    X = np.column_stack([clean["x"], [float(color == "red") for color in clean["colour"]]])
    true = estimator.score(core.EncodedTable(X, estimator.columns_), clean["y"])
    assert labeled < 0.85 < 0.9 < true
    assert abs(corrected["accuracy"] - true) < min(0.06, 2 * corrected["standard_error"] + 0.01)
    assert corrected["matrix"] == "estimated"
    assert corrected["noise_rate"] == pytest.approx(0.2, abs=0.05)
    assert [one["label"] for one in corrected["classes"]] == [0, 1]
    assert all(one["error"] < 0.15 for one in corrected["classes"])
    assert "hard to tell apart" in corrected["assumption"]
    assert corrected["reason"] is None


def test_a_given_matrix_is_used_for_labels_as_uploaded(context: ServiceContext) -> None:
    correction = {"correction": {"kind": "forward", "transition": UNIFORM}}
    corrected = trained(context, noisy(), noise=correction).metrics["test_corrected"]
    assert (corrected["matrix"], corrected["transition"], corrected["noise_rate_error"]) == (
        "given",
        UNIFORM,
        pytest.approx(0, abs=0.02),
    )
    assert corrected["accuracy"] > 0.9


def test_injected_noise_does_not_describe_the_test_labels(context: ServiceContext) -> None:
    """The file is clean: the accuracy as labeled is the true one, whatever noise training labels get."""
    noise = {"inject": {"kind": "uniform", "rate": 0.3}, "correction": {"kind": "forward", "transition": UNIFORM}}
    metrics = trained(context, made(1500), noise=noise).metrics
    assert metrics["test_corrected"]["matrix"] == "estimated"
    assert metrics["test_corrected"]["noise_rate"] < 0.05
    assert metrics["test_corrected"]["accuracy"] == pytest.approx(metrics["test"]["accuracy"], abs=0.04)


def test_the_labels_of_a_test_data_set_have_noise_of_their_own(context: ServiceContext) -> None:
    test_id = store(context, made(800, seed=3))
    metrics = trained(context, noisy(), evaluation={"kind": "dataset", "dataset_id": test_id}).metrics
    assert metrics["test_corrected"]["noise_rate"] < 0.05
    assert metrics["test_corrected"]["accuracy"] == pytest.approx(metrics["test"]["accuracy"], abs=0.04)


def test_the_reason_of_missing_scores_is_told(context: ServiceContext) -> None:
    corrected = trained(context, noisy(20)).metrics["test_corrected"]
    assert corrected["accuracy"] is None
    assert corrected["standard_error"] is None
    assert corrected["reason"].startswith("16 rows of 2 classes are too few")
    assert "test_corrected" not in trained(context, noisy(40), evaluation={"kind": "none"}).metrics


def test_the_estimate_has_a_phase_of_its_own() -> None:
    request = {"name": "n", "dataset_id": "00000000-0000-0000-0000-000000000000", "model": {"kind": "tree"}, "seed": 0}
    request["noise"] = {"inject": None, "correction": None}
    holdout = list(_phase_weights(TrainSpec.model_validate({**request, "evaluation": {"kind": "holdout"}})))
    assert holdout == ["loading", "compiling", "growing", "estimating label noise", "scoring", "permuting"]
    folds = TrainSpec.model_validate({**request, "evaluation": {"kind": "cross_validation", "folds": 2}})
    assert list(_phase_weights(folds))[-2:] == ["growing", "estimating label noise"]
    none = _phase_weights(TrainSpec.model_validate({**request, "evaluation": NoEvaluation(kind="none")}))
    assert list(none) == ["loading", "compiling", "growing", "scoring"]
    for spec in (none, _phase_weights(folds)):
        assert sum(spec.values()) == pytest.approx(1.0)


def test_labels_that_features_do_not_predict_have_no_corrected_scores_or_a_warning(context: ServiceContext) -> None:
    columns = made(600)
    nulls = 0
    for seed in range(4):
        columns["y"] = np.random.default_rng(seed).integers(0, 2, 600).tolist()
        corrected = trained(context, columns).metrics["test_corrected"]
        nulls += corrected["accuracy"] is None
        assert "do not evidently predict the labels" in (corrected["reason"] or corrected["warning"])
    assert nulls >= 2


def test_labels_of_a_test_set_that_contradict_the_model_have_no_corrected_scores(context: ServiceContext) -> None:
    test = made(800, seed=3)
    test["y"] = [1 - label for label in test["y"]]
    evaluation = {"kind": "dataset", "dataset_id": store(context, test)}
    metrics = trained(context, made(1500), evaluation=evaluation).metrics
    assert metrics["test"]["accuracy"] < 0.2
    assert metrics["test_corrected"]["accuracy"] is None
    assert "check that the labels belong to these rows" in metrics["test_corrected"]["reason"]
