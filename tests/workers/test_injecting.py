"""Noise injection as a phase of a job that shows progress and can be cancelled."""

from typing import Any

import pytest
from sqlalchemy import select

from app.context import ServiceContext
from app.jobs.service import JobService
from app.jobs.states import JobKind, JobState
from app.jobs.tables import JobRow
from app.storage.database import writing
from core.noise.adversarial import N_ROUNDS
from tests.factories import job
from tests.workers.sweep_runs import run_cell, submitted
from tests.workers.test_training import three_classes
from tests.workers.training_runs import made, run, run_to_the_end, store
from workers.job_board import StopReason
from workers.monitor import JobMonitor

TREE = {"kind": "tree", "max_depth": 3}
ADVERSARIAL = {"kind": "adversarial", "rate": 0.1}
SLOW = [{"kind": "class_conditional"}, ADVERSARIAL]


@pytest.fixture
def cancelled_in(context: ServiceContext, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Cancel the running job after the first step of a phase; returns the phases of all steps."""

    def arm(phase: str) -> list[str]:
        phases: list[str] = []

        def advance(monitor: JobMonitor, completed: int) -> None:
            advance_as_always(monitor, completed)
            phases.append(monitor.progress()["phase"])
            if phases[-1] == phase:
                with writing(context.sessions) as session:
                    running = session.scalars(select(JobRow).where(JobRow.kind != JobKind.SWEEP)).one()
                    JobService(session, context.settings.limits).cancel(running.parent_id or running.id)
                monitor.board.stop(StopReason.CANCEL)

        advance_as_always = JobMonitor.advance
        monkeypatch.setattr(JobMonitor, "advance", advance)
        return phases

    return arm


@pytest.mark.parametrize("inject", SLOW, ids=str)
def test_a_job_is_cancelled_during_injection(
    context: ServiceContext, cancelled_in: Any, inject: dict[str, Any]
) -> None:
    phases = cancelled_in("injecting")
    row = run_to_the_end(context, dataset_id=store(context, three_classes(90)), model=TREE, noise={"inject": inject})
    assert (row.state, row.model_id) == (JobState.CANCELLED, None)
    assert phases == ["injecting"]


@pytest.mark.parametrize("noise", SLOW, ids=str)
def test_a_cell_is_cancelled_during_injection(
    context: ServiceContext, cancelled_in: Any, noise: dict[str, Any]
) -> None:
    dataset_id = store(context, three_classes(90))
    sweep_id, (cell,) = submitted(context, dataset_id=dataset_id, models=[TREE], noise=[noise], repeats=2)
    phases = cancelled_in("repeat 1 of 2: injecting")
    run_cell(context, cell)
    assert [job(context, job_id).state for job_id in (cell, sweep_id)] == [JobState.CANCELLED] * 2
    assert phases == ["repeat 1 of 2: injecting"]


def test_progress_rises_during_injection_without_a_compiling_phase(
    context: ServiceContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, float]] = []

    def advance(monitor: JobMonitor, completed: int) -> None:
        advance_as_always(monitor, completed)
        shown = monitor.board.read_progress()
        assert shown is not None
        seen.append((shown["phase"], shown["fraction"]))

    advance_as_always = JobMonitor.advance
    monkeypatch.setattr(JobMonitor, "advance", advance)
    forest = {"kind": "forest", "n_estimators": N_ROUNDS}
    noise = {"inject": ADVERSARIAL}
    run(context, dataset_id=store(context, made(100)), model=forest, noise=noise, evaluation={"kind": "none"})
    fractions = [fraction for _, fraction in seen]
    assert list(dict.fromkeys(phase for phase, _ in seen)) == ["injecting", "growing", "scoring"]
    assert fractions == sorted(fractions)
    last = dict(seen)
    assert last["injecting"] == pytest.approx((fractions[0] + last["growing"]) / 2, abs=0.01)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_each_fold_has_an_injection_phase_and_jobs_without_noise_have_none(
    context: ServiceContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[list[str]] = []

    def plan(monitor: JobMonitor, weights: Any) -> None:
        planned.append(list(weights))
        plan_as_always(monitor, weights)

    plan_as_always = JobMonitor.plan
    monkeypatch.setattr(JobMonitor, "plan", plan)
    request = {"dataset_id": store(context, made()), "model": TREE}
    folds = {"kind": "cross_validation", "folds": 2}
    run(context, **request, evaluation=folds, noise={"inject": {"kind": "uniform", "rate": 0.1}})
    run(context, **request)
    fit_phases = ["injecting", "growing", "scoring"]
    fold_phases = [f"fold {number} of 2: {phase}" for number in (1, 2) for phase in fit_phases]
    assert planned[0] == ["loading", "compiling", *fold_phases, "injecting", "growing", "estimating label noise"]
    assert planned[1] == ["loading", "compiling", "growing", "estimating label noise", "scoring", "permuting"]
