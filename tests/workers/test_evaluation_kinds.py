"""Each kind of `evaluation` on real rows: the scored rows, their labels, the progress and cancellation."""

import json
import uuid
from typing import Any

import numpy as np
import pytest

import core
from app.context import ServiceContext
from app.datasets.service import DatasetService, delete_dataset
from app.jobs.service import JobService
from app.jobs.states import JobState
from app.jobs.tables import JobRow
from app.storage.database import reading, writing
from app.storage.pages import PageQuery
from app.trained_models.service import TrainedModelService
from tests.factories import store_columns
from tests.workers.training_runs import made, run, run_to_the_end, store
from workers.job_board import StopReason
from workers.monitor import JobMonitor

SCORES = {"accuracy", "balanced_accuracy", "weighted_f1", "macro_f1", "log_loss", "brier", "roc_auc"}
COUNTS = {"n_rows", "confusion"}
FOLDS = {"kind": "cross_validation", "folds": 3}
STUMP = {"kind": "tree", "max_depth": 2}
NOISE = {"inject": {"kind": "uniform", "rate": 0.3}}


def rows_per_class(report: dict[str, Any]) -> list[int]:
    """Return the number of rows of each true class, from the confusion matrix of the report."""
    return np.sum(report["confusion"], axis=1).tolist()


def clean_labels(context: ServiceContext, dataset_id: str) -> Any:
    with reading(context.sessions) as session:
        dataset = DatasetService(session, context.dataset_store).get(uuid.UUID(dataset_id))
    return dataset.labels[context.dataset_store.load(dataset.fingerprint).y]


@pytest.mark.parametrize(
    ("evaluation", "parts"),
    [
        ({"kind": "none"}, {"train_noisy"}),
        ({"kind": "holdout", "test_fraction": 0.25, "stratify": False}, {"train_noisy", "test", "test_corrected"}),
        (FOLDS, {"train_noisy", "train_noisy_sd", "test", "test_sd", "test_corrected", "folds"}),
    ],
)
def test_parts_and_scores_of_every_kind(context: ServiceContext, evaluation: dict[str, Any], parts: set[str]) -> None:
    model = run(context, dataset_id=store(context, made()), model=STUMP, evaluation=evaluation)
    assert set(model.metrics) == parts
    for part in parts & {"train_noisy", "test"}:
        assert set(model.metrics[part]) == SCORES | COUNTS
    for part in parts & {"train_noisy_sd", "test_sd"}:
        assert set(model.metrics[part]) == SCORES
    json.dumps(model.metrics, allow_nan=False)


@pytest.mark.parametrize(
    ("evaluation", "filled_in"),
    [
        (None, {"kind": "holdout", "test_fraction": 0.2, "stratify": True}),
        ({"kind": "holdout", "test_fraction": 0.25, "stratify": False}, {}),
        ({"kind": "cross_validation"}, {"folds": 5}),
        ({"kind": "none"}, {}),
    ],
)
def test_a_model_has_its_evaluation_with_defaults_filled_in(
    context: ServiceContext, evaluation: dict[str, Any] | None, filled_in: dict[str, Any]
) -> None:
    request = {} if evaluation is None else {"evaluation": evaluation}
    model = run(context, dataset_id=store(context, made(60)), model=STUMP, **request)
    assert model.evaluation == (evaluation or {}) | filled_in


def test_the_evaluation_outlives_the_test_data_set(context: ServiceContext) -> None:
    """A request that names the test data set means one data set; the model has its id, and the digest of its data."""
    test = store_columns(context, made(30, seed=1), name="checked")
    evaluation = {"kind": "dataset", "dataset_id": "checked"}
    model = run(context, dataset_id=store(context, made(60)), model=STUMP, evaluation=evaluation)
    expected = {"kind": "dataset", "dataset_id": str(test.id), "data_sha256": test.sha256}
    assert model.evaluation == expected
    assert model.data_sha256 != test.sha256
    delete_dataset(context.sessions, context.dataset_store, test.id)
    with reading(context.sessions) as session:
        assert TrainedModelService(session, context.artifact_store).get(model.id).evaluation == expected


def test_the_file_of_a_model_does_not_depend_on_what_scores_it(context: ServiceContext) -> None:
    request = {"dataset_id": store(context, made(60)), "model": STUMP}
    test = {"kind": "dataset", "dataset_id": store(context, made(30, seed=1))}
    kinds = [{"kind": "none"}, {"kind": "cross_validation", "folds": 2}, test]
    models = [run(context, **request, evaluation=evaluation) for evaluation in kinds]
    assert len({model.artifact_sha256 for model in models}) == 1
    assert [(model.evaluation or {})["kind"] for model in models] == [evaluation["kind"] for evaluation in kinds]


