"""Jobs whose correction estimates the transition matrix: the stored estimate, and the failures."""

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

import core
import core.noise.correction
from app.context import ServiceContext
from app.jobs.states import JobState
from core.forests.noise_estimation_forest import N_TREES
from tests.workers.test_training import three_classes
from tests.workers.training_runs import made, run, run_to_the_end, store
from workers.monitor import JobMonitor

TRANSITION = [[0.75, 0.15, 0.1], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]]
INJECT = {"kind": "matrix", "transition": TRANSITION}
ESTIMATING = {"kind": "forward", "transition": "estimate"}
TREE = {"kind": "tree", "min_samples_leaf": 20}
WITHOUT = {"kind": "none"}


@pytest.mark.parametrize("kind", ["forward", "backward"])
def test_the_estimate_is_stored_with_the_model(context: ServiceContext, kind: str) -> None:
    correction = {"kind": kind, "transition": "estimate"}
    forest = {"kind": "forest", "n_estimators": 5, "min_samples_leaf": 20}
    noise = {"inject": INJECT, "correction": correction}
    model = run(context, dataset_id=store(context, three_classes()), model=forest, noise=noise)
    assert model.noise["correction"] == correction
    estimated = model.noise["estimated"]
    assert set(estimated) == {"rate", "standard_error", "transition"}
    assert estimated["rate"] == pytest.approx(model.noise["injected"]["observed_rate"], abs=0.05)
    assert 0 < estimated["standard_error"] < 0.05
    assert estimated["transition"] == [pytest.approx(row, abs=0.1) for row in TRANSITION]
    estimator = core.load(context.artifact_store.path(model.artifact_sha256))
    assert estimator.correction == correction
    given = {**noise, "correction": {"kind": kind, "transition": estimated["transition"]}}
    same = run(context, dataset_id=str(model.dataset_id), model=forest, noise=given)
    assert same.metrics["test"]["confusion"] == model.metrics["test"]["confusion"]
    assert same.noise["estimated"] is None


def test_each_fold_estimates_from_its_own_labels(context: ServiceContext) -> None:
    """The stored model and its estimate are those of all rows."""
    columns = three_classes(300)
    X, y = np.column_stack([columns["x1"], columns["x2"]]), np.array(columns["y"])
    request: dict[str, Any] = {"dataset_id": store(context, columns), "model": TREE, "seed": 5}
    request["noise"] = {"inject": INJECT, "correction": ESTIMATING}
    folded = run(context, **request, evaluation={"kind": "cross_validation", "folds": 2})
    alone = run(context, **request, evaluation=WITHOUT)
    assert folded.artifact_sha256 == alone.artifact_sha256
    assert folded.noise == alone.noise
    for fold, scores in zip(core.split_folds(y, 2, random_state=5), folded.metrics["folds"], strict=True):
        noisy = core.inject_noise(y[fold.train_rows], INJECT, random_state=fold.seed)
        tree = core.TreeClassifier(min_samples_leaf=20, correction=ESTIMATING, random_state=fold.seed)
        tree.fit(X[fold.train_rows], noisy.labels)
        by_hand = core.evaluate(tree, X[fold.test_rows], y[fold.test_rows], np.unique(y))
        assert scores["test"]["log_loss"] == pytest.approx(by_hand["log_loss"], rel=1e-9)
        assert scores["test"]["confusion"] == by_hand["confusion"]


def test_classes_with_too_few_rows_for_an_estimate_have_no_noise(context: ServiceContext) -> None:
    rng = np.random.default_rng(0)
    codes = np.append(rng.integers(0, 2, 300) * 2, [1, 1, 1])
    columns = {"x": (codes + rng.normal(0, 0.3, 303)).tolist(), "y": [f"class {code}" for code in codes]}
    inject = {"kind": "matrix", "transition": [[0.9, 0.0, 0.1], [0.0, 1.0, 0.0], [0.1, 0.0, 0.9]]}
    auto = {"kind": "auto", "n_fits": 1}
    model = run(context, dataset_id=store(context, columns), model=auto, noise={"inject": inject})
    assert model.feature_schema["classes"] == ["class 0", "class 1", "class 2"]
    transition = np.array(model.noise["estimated"]["transition"])
    assert transition.shape == (3, 3)
    assert transition[1].tolist() == [0.0, 1.0, 0.0]
    assert 0.02 < transition[0, 2] < 0.2


