"""Filters of lists of jobs."""

import uuid
from dataclasses import dataclass

from app.jobs.states import JobKind, JobState


@dataclass(frozen=True)
class JobFilter:
    """Values that columns must have; None = any. Child jobs are listed only if their kind or their parent is given."""

    kind: JobKind | None = None
    state: JobState | None = None
    dataset_id: uuid.UUID | None = None
    parent_id: uuid.UUID | None = None
