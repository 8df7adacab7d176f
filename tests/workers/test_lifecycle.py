"""Every outcome of an attempt, on a real database of each kind. The bodies here stand in for training."""

import mmap
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.context import ServiceContext
from app.jobs import lease
from app.jobs.service import JobService, cancel
from app.jobs.states import JobState
from app.jobs.tables import JobRow
from app.settings import Settings
from app.storage.database import reading, writing
from app.trained_models.errors import ArtifactMissing
from core.exceptions import InvalidInput
from tests.factories import job, make_job
from workers.job_board import JobBoard, StopReason
from workers.job_body import StorableResult
from workers.lease_keeper import LeaseKeeper
from workers.lifecycle import run_job
from workers.monitor import JobMonitor
from workers.outcomes import INTERNAL_ERROR

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Result:
    """Result that consists of columns of the job's row, or of an error."""

    columns: dict[str, Any] = field(default_factory=dict)
    error: Exception | None = None
    files: tuple[()] = ()

    def store(self, session: Session, context: ServiceContext) -> dict[str, Any]:
        if self.error is not None:
            raise self.error
        return self.columns


DONE = {"progress": {"fraction": 1.0}}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    quick = settings.jobs.model_copy(update={"renew_interval_seconds": 0.05, "lease_seconds": 2.0})
    return settings.model_copy(update={"jobs": quick})


@pytest.fixture
def shutdown_flag() -> mmap.mmap:
    return mmap.mmap(-1, 1)


@pytest.fixture
def keeper(settings: Settings, shutdown_flag: mmap.mmap) -> Iterator[LeaseKeeper]:
    with LeaseKeeper(settings, shutdown_flag) as keeper:
        yield keeper


@pytest.fixture
def context(keeper: LeaseKeeper, context: ServiceContext) -> ServiceContext:
    """Return a context that was opened after the keeper was forked: connections must not cross a fork."""
    return context


def _work_until_stopped(context: ServiceContext, claim: lease.Claim, monitor: JobMonitor) -> StorableResult:
    monitor.plan({"growing": 1})
    monitor.begin("growing", 1000, "trees")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        monitor.raise_if_stopped()
        monitor.advance(1)
        time.sleep(0.01)
    raise AssertionError("the work was not stopped")


def _in_background(context: ServiceContext, job_id: uuid.UUID, keeper: LeaseKeeper) -> threading.Thread:
    thread = threading.Thread(target=run_job, args=(context, job_id, _work_until_stopped, keeper))
    thread.start()
    _wait_for(lambda: job(context, job_id).progress.get("phase") == "growing")
    return thread


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "the condition did not hold within 10 seconds"
        time.sleep(0.02)


def test_success_stores_the_result_with_the_state(context: ServiceContext, keeper: LeaseKeeper) -> None:
    job_id = make_job(context)
    run_job(context, job_id, lambda *_: Result(DONE), keeper)
    row = job(context, job_id)
    assert (row.state, row.attempt, row.progress) == (JobState.SUCCEEDED, 1, {"fraction": 1.0})
    assert row.finished_at is not None
    assert row.lease_expires_epoch is None


def test_a_second_message_for_a_finished_job_does_nothing(context: ServiceContext, keeper: LeaseKeeper) -> None:
    job_id = make_job(context)
    run_job(context, job_id, lambda *_: Result(), keeper)

    def work(*_: object) -> StorableResult:
        raise AssertionError("the work ran twice")

    run_job(context, job_id, work, keeper)
    assert job(context, job_id).attempt == 1


