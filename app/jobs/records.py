"""Jobs as other packages see them: read-only copies of their rows."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.jobs.figures import Figure
from app.jobs.states import TERMINAL, JobKind, JobState


@dataclass(frozen=True)
class JobHead:
    """Job without its request, at the moment it was read; `JobRow` explains the fields."""

    id: uuid.UUID
    created_at: datetime
    kind: JobKind
    state: JobState
    parent_id: uuid.UUID | None
    request_sha256: str
    dataset_id: uuid.UUID
    model_id: uuid.UUID | None
    attempt: int
    progress: dict[str, Any]
    started_at: datetime | None
    finished_at: datetime | None
    error_code: str | None
    error_message: str | None


@dataclass(frozen=True)
class JobPosition:
    """State of a job and the number of its last event."""

    state: JobState
    last_event_id: int

    def is_end(self, event_id: int) -> bool:
        """Return whether no event follows this one, now or ever."""
        return self.state in TERMINAL and event_id >= self.last_event_id


@dataclass(frozen=True)
class QueueFigures:
    """Figures of all jobs for monitoring. unfinished: number of jobs by kind and state."""

    unfinished: dict[tuple[JobKind, JobState], int]
    oldest_queued_seconds: float | None
    figures: dict[Figure, float]


@dataclass(frozen=True)
class JobEvent:
    """Change of the state or progress of a job; ids of later events of a job are higher."""

    id: int
    kind: str
    payload: dict[str, Any]


@dataclass(frozen=True)
class JobRecord(JobHead):
    """Job with its request, which can be large."""

    request: dict[str, Any]
