"""Trained models as other packages see them: what a worker registers, and read-only copies of rows."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class NewTrainedModel:
    """Fitted estimator whose artifact is in the store; `TrainedModelRow` explains the fields."""

    name: str
    kind: str
    parameters: dict[str, Any]
    seed: int
    dataset_id: uuid.UUID
    data_sha256: str
    code_version: str
    fit_seconds: float
    size_bytes: int
    artifact_sha256: str
    metrics: dict[str, Any]
    feature_schema: dict[str, Any]
    noise: dict[str, Any]
    fitted: dict[str, Any]
    certificate: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class TrainedModelRecord(NewTrainedModel):
    """Registered model."""

    id: uuid.UUID
    version: int
    created_at: datetime