def test_a_known_error_is_stored_with_its_code(
    context: ServiceContext, keeper: LeaseKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    job_id = make_job(context)

    def work(*_: object) -> StorableResult:
        raise InvalidInput("X holds infinity in row 3; remove it")

    run_job(context, job_id, work, keeper)
    row = job(context, job_id)
    assert (row.state, row.error_code) == (JobState.FAILED, "invalid_input")
    assert row.error_message == "X holds infinity in row 3; remove it"
    assert "failed with invalid_input" in caplog.text
    # The message can contain values of the data.
    assert row.error_message not in caplog.text
    assert "Traceback" not in caplog.text


def test_a_bug_is_stored_without_its_trace(
    context: ServiceContext, keeper: LeaseKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    job_id = make_job(context)

    def work(*_: object) -> StorableResult:
        raise KeyError("/secret/path")

    run_job(context, job_id, work, keeper)
    row = job(context, job_id)
    assert (row.state, row.error_code, row.error_message) == (JobState.FAILED, "internal_error", INTERNAL_ERROR)
    assert "/secret/path" in caplog.text


def test_a_result_that_cannot_be_stored_fails_the_job_at_once(context: ServiceContext, keeper: LeaseKeeper) -> None:
    job_id = make_job(context)
    error = ArtifactMissing("the artifact is not in the store; train again")
    run_job(context, job_id, lambda *_: Result(error=error), keeper)
    row = job(context, job_id)
    assert (row.state, row.error_code) == (JobState.FAILED, "artifact_missing")


def test_a_database_that_refuses_for_good_does_not_hold_the_worker(
    context: ServiceContext, keeper: LeaseKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    job_id = make_job(context)
    error = OperationalError("INSERT", {}, Exception("no such table"))
    started = time.monotonic()
    run_job(context, job_id, lambda *_: Result(error=error), keeper)
    assert time.monotonic() - started < 5 * context.settings.jobs.lease_seconds
    assert job(context, job_id).state is JobState.RUNNING
    assert "no such table" in caplog.text
    _wait_for(lambda: bool(_lapsed(context)))


def _lapsed(context: ServiceContext) -> list[uuid.UUID]:
    with writing(context.sessions) as session:
        return lease.lapsed(session)


def test_a_shutdown_resets_the_count_of_lost_attempts(
    context: ServiceContext, keeper: LeaseKeeper, shutdown_flag: mmap.mmap
) -> None:
    job_id = make_job(context)
    with writing(context.sessions) as session:
        session.execute(update(JobRow).where(JobRow.id == job_id).values(lost_attempts=2))
    shutdown_flag[0] = 1
    run_job(context, job_id, _work_until_stopped, keeper)
    row = job(context, job_id)
    assert (row.state, row.lost_attempts) == (JobState.QUEUED, 0)


def test_a_lost_lease_replaces_any_other_stop_reason() -> None:
    board = JobBoard()
    board.stop(StopReason.SHUTDOWN)
    board.stop(StopReason.CANCEL)
    assert board.stop_reason is StopReason.SHUTDOWN
    board.stop(StopReason.LEASE_LOST)
    assert board.stop_reason is StopReason.LEASE_LOST


def test_running_out_of_memory_fails_with_advice(context: ServiceContext, keeper: LeaseKeeper) -> None:
    job_id = make_job(context)

    def work(*_: object) -> StorableResult:
        raise MemoryError

    run_job(context, job_id, work, keeper)
    assert job(context, job_id).error_code == "out_of_memory"


def test_running_out_of_memory_after_a_cancellation_is_no_failure(
    context: ServiceContext, keeper: LeaseKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    job_id = make_job(context)

    def work(context: ServiceContext, *_: object) -> StorableResult:
        cancel(context.sessions, context.settings.limits, job_id)
        raise MemoryError

    with caplog.at_level("INFO"):
        run_job(context, job_id, work, keeper)
    assert job(context, job_id).state is JobState.CANCELLED
    messages = [record.getMessage() for record in caplog.records if record.name.startswith("workers")]
    assert messages == ["started", "the computation raised an error", "cancelled"]


def test_a_job_is_cancelled_only_once_its_work_has_stopped(context: ServiceContext, keeper: LeaseKeeper) -> None:
    job_id = make_job(context)
    thread = _in_background(context, job_id, keeper)
    cancel(context.sessions, context.settings.limits, job_id)
    thread.join(timeout=10)
    with reading(context.sessions) as session:
        events = JobService(session, context.settings.limits).events(job_id, after=0, limit=100)
    states = [event.payload["state"] for event in events if event.kind == "state"]
    assert states == ["queued", "running", "cancelling", "cancelled"]


def test_a_cancellation_after_the_work_drops_the_result(context: ServiceContext, keeper: LeaseKeeper) -> None:
    job_id = make_job(context)

    def work(context: ServiceContext, claim: lease.Claim, monitor: JobMonitor) -> StorableResult:
        with writing(context.sessions) as session:
            JobService(session, context.settings.limits).cancel(job_id)
        return Result(DONE)

    run_job(context, job_id, work, keeper)
    row = job(context, job_id)
    assert row.state is JobState.CANCELLED
    assert row.progress != {"fraction": 1.0}


def test_a_worker_that_shuts_down_returns_the_job_to_the_queue(
    context: ServiceContext, keeper: LeaseKeeper, shutdown_flag: mmap.mmap
) -> None:
    job_id = make_job(context)
    thread = _in_background(context, job_id, keeper)
    shutdown_flag[0] = 1
    thread.join(timeout=10)
    row = job(context, job_id)
    assert (row.state, row.lost_attempts, row.published_epoch) == (JobState.QUEUED, 0, None)


def test_the_lease_is_renewed_for_as_long_as_the_work_takes(context: ServiceContext, keeper: LeaseKeeper) -> None:
    job_id = make_job(context)

    def work(context: ServiceContext, claim: lease.Claim, monitor: JobMonitor) -> StorableResult:
        time.sleep(3 * context.settings.jobs.lease_seconds)
        return Result()

    thread = threading.Thread(target=run_job, args=(context, job_id, work, keeper))
    thread.start()
    while thread.is_alive():
        with writing(context.sessions) as session:
            assert lease.lapsed(session) == []
        time.sleep(0.2)
    assert job(context, job_id).state is JobState.SUCCEEDED


def test_the_outcome_of_a_lost_lease_is_dropped(context: ServiceContext, keeper: LeaseKeeper) -> None:
    job_id = make_job(context)
    thread = _in_background(context, job_id, keeper)
    with writing(context.sessions) as session:
        taken_over = update(JobRow).where(JobRow.id == job_id).values(attempt=2)
        session.execute(taken_over)
    thread.join(timeout=10)
    row = job(context, job_id)
    assert (row.state, row.attempt) == (JobState.RUNNING, 2)


def test_a_result_after_the_lease_was_lost_is_not_stored(context: ServiceContext, keeper: LeaseKeeper) -> None:
    job_id = make_job(context)

    def work(context: ServiceContext, claim: lease.Claim, monitor: JobMonitor) -> StorableResult:
        with writing(context.sessions) as session:
            session.execute(update(JobRow).where(JobRow.id == job_id).values(attempt=2))
        return Result(DONE)

    run_job(context, job_id, work, keeper)
    row = job(context, job_id)
    assert (row.state, row.attempt) == (JobState.RUNNING, 2)
    assert row.progress != {"fraction": 1.0}


def test_time_and_outcomes_are_counted_for_all_workers(context: ServiceContext, keeper: LeaseKeeper) -> None:
    def work(context: ServiceContext, claim: lease.Claim, monitor: JobMonitor) -> StorableResult:
        for phase in ("loading", "compiling", "fold 1 of 2: growing", "fold 1 of 2: scoring"):
            monitor.begin(phase, 1, "parts")
            time.sleep(0.02)
        return Result(DONE)

    for _ in range(2):
        run_job(context, make_job(context), work, keeper)
    with reading(context.sessions) as session:
        figures = JobService(session, context.settings.limits).figures().figures
    amounts = {(figure.name, figure.label): amount for figure, amount in figures.items()}
    assert amounts.pop(("ended", "succeeded")) == amounts.pop(("attempts", "started")) == 2
    assert set(amounts) == {("seconds", kind) for kind in ("loading", "compiling", "fitting", "scoring")}
    assert min(amounts.values()) >= 2 * 0.02
