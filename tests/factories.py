"""Factories of valid database rows; a test passes only the values that it checks."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from app.context import ServiceContext
from app.datasets.records import DatasetRecord
from app.datasets.registration import staged_columns
from app.datasets.tables import DatasetRow
from app.jobs.service import JobService
from app.jobs.states import JobKind
from app.jobs.submission import NewChild, NewJob, QueuedJob
from app.jobs.tables import JobRow
from app.storage.database import reading, writing
from app.storage.json_pieces import canonical_sha256

FEATURES = [
    {
        "name": name,
        "kind": "numeric",
        "missing": 0,
        "min": 0.0,
        "max": 1.0,
        "mean": 0.5,
        "distinct": 10,
        "categories": None,
    }
    for name in ("x1", "x2")
]


def make_dataset(context: ServiceContext, **changes: Any) -> uuid.UUID:
    """Insert the row of a data set whose file is not in the store."""
    values: dict[str, Any] = {
        "name": "made",
        "sha256": uuid.uuid4().hex * 2,
        "fingerprint": uuid.uuid4().hex * 2,
        "n_rows": 100,
        "n_bytes": 1000,
        "target": "y",
        "roles": {"weight": None, "group": None},
        "reading": {},
        "classes": [{"label": 0, "count": 50}, {"label": 1, "count": 50}],
        "features": FEATURES,
    }
    values |= changes
    row = DatasetRow(**({"n_labeled": values["n_rows"]} | values))
    with writing(context.sessions) as session:
        session.add(row)
    return row.id


def store_columns(
    context: ServiceContext, columns: Mapping[str, list[Any]], target: str = "y", name: str = "made", **roles: Any
) -> DatasetRecord:
    """Store columns of JSON values as a data set, with its file."""
    store, limits = context.dataset_store, context.settings.limits
    with (
        staged_columns(context.sessions, store, limits, columns, target, name, **roles) as staged,
        writing(context.sessions) as session,
        staged.registered(session, store) as stored,
    ):
        return stored.dataset


def make_job(
    context: ServiceContext,
    *,
    request: dict[str, Any] | None = None,
    key: str | None = None,
    kind: JobKind = JobKind.TRAIN,
    model_ids: Sequence[uuid.UUID] = (),
) -> uuid.UUID:
    """Queue a job, by default a training job, on a new data set."""
    dataset_id = make_dataset(context)
    with writing(context.sessions) as session:
        service = JobService(session, context.settings.limits)
        new = NewJob(kind, request or {"name": "made"}, [dataset_id], model_ids=model_ids)
        return queued(service, new, key).job.id


def make_sweep(context: ServiceContext, n_cells: int, key: str | None = None) -> QueuedJob:
    """Queue a sweep with `n_cells` cells on a new data set."""
    dataset_id = make_dataset(context)
    cells = [NewChild(JobKind.SWEEP_CELL, {"cell": number}) for number in range(n_cells)]
    with writing(context.sessions) as session:
        service = JobService(session, context.settings.limits)
        return queued(service, NewJob(JobKind.SWEEP, {"repeats": 1}, [dataset_id], cells), key)


def queued(service: JobService, new: NewJob, key: str | None = None) -> QueuedJob:
    """Queue a job as if its request were the body that a client has sent."""
    return service.queue(new, canonical_sha256(new.request), key)


def job(context: ServiceContext, job_id: uuid.UUID) -> JobRow:
    """Return the current row of a job."""
    with reading(context.sessions) as session:
        return session.get_one(JobRow, job_id)
