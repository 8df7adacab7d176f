"""Jobs as other packages see them: read-only copies of their rows."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.jobs.states import JobKind, JobState


@dataclass(frozen=True)
class JobRecord:
    """Job at the moment it was read; `JobRow` explains the fields."""

    id: uuid.UUID
    created_at: datetime
    kind: JobKind
    state: JobState
    parent_id: uuid.UUID | None
    request: dict[str, Any]
    request_sha256: str
    dataset_id: uuid.UUID
    model_id: uuid.UUID | None
    attempt: int
    progress: dict[str, Any]
    started_at: datetime | None
    finished_at: datetime | None
    error_code: str | None
    error_message: str | None
