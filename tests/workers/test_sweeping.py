"""Body of a sweep's cell on real rows; its scores equal those computed with a few lines of core."""

import json
import uuid
from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from sqlalchemy import select

import core
from app.context import ServiceContext
from app.datasets.service import DatasetService
from app.jobs import children
from app.jobs.lease import Claim
from app.jobs.service import JobService
from app.jobs.states import JobState
from app.storage.database import reading, writing
from app.trained_models.tables import TrainedModelRow
from core.exceptions import FitStopped
from tests.factories import job
from tests.job_attempts import attempt_job
from tests.workers.sweep_runs import read, run_cell, scores, submitted, swept
from tests.workers.training_runs import made, store
from workers.job_board import JobBoard, StopReason
from workers.monitor import JobMonitor
from workers.sweeping import sweep_cell

FOREST = {"kind": "forest", "n_estimators": 5, "max_depth": 4}
TREE = {"kind": "tree", "loss": "misclassification", "max_depth": 4}
CLEAN, NOISY = {"kind": "uniform", "rate": 0.0}, {"kind": "uniform", "rate": 0.3}


def load_rows(context: ServiceContext, dataset_id: str) -> tuple[Any, Any]:
    with reading(context.sessions) as session:
        dataset = DatasetService(session, context.dataset_store).get(uuid.UUID(dataset_id))
    table = context.dataset_store.load(dataset.fingerprint)
    return table.X, dataset.labels[table.y]


def by_hand(X: Any, y: Any, estimator: type, arguments: dict[str, Any], noise: dict[str, Any], seed: int) -> Any:
    """Return accuracy and weighted F1 of three repeats, computed with core and the metrics of scikit-learn."""
    accuracy, f1 = [], []
    for train, test, repeat_seed in core.repeated_holdouts(y, 0.25, 3, random_state=seed):
        noisy = core.inject_noise(y[train], noise, X=X[train], random_state=repeat_seed).labels
        predicted = estimator(**arguments, random_state=repeat_seed).fit(X[train], noisy).predict(X[test])
        accuracy.append(metrics.accuracy_score(y[test], predicted))
        f1.append(metrics.f1_score(y[test], predicted, average="weighted"))
    return {"accuracy": pytest.approx(accuracy), "weighted_f1": pytest.approx(f1)}


def test_scores_equal_those_computed_by_hand(context: ServiceContext) -> None:
    dataset_id = store(context, made(labels=("no", "yes")))
    one_sided = {"kind": "one_sided", "class": "yes", "rate": 0.3}
    grid = {"models": [TREE, FOREST], "noise": [NOISY, one_sided, {"kind": "adversarial", "rate": 0.1}]}
    sweep = swept(context, dataset_id=dataset_id, **grid, repeats=3, test_fraction=0.25, seed=7)
    assert sweep.job.state is JobState.SUCCEEDED
    assert [(cell.job.request["model"]["kind"], cell.job.request["noise"]) for cell in sweep.cells] == [
        (model["kind"], noise) for model in grid["models"] for noise in grid["noise"]
    ]
    X, y = load_rows(context, dataset_id)
    estimators = {"tree": core.TreeClassifier, "forest": core.ForestClassifier}
    for cell in sweep.cells:
        model = TREE if cell.job.request["model"]["kind"] == "tree" else FOREST
        arguments = {name: value for name, value in model.items() if name != "kind"}
        assert cell.scores == by_hand(X, y, estimators[model["kind"]], arguments, cell.job.request["noise"], 7)


def test_repeats_differ_and_are_shared_by_cells(context: ServiceContext) -> None:
    """Models that differ in a parameter without effect have equal scores in every repeat."""
    dataset_id = store(context, made(200))
    deep = {"kind": "tree", "max_depth": 60}
    grid = {"models": [deep, deep | {"max_depth": 61}], "noise": [CLEAN, NOISY]}
    found = scores(swept(context, dataset_id=dataset_id, **grid, repeats=4, seed=1))
    assert found[0] == found[2]
    assert found[1] == found[3]
    noisy = found[1]["accuracy"]
    assert len(set(noisy)) > 1
    assert np.mean(noisy) < np.mean(found[0]["accuracy"]) - 0.1


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_same_seed_gives_the_same_numbers_in_any_order(context: ServiceContext) -> None:
    dataset_id = store(context, made(200))
    grid = {"models": [FOREST, TREE], "noise": [CLEAN, NOISY]}
    expected = scores(swept(context, dataset_id=dataset_id, **grid, repeats=2, seed=3))
    sweep_id, cells = submitted(context, dataset_id=dataset_id, **grid, repeats=2, seed=3)
    for job_id in reversed(cells):
        run_cell(context, job_id)
    assert scores(read(context, sweep_id)) == expected
    alone = swept(context, dataset_id=dataset_id, models=[TREE], noise=[NOISY], repeats=2, seed=3)
    assert scores(alone) == [expected[3]]
    longer = scores(swept(context, dataset_id=dataset_id, models=[TREE], noise=[NOISY], repeats=3, seed=3))
    assert longer[0]["accuracy"][:2] == expected[3]["accuracy"]
    other = scores(swept(context, dataset_id=dataset_id, **grid, repeats=2, seed=4))
    assert other != expected


