"""Submission of predictions as jobs."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.jobs.records import JobHead
from app.jobs.states import JobKind
from app.jobs.submission import JobSubmission, NewJob, StoreInputs
from app.predictions.results import register_job
from app.predictions.specs import PredictSpec
from app.requests.job_memory import prediction_memory
from app.settings import Limits
from app.storage.content_store import StagedFile
from app.storage.database import lock
from app.trained_models.service import keep_model


@dataclass(frozen=True)
class PredictionSubmission(JobSubmission):
    """Request for a prediction in the background, whose rows have been read.

    `prepare` raises JobTooLarge, and its transaction raises ModelNotFound if the model was deleted meanwhile.

    identity: what the idempotency key stands for. about: the data set of the job: the one to predict, or the one that
    the model was trained on. rows: staged file of the rows, None for a data set. model_bytes: size of the artifact.
    """

    spec: PredictSpec
    identity: Mapping[str, Any]
    about: uuid.UUID
    rows: StagedFile | None
    model_bytes: int
    n_columns: int
    limits: Limits

    def body(self) -> dict[str, Any]:
        return dict(self.identity)

    @contextmanager
    def prepare(self) -> Iterator[StoreInputs]:
        memory = prediction_memory(self.model_bytes, self.spec.n_rows, self.n_columns)
        memory.check(self.limits.max_job_bytes, "/model")
        new = NewJob(JobKind.PREDICT, self.spec.to_json(), [self.about], model_ids=[self.spec.model_id])

        @contextmanager
        def store(session: Session) -> Iterator[NewJob]:
            if self.rows is not None:
                lock(session, self.rows.sha256)
            keep_model(session, self.spec.model_id)
            yield new
            if self.rows is not None:
                self.rows.publish()

        yield store

    def store_job(self, session: Session, job: JobHead) -> None:
        register_job(session, job.id, self.spec.rows_sha256)
