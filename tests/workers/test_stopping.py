"""Jobs that are asked to stop in the middle of their scores, and do not go on to their end."""

import uuid
from typing import Any

import pytest

from app.context import ServiceContext
from app.jobs import lease
from app.jobs.service import submit
from app.jobs.states import JobState
from app.storage.database import writing
from app.training.specs import TrainRequest
from app.training.submission import TrainingSubmission
from tests.factories import job
from tests.workers.sweep_runs import submitted
from tests.workers.training_runs import made, store
from workers.job_board import JobBoard, StopReason
from workers.job_body import JobBody
from workers.lifecycle import run_attempt
from workers.monitor import JobMonitor
from workers.sweeping import sweep_cell
from workers.training import train

MODEL = {"kind": "forest", "n_estimators": 3, "max_depth": 2}


class StoppedInScoring(JobMonitor):
    """Monitor whose job is asked to stop right after the first phase of scores has begun."""

    def begin(self, phase: str, total: int, unit: str) -> None:
        super().begin(phase, total, unit)
        if phase.endswith("scoring"):
            self.board.stop(StopReason.SHUTDOWN)


def _training_job(context: ServiceContext) -> uuid.UUID:
    request: dict[str, Any] = {"name": "n", "dataset_id": store(context, made()), "model": MODEL, "noise": {}}
    limits = context.settings.limits
    body = TrainRequest.model_validate(request)
    return submit(
        context.sessions, limits, TrainingSubmission(body, context.sessions, context.dataset_store, limits), None
    ).id


def _cell(context: ServiceContext) -> uuid.UUID:
    noise = {"kind": "uniform", "rate": 0.1}
    _, (cell,) = submitted(context, dataset_id=store(context, made()), models=[MODEL], noise=[noise], repeats=1)
    return cell


@pytest.mark.parametrize(("make", "body"), [(_training_job, train), (_cell, sweep_cell)], ids=["training", "cell"])
def test_scores_stop(context: ServiceContext, make: Any, body: JobBody) -> None:
    job_id = make(context)
    with writing(context.sessions) as session:
        claim = lease.claim(session, job_id, lease_seconds=600.0)
    assert claim is not None
    monitor = StoppedInScoring(JobBoard())
    run_attempt(context, claim, body, monitor)
    assert job(context, job_id).state is JobState.QUEUED
    position = monitor.progress()
    assert (position["phase"].rpartition(": ")[2], position["completed"]) == ("scoring", 0)
