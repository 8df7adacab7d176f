"""Requests for predictions as workers read them."""

import uuid
from typing import Literal

from pydantic import Field

from app.requests.job_spec import JobSpec


class PredictSpec(JobSpec):
    """Prediction of stored rows, or of an uploaded data set, by one model.

    Either `rows_sha256`, the file of rows that are encoded for the model, or `dataset_id` is given.
    """

    model: str
    model_id: uuid.UUID
    dataset_id: uuid.UUID | None = None
    rows_sha256: str | None = None
    n_rows: int = Field(ge=1)
    on_unknown: Literal["error", "missing"] = "error"
    on_missing: Literal["error", "missing"] = "error"
    extra: Literal["error", "ignore"] = "error"
    output: Literal["probabilities", "labels"] = "probabilities"