def test_models_without_an_estimate(context: ServiceContext) -> None:
    dataset_id = store(context, made())
    for model in (TREE, {"kind": "forest", "n_estimators": 30, "oob_score": True}, {"kind": "adaboost", "n_rounds": 2}):
        assert run(context, dataset_id=dataset_id, model=model, evaluation=WITHOUT).noise["estimated"] is None


def test_an_ill_conditioned_estimate_fails_the_job_with_a_reason(
    context: ServiceContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core.noise.correction, "MAX_CONDITION", 2.0)
    noise = {"inject": {"kind": "uniform", "rate": 0.5}, "correction": ESTIMATING}
    row = run_to_the_end(context, dataset_id=store(context, three_classes()), model=TREE, noise=noise)
    assert (row.state, row.error_code) == (JobState.FAILED, "invalid_noise")
    assert row.error_message is not None
    assert "estimated from the labels has condition number" in row.error_message
    assert "pass the matrix if it is known" in row.error_message


@pytest.mark.parametrize(
    ("n_rows", "evaluation"),
    [(20, WITHOUT), (25, {"kind": "holdout"}), (30, {"kind": "cross_validation", "folds": 3})],
    ids=["all", "holdout", "folds"],
)
def test_the_smallest_accepted_data_set_is_large_enough_for_every_fit(
    context: ServiceContext, n_rows: int, evaluation: dict[str, Any]
) -> None:
    columns = {"x": [row + 100 * (row % 2) for row in range(n_rows)], "y": [row % 2 for row in range(n_rows)]}
    noise = {"correction": ESTIMATING}
    model = run(context, dataset_id=store(context, columns), model=TREE, noise=noise, evaluation=evaluation)
    assert model.noise["estimated"]["rate"] < 0.05


def test_progress_includes_the_trees_of_the_estimate(context: ServiceContext, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, float]] = []

    def advance(monitor: JobMonitor, completed: int) -> None:
        advance_as_always(monitor, completed)
        news = monitor.board.read_progress()
        if news:
            seen.append((news["phase"], news["fraction"]))

    advance_as_always = JobMonitor.advance
    monkeypatch.setattr(JobMonitor, "advance", advance)
    forest = {"kind": "forest", "n_estimators": N_TREES}
    noise = {"correction": ESTIMATING}
    run(context, dataset_id=store(context, made(100)), model=forest, noise=noise, evaluation=WITHOUT)
    fractions = [fraction for _, fraction in seen]
    assert list(dict.fromkeys(phase for phase, _ in seen)) == ["estimating", "growing", "scoring"]
    assert fractions == sorted(fractions)
    half = (fractions[0] + [fraction for phase, fraction in seen if phase == "growing"][-1]) / 2
    assert [fraction for phase, fraction in seen if phase == "estimating"][-1] == pytest.approx(half, abs=0.01)


@pytest.mark.parametrize("correction", [ESTIMATING, {"kind": "forward", "transition": [[0.9, 0.1], [0.2, 0.8]]}])
def test_lists_show_rates_without_matrices(context: ServiceContext, client: TestClient, correction: Any) -> None:
    noise = {"inject": {"kind": "matrix", "transition": [[0.9, 0.1], [0.2, 0.8]]}, "correction": correction}
    model = run(context, dataset_id=store(context, made()), model=TREE, noise=noise, evaluation=WITHOUT)
    assert client.get(f"/models/{model.id}").json()["noise"] == model.noise
    listed = client.get("/models").json()["items"][0]["noise"]
    for name, part in model.noise.items():
        matrix = part is not None and isinstance(part["transition"], list)
        assert listed[name] == (part | {"transition": None} if matrix else part)
    assert listed["injected"]["transition"] is None
