"""Training jobs from request to outcome, run in this process on the real database and stores."""

from typing import Any

import numpy as np

from app.context import ServiceContext
from app.datasets.service import DatasetService
from app.jobs.service import JobService
from app.jobs.states import JobState
from app.jobs.tables import JobRow
from app.storage.database import reading, writing
from app.trained_models.records import TrainedModelRecord
from app.trained_models.service import TrainedModelService
from app.training.specs import TrainRequest
from app.training.submission import TrainingSubmission
from tests.factories import job
from workers.lifecycle import run_job
from workers.training import train


def store(context: ServiceContext, columns: dict[str, list[Any]], target: str = "y") -> str:
    with writing(context.sessions) as session:
        service = DatasetService(session, context.dataset_store, context.settings.limits)
        with service.storing_columns(columns, target, "made") as row:
            return str(row.id)


def run_to_the_end(context: ServiceContext, **request: Any) -> JobRow:
    """Submit a job, run it in this process, and return its row."""
    limits = context.settings.limits
    with writing(context.sessions) as session:
        datasets = DatasetService(session, context.dataset_store, limits)
        submission = TrainingSubmission(TrainRequest.model_validate(request), datasets, limits)
        job_id = JobService(session, limits).submit(submission, None).id
    run_job(context, job_id, train, lambda: False)
    return job(context, job_id)


def run(context: ServiceContext, **request: Any) -> TrainedModelRecord:
    """Return the model of a job that succeeded."""
    row = run_to_the_end(context, **request)
    assert row.state is JobState.SUCCEEDED, (row.error_code, row.error_message)
    assert row.model_id is not None
    with reading(context.sessions) as session:
        return TrainedModelService(session, context.artifact_store).get(row.model_id)


def made(n_rows: int = 400, labels: tuple[Any, Any] = (0, 1), seed: int = 0) -> dict[str, list[Any]]:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=n_rows)
    colour = generator.choice(["blue", "red"], n_rows)
    y = [labels[int(value + (c == "red") > 0.5)] for value, c in zip(x, colour, strict=True)]
    return {"x": x.tolist(), "colour": colour.tolist(), "y": y}