def test_means_and_deviations_are_those_of_the_folds(context: ServiceContext) -> None:
    model = run(context, dataset_id=store(context, made()), model=STUMP, noise=NOISE, evaluation=FOLDS)
    folds = model.metrics["folds"]
    assert [set(fold) for fold in folds] == [{"train_noisy", "test"}] * 3
    for part in ("train_noisy", "test"):
        for score in SCORES:
            values = [fold[part][score] for fold in folds]
            assert model.metrics[part][score] == pytest.approx(np.mean(values))
            assert model.metrics[f"{part}_sd"][score] == pytest.approx(np.std(values, ddof=1))
    assert model.metrics["test"]["n_rows"] == 400
    assert model.metrics["train_noisy"]["n_rows"] == 800


def test_noise_of_a_fold_is_in_its_training_labels_only(context: ServiceContext) -> None:
    dataset_id = store(context, made(600))
    model = run(context, dataset_id=dataset_id, model=STUMP, noise=NOISE, evaluation=FOLDS, seed=5)
    y = clean_labels(context, dataset_id)
    flipped = []
    for fold, scores in zip(core.split_folds(y, 3, random_state=5), model.metrics["folds"], strict=True):
        assert rows_per_class(scores["test"]) == np.bincount(y[fold.test_rows]).tolist()
        noisy = core.inject_noise(y[fold.train_rows], NOISE["inject"], random_state=fold.seed)
        assert rows_per_class(scores["train_noisy"]) == np.bincount(noisy.labels).tolist()
        flipped.append(noisy.flipped)
        assert noisy.flipped.mean() == pytest.approx(0.3, abs=0.08)
        assert scores["test"]["accuracy"] > scores["train_noisy"]["accuracy"] + 0.1
    assert (flipped[0] != flipped[1]).any()
    assert rows_per_class(model.metrics["test"]) == np.bincount(y).tolist()


def test_the_stored_model_is_fitted_on_all_rows(context: ServiceContext) -> None:
    """Its bytes equal those without evaluation, and are the same for every run with the same seed."""
    request = {"dataset_id": store(context, made()), "noise": NOISE, "seed": 3}
    request["model"] = {"kind": "forest", "n_estimators": 5}
    folded = [run(context, **request, evaluation=FOLDS) for _ in range(2)]
    alone = run(context, **request, evaluation={"kind": "none"})
    assert len({model.artifact_sha256 for model in (*folded, alone)}) == 1
    assert folded[0].metrics == folded[1].metrics
    assert folded[0].noise == alone.noise
    assert folded[0].noise["injected"]["flipped_rows"] == round(400 * alone.noise["injected"]["observed_rate"])


def test_a_class_that_is_missing_in_some_test_folds(context: ServiceContext) -> None:
    """A class with two rows and three folds: the AUC is averaged over the folds in which it is defined."""
    columns = made(60, labels=("a", "b"))
    columns["y"][17] = columns["y"][31] = "rare"
    model = run(context, dataset_id=store(context, columns), model=STUMP, evaluation=FOLDS)
    tested = [rows_per_class(fold["test"])[2] for fold in model.metrics["folds"]]
    assert sorted(tested) == [0, 1, 1]
    areas = [fold["test"]["roc_auc"] for fold in model.metrics["folds"]]
    assert [area is None for area in areas] == [n == 0 for n in tested]
    assert model.metrics["test"]["roc_auc"] == pytest.approx(np.mean([area for area in areas if area is not None]))
    json.dumps(model.metrics, allow_nan=False)


def test_one_row_per_fold(context: ServiceContext) -> None:
    """Each test fold has one row of one class: every score is a number except the AUC, which is undefined.

    Only row 4 is misclassified: without it the cut is midway between 3 and 5, and rows at the cut go to the left.
    """
    columns = {"x": list(range(8)), "y": [0, 0, 0, 0, 1, 1, 1, 1]}
    evaluation = {"kind": "cross_validation", "folds": 8}
    model = run(context, dataset_id=store(context, columns), model=STUMP, evaluation=evaluation)
    assert model.metrics["test"]["n_rows"] == 8
    assert model.metrics["test"]["accuracy"] == pytest.approx(7 / 8)
    assert (model.metrics["test"]["roc_auc"], model.metrics["test_sd"]["roc_auc"]) == (None, None)
    json.dumps(model.metrics, allow_nan=False)