def test_no_model_is_stored(context: ServiceContext) -> None:
    swept(context, dataset_id=store(context, made(100)), models=[TREE], noise=[NOISY], repeats=2)
    with reading(context.sessions) as session:
        assert session.scalars(select(TrainedModelRow)).all() == []
    assert not any(context.settings.artifacts_folder.rglob("*.*"))


def test_class_weights_and_numeric_labels(context: ServiceContext) -> None:
    dataset_id = store(context, made(200, labels=(0.5, 1.5)))
    weighted = TREE | {"class_weight": {"0.5": 1.0, "1.5": 3.0}}
    sweep = swept(context, dataset_id=dataset_id, models=[weighted, TREE], noise=[NOISY], repeats=3)
    assert sweep.job.state is JobState.SUCCEEDED
    assert scores(sweep)[0] != scores(sweep)[1]


def test_an_error_that_depends_on_the_rows_fails_only_its_cell(context: ServiceContext) -> None:
    columns = {"x": [0.0] * 27 + [None] * 3, "y": ["a", "b", "c"] * 10}
    noise = [{"kind": "class_conditional"}, {"kind": "uniform", "rate": 0.1}]
    sweep = swept(context, dataset_id=store(context, columns), models=[TREE], noise=noise, repeats=2)
    assert (sweep.job.state, sweep.job.error_code) == (JobState.FAILED, children.CELLS_FAILED)
    assert "1 of 2 cells failed" in (sweep.job.error_message or "")
    failed, done = sweep.cells
    assert (failed.job.state, failed.job.error_code, failed.scores) == (JobState.FAILED, "invalid_noise", None)
    assert done.job.state is JobState.SUCCEEDED
    assert len(done.scores["accuracy"]) == 2


def test_progress_rises_over_the_repeats(context: ServiceContext) -> None:
    class Noted(JobMonitor):
        def __init__(self) -> None:
            super().__init__(JobBoard())
            self.seen: list[tuple[str, float]] = []

        def begin(self, phase: str, total: int, unit: str) -> None:
            super().begin(phase, total, unit)
            with self._lock:
                self.seen.append((phase, self._fraction()))

    _, cells = submitted(context, dataset_id=store(context, made(100)), models=[TREE], noise=[NOISY], repeats=3)
    monitor = Noted()
    sweep_cell(context, Claim(cells[0], 1, json.dumps(job(context, cells[0]).request)), monitor)
    fractions = [fraction for _, fraction in monitor.seen]
    assert [phase for phase, _ in monitor.seen][:3] == ["loading", "compiling", "repeat 1 of 3: injecting"]
    assert monitor.seen[-1][0] == "repeat 3 of 3: scoring"
    assert fractions == sorted(set(fractions))
    assert 0.9 < fractions[-1] < 1


def test_a_cell_stops_between_repeats(context: ServiceContext) -> None:
    class StoppedAfterOne(JobMonitor):
        def begin(self, phase: str, total: int, unit: str) -> None:
            if phase.startswith("repeat 2"):
                self.board.stop(StopReason.CANCEL)
            super().begin(phase, total, unit)

    _, cells = submitted(context, dataset_id=store(context, made(100)), models=[TREE], noise=[NOISY], repeats=3)
    with pytest.raises(FitStopped):
        sweep_cell(context, Claim(cells[0], 1, json.dumps(job(context, cells[0]).request)), StoppedAfterOne(JobBoard()))


def test_a_cell_cancelled_after_its_work_stores_no_scores(context: ServiceContext) -> None:
    sweep_id, cells = submitted(context, dataset_id=store(context, made(100)), models=[TREE], noise=[CLEAN], repeats=1)

    def work(context: ServiceContext, claim: Claim, monitor: JobMonitor) -> Any:
        result = sweep_cell(context, claim, monitor)
        with writing(context.sessions) as session:
            JobService(session, context.settings.limits).cancel(sweep_id)
        return result

    attempt_job(context, cells[0], work)
    sweep = read(context, sweep_id)
    assert (sweep.job.state, sweep.cells[0].job.state) == (JobState.CANCELLED, JobState.CANCELLED)
    assert sweep.cells[0].scores is None
