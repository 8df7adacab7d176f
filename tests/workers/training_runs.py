"""Training jobs from request to outcome, run in this process on the real database and stores."""

from typing import Any

import numpy as np

from app.context import ServiceContext
from app.jobs.service import submit
from app.jobs.states import JobState
from app.jobs.tables import JobRow
from app.storage.database import reading
from app.trained_models.records import TrainedModelRecord
from app.trained_models.service import TrainedModelService
from app.training.specs import TrainRequest
from app.training.submission import TrainingSubmission
from tests.factories import job, store_columns
from tests.job_attempts import attempt_job
from workers.training import train


def store(context: ServiceContext, columns: dict[str, list[Any]], target: str = "y") -> str:
    return str(store_columns(context, columns, target).id)


def run_to_the_end(context: ServiceContext, **request: Any) -> JobRow:
    """Submit a job, run it in this process, and return its row."""
    limits = context.settings.limits
    body = TrainRequest.model_validate(request)
    submission = TrainingSubmission(body, context.sessions, context.dataset_store, limits)
    job_id = submit(context.sessions, limits, submission, None).id
    attempt_job(context, job_id, train)
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
