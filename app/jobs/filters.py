"""Which jobs a list shows."""

import uuid
from dataclasses import dataclass

from app.jobs.states import JobKind, JobState


@dataclass(frozen=True)
class JobFilter:
    """Columns that must have these values; None = any. Parts of another job are listed only when asked for, by their
    kind or by the job they are parts of.
    """

    kind: JobKind | None = None
    state: JobState | None = None
    dataset_id: uuid.UUID | None = None
    parent_id: uuid.UUID | None = None
