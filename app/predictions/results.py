"""Results of jobs that predict: registration, reading, and removal of files that no job needs."""

import uuid

from sqlalchemy.orm import Session

from app.jobs.files import JobFiles
from app.jobs.service import JobService
from app.jobs.states import JobKind, JobState
from app.predictions.errors import NoPrediction, PredictionNotFinished
from app.predictions.store import PredictionStore, RowsStore
from app.predictions.tables import PredictionRow
from app.settings import Limits
from app.storage import garbage
from app.storage.database import SessionFactory, lock, reading
from app.storage.staging import ORPHAN_AFTER_SECONDS


def register_job(session: Session, job_id: uuid.UUID, rows_sha256: str | None) -> None:
    """Store which rows a job needs, in the transaction that queues it."""
    if session.get(PredictionRow, job_id) is None:
        session.add(PredictionRow(job_id=job_id, rows_sha256=rows_sha256))


def register_result(session: Session, job_id: uuid.UUID, result_sha256: str) -> None:
    """Store the result of a job in the transaction that ends it. Its rows are no longer needed."""
    lock(session, result_sha256)
    row = session.get_one(PredictionRow, job_id)
    row.rows_sha256, row.result_sha256 = None, result_sha256


def result_sha256(sessions: SessionFactory, limits: Limits, job_id: uuid.UUID) -> str:
    """Return the file of the result of a job.

    Raises:
        JobNotFound: there is no such job.
        NoPrediction: it is of another kind.
        PredictionNotFinished: it has not succeeded.
    """
    with reading(sessions) as session:
        job = JobService(session, limits).head(job_id)
        row = session.get(PredictionRow, job_id)
    if job.kind is not JobKind.PREDICT or row is None:
        detail = f"job {job_id} is of kind {job.kind.value!r}; only jobs of kind 'predict' have a result here"
        raise NoPrediction.at("path/job_id", detail)
    if job.state is not JobState.SUCCEEDED or row.result_sha256 is None:
        raise PredictionNotFinished(f"job {job_id} is {job.state} and has no result; see GET /jobs/{job_id}")
    return row.result_sha256


def prediction_files(rows: RowsStore, results: PredictionStore) -> list[JobFiles]:
    """Return the files of rows and results, which belong to jobs."""
    return [
        JobFiles(rows, PredictionRow.rows_sha256, PredictionRow.job_id),
        JobFiles(results, PredictionRow.result_sha256, PredictionRow.job_id),
    ]


def remove_unreferenced(
    sessions: SessionFactory,
    rows: RowsStore,
    results: PredictionStore,
    older_than_seconds: float = ORPHAN_AFTER_SECONDS,
) -> int:
    """Delete rows and results that no job needs, if they are that old, and return their number."""
    n_rows = garbage.remove_unreferenced(sessions, rows, PredictionRow.rows_sha256, older_than_seconds)
    return n_rows + garbage.remove_unreferenced(sessions, results, PredictionRow.result_sha256, older_than_seconds)