def test_a_holdout_of_one_class_is_scored(context: ServiceContext) -> None:
    columns = {"x": list(range(20)), "y": ["a"] * 2 + ["b"] * 18}
    evaluation = {"kind": "holdout", "test_fraction": 0.1, "stratify": False}
    model = run(context, dataset_id=store(context, columns), model=STUMP, evaluation=evaluation)
    assert rows_per_class(model.metrics["test"]) == [0, 2]
    assert model.metrics["test"]["roc_auc"] is None
    assert model.metrics["test"]["balanced_accuracy"] == model.metrics["test"]["accuracy"]
    json.dumps(model.metrics, allow_nan=False)


def test_a_test_data_set_may_have_more_columns_and_fewer_classes(context: ServiceContext) -> None:
    columns = made(300)
    columns["y"] = ["abc"[(x > 0) + (x > 1)] for x in columns["x"]]
    test = {"x": [-1.0, 0.5, -0.5, 0.2], "colour": ["red", "green", None, "blue"], "y": ["a", "b", "a", "b"]}
    test["noted"] = [1, 2, 3, 4]
    evaluation = {"kind": "dataset", "dataset_id": store(context, test)}
    model = run(context, dataset_id=store(context, columns), model={"kind": "tree"}, evaluation=evaluation)
    assert model.metrics["test"]["confusion"] == [[2, 0, 0], [0, 2, 0], [0, 0, 0]]
    assert model.metrics["test"]["roc_auc"] is None
    assert model.metrics["train_noisy"]["n_rows"] == 300


def test_models_are_sorted_by_means_and_deviations_over_folds(context: ServiceContext) -> None:
    dataset_id = store(context, made(120))
    models = [run(context, dataset_id=dataset_id, model=STUMP, noise=NOISE, evaluation=FOLDS, seed=s) for s in (1, 2)]
    for part in ("test", "test_sd"):
        with reading(context.sessions) as session:
            page = PageQuery(limit=10, cursor=None, sort=f"-metrics.{part}.brier")
            models_of_page = TrainedModelService(session, context.artifact_store).page(
                page, name=None, kind=None, dataset_id=None
            )
        worst_first = sorted(models, key=lambda model: model.metrics[part]["brier"], reverse=True)
        assert [model.id for model in models_of_page.items] == [model.id for model in worst_first]


def test_progress_covers_all_folds_and_the_last_fit(context: ServiceContext, monkeypatch: pytest.MonkeyPatch) -> None:
    phases: list[str] = []
    fractions: list[float] = []

    def advance(monitor: JobMonitor, completed: int) -> None:
        advance_as_always(monitor, completed)
        news = monitor.board.read_progress()
        if news:
            phases.append(news["phase"])
            fractions.append(news["fraction"])

    advance_as_always = JobMonitor.advance
    monkeypatch.setattr(JobMonitor, "advance", advance)
    forest = {"kind": "forest", "n_estimators": 4}
    row = run_to_the_end(context, dataset_id=store(context, made()), model=forest, evaluation=FOLDS)
    fold_phases = [f"fold {k} of 3: {phase}" for k in (1, 2, 3) for phase in ("growing", "scoring")]
    assert list(dict.fromkeys(phases)) == [*fold_phases, "growing", "estimating label noise"]
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1.0, abs=0.001)
    # Two thirds of the rows three times, and all of them once, by 4 trees; then 200 trees estimate the noise.
    folds_end = fractions[phases.index("growing") - 1]
    assert folds_end == pytest.approx(0.03 + 0.97 * 8 / 212, abs=0.005)
    fit_end = fractions[phases.index("estimating label noise") - 1]
    assert (fit_end - folds_end) / (fit_end - 0.03) == pytest.approx(1 / 3, abs=0.03)
    assert row.progress["fraction"] == 1.0


@pytest.mark.parametrize("phase", ["fold 2 of 3: growing", "fold 1 of 3: scoring", "growing"])
def test_a_job_is_cancelled_between_and_inside_folds(
    context: ServiceContext, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    began: list[str] = []

    def advance(monitor: JobMonitor, completed: int) -> None:
        where = monitor.progress()["phase"]
        began.append(where)
        advance_as_always(monitor, completed)
        if where == phase:
            with writing(context.sessions) as session:
                running = session.query(JobRow).one()
                JobService(session, context.settings.limits).cancel(running.id)
            monitor.board.stop(StopReason.CANCEL)

    advance_as_always = JobMonitor.advance
    monkeypatch.setattr(JobMonitor, "advance", advance)
    forest = {"kind": "forest", "n_estimators": 40}
    row = run_to_the_end(context, dataset_id=store(context, made()), model=forest, evaluation=FOLDS)
    assert row.state is JobState.CANCELLED
    assert row.model_id is None
    assert began[-1] == phase
    assert began.count(phase) < 40
