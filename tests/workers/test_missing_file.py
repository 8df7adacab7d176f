"""A job whose data set file is not in the store of its worker waits for a worker that has the file."""

import shutil

from sqlalchemy import update

from app.context import ServiceContext, open_context
from app.jobs.service import cancel
from app.jobs.states import JobKind, JobState
from app.jobs.tables import JobRow
from app.storage.database import writing
from tests.factories import job, make_job, store_columns
from tests.job_attempts import attempt_job
from workers.auditing import audit
from workers.outcomes import FILE_WAIT_SECONDS, WAITING_FOR_FILE

COLUMNS = {"x": [float(n) for n in range(60)], "y": [n % 2 for n in range(60)]}
REQUEST = {"model": {"kind": "forest", "n_estimators": 5}, "folds": 3, "seed": 0}


def _make_due(context: ServiceContext) -> None:
    with writing(context.sessions) as session:
        session.execute(update(JobRow).values(not_before_epoch=0.0))


def test_another_worker_finishes_it(context: ServiceContext) -> None:
    dataset = store_columns(context, COLUMNS)
    request = {"dataset_id": str(dataset.id), **REQUEST}
    job_id = make_job(context, kind=JobKind.AUDIT, request=request)
    elsewhere = context.settings.home.with_name("elsewhere")
    wrong = open_context(context.settings.model_copy(update={"home": elsewhere}))
    for attempt in range(1, 6):
        attempt_job(wrong, job_id, audit)
        waiting = job(context, job_id)
        assert (waiting.state, waiting.attempt) == (JobState.QUEUED, attempt)
        assert waiting.progress == {"phase": WAITING_FOR_FILE}
        _make_due(context)
    wrong.close()
    attempt_job(context, job_id, audit)
    assert job(context, job_id).state is JobState.SUCCEEDED
    shutil.rmtree(elsewhere)


def test_it_is_delayed_and_counts_as_no_loss(context: ServiceContext) -> None:
    dataset = store_columns(context, COLUMNS)
    job_id = make_job(context, kind=JobKind.AUDIT, request={"dataset_id": str(dataset.id), **REQUEST})
    shutil.rmtree(context.settings.datasets_folder)
    attempt_job(context, job_id, audit)
    with writing(context.sessions) as session:
        row = session.get_one(JobRow, job_id)
        assert row.lost_attempts == 0
        assert row.published_epoch is None
        assert row.not_before_epoch > row.created_at.timestamp() + FILE_WAIT_SECONDS / 2
    cancel(context.sessions, context.settings.limits, job_id)
    assert job(context, job_id).state is JobState.CANCELLED
