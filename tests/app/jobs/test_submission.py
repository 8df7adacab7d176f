"""Submission of jobs: nothing slow happens inside a write transaction, and equal requests queue one job."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

import pytest
from sqlalchemy import func, select

from app.context import ServiceContext
from app.datasets.formats import PlainFile
from app.datasets.ingestion import ingest
from app.datasets.options import UploadOptions
from app.datasets.tables import DatasetRow
from app.jobs.errors import IdempotencyKeyReused, TooManyQueuedJobs
from app.jobs.service import submit
from app.jobs.submission import NewJob, StoreInputs
from app.jobs.tables import JobRow
from app.settings import Limits
from app.storage.database import reading, writing
from app.training.specs import TrainRequest
from app.training.submission import TrainingSubmission
from tests.factories import make_dataset, store_columns

COLUMNS = {"x": list(range(40)), "y": [number % 2 for number in range(40)]}
INLINE = {"data": {"columns": COLUMNS, "target": "y"}, "model": {"kind": "tree"}, "name": "inline"}


class Submission(TrainingSubmission):
    """Submission that waits at a barrier between reading the request and the transaction that queues its job."""

    def __init__(self, context: ServiceContext, request: dict[str, object], barrier: Barrier | None = None) -> None:
        limits = context.settings.limits
        super().__init__(TrainRequest.model_validate(request), context.sessions, context.dataset_store, limits)
        self._context, self._barrier = context, barrier

    @contextmanager
    def prepare(self) -> Iterator[StoreInputs]:
        # Fails if a transaction of this thread is open; on SQLite, it waits if any other thread has one open.
        make_dataset(self._context)
        with super().prepare() as store_inputs:
            if self._barrier is not None:
                self._barrier.wait(10)
            yield store_inputs


def _submission(context: ServiceContext, barrier: Barrier | None = None, **changes: object) -> Submission:
    return Submission(context, INLINE | changes, barrier)


def _counts(context: ServiceContext) -> tuple[int, int]:
    with reading(context.sessions) as session:
        inline = select(func.count()).select_from(DatasetRow).where(DatasetRow.name == "inline")
        return session.scalar(select(func.count()).select_from(JobRow)), session.scalar(inline)


@pytest.mark.parametrize("key", [None, "the-key"])
def test_no_transaction_is_open_while_a_request_is_prepared(context: ServiceContext, key: str | None) -> None:
    submit(context.sessions, context.settings.limits, _submission(context), key)
    assert _counts(context) == (1, 1)


def test_equal_requests_at_once_queue_one_job(context: ServiceContext) -> None:
    barrier, limits = Barrier(4), context.settings.limits

    def send(number: int) -> uuid.UUID:
        return submit(context.sessions, limits, _submission(context, barrier), "the-key").id

    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(send, range(4)))) == 1
    assert _counts(context) == (1, 1)
    assert len(list(context.settings.datasets_folder.iterdir())) == 1
    assert list(context.settings.staging_folder.iterdir()) == []


def test_other_requests_with_the_same_key_are_refused(context: ServiceContext) -> None:
    barrier, limits = Barrier(2), context.settings.limits

    def send(seed: int) -> str:
        try:
            return str(submit(context.sessions, limits, _submission(context, barrier, seed=seed), "the-key").id)
        except IdempotencyKeyReused as error:
            return error.code

    with ThreadPoolExecutor(2) as threads:
        outcomes = set(threads.map(send, range(2)))
    assert len(outcomes) == 2
    assert "idempotency_key_reused" in outcomes
    assert _counts(context) == (1, 1)


def test_equal_inline_data_at_once_is_one_data_set(context: ServiceContext) -> None:
    barrier, limits = Barrier(4), context.settings.limits

    def send(number: int) -> uuid.UUID:
        job = submit(context.sessions, limits, _submission(context, barrier, seed=number), None)
        assert job.request["dataset_id"] == str(job.dataset_id)
        return job.dataset_id

    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(send, range(4)))) == 1
    assert _counts(context) == (4, 1)


def test_inline_data_of_a_refused_job_is_not_stored(context: ServiceContext) -> None:
    store_columns(context, {"x": [1, 2], "y": [0, 1]})
    submit(context.sessions, context.settings.limits, _submission(context), None)
    files = set(context.settings.datasets_folder.iterdir())
    other = {"columns": {**COLUMNS, "x": list(range(40, 80))}, "target": "y"}
    with pytest.raises(TooManyQueuedJobs):
        submit(context.sessions, Limits(max_queued_jobs=1), _submission(context, data=other), "key")
    assert _counts(context) == (1, 1)
    assert set(context.settings.datasets_folder.iterdir()) == files


def test_what_is_slow_refuses_to_run_inside_a_transaction(context: ServiceContext) -> None:
    file, options = PlainFile(context.settings.home / "none", "0" * 64, 0), UploadOptions(target="y", name="none")
    slow = [
        lambda: ingest(file, None, options, context.settings.limits, context.settings.home / "canonical"),
        lambda: context.dataset_store.load("0" * 64),
        lambda: context.artifact_store.stage(lambda path: None),
        lambda: make_dataset(context),
    ]
    for work in slow:
        with pytest.raises(RuntimeError, match="inside a write transaction"), writing(context.sessions):
            work()


def test_large_requests_are_converted_before_the_transaction() -> None:
    new = NewJob("train", {"matrix": [[0.5, 0.5]]}, [])
    assert new.request.text == '{"matrix": [[0.5, 0.5]]}'
