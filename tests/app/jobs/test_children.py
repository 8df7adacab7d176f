"""The state of a sweep is derived from its cells, on real databases of both kinds."""

import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from app.context import ServiceContext
from app.datasets.errors import DatasetInUse
from app.datasets.service import delete_dataset
from app.jobs import children, lease, state_machine
from app.jobs.errors import IdempotencyKeyReused, JobAlreadyFinished, TooManyQueuedJobs
from app.jobs.filters import JobFilter
from app.jobs.lease import Claim
from app.jobs.queue import make_celery, relay_messages
from app.jobs.records import JobRecord
from app.jobs.recovery import settle_open_parents, take_back_lapsed
from app.jobs.service import JobService, cancel
from app.jobs.states import TERMINAL, JobKind, JobState
from app.jobs.submission import QueuedJob
from app.jobs.tables import JobEventRow, JobRow
from app.settings import JobSettings
from app.storage.database import reading, writing
from app.storage.orm import utc_now
from app.storage.pages import PageQuery
from tests.factories import job, make_job, make_sweep

BRIEF = JobSettings(retry_delay_seconds=0.0)
SUCCEEDED, FAILED, CANCELLED = JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED


def _claim(context: ServiceContext, cell: JobRecord, lease_seconds: float = 30.0) -> Claim:
    with writing(context.sessions) as session:
        claimed = lease.claim(session, cell.id, lease_seconds)
    assert claimed is not None
    return claimed


def _end(context: ServiceContext, claimed: Claim, target: JobState, why: str = "one class") -> None:
    with writing(context.sessions) as session:
        if target is FAILED:
            assert state_machine.fail(session, claimed.job_id, "invalid_input", why, fence=claimed.attempt)
        else:
            assert state_machine.enter(session, claimed.job_id, target, fence=claimed.attempt)


def _cancel(context: ServiceContext, job_id: uuid.UUID) -> JobState:
    cancel(context.sessions, context.settings.limits, job_id)
    return job(context, job_id).state


def _events(context: ServiceContext, job_id: uuid.UUID) -> list[str]:
    with reading(context.sessions) as session:
        query = select(JobEventRow).where(JobEventRow.job_id == job_id).order_by(JobEventRow.id)
        return [row.payload.get("state", f"{row.payload.get('completed')}") for row in session.scalars(query)]


def _states(context: ServiceContext, sweep: QueuedJob) -> tuple[JobState, list[JobState]]:
    return job(context, sweep.job.id).state, [job(context, cell.id).state for cell in sweep.children]


class TestStateOfTheParent:
    def test_a_sweep_starts_progresses_and_succeeds_with_its_cells(self, context: ServiceContext) -> None:
        sweep = make_sweep(context, 2)
        assert job(context, sweep.job.id).started_at is None
        first = _claim(context, sweep.children[0])
        row = job(context, sweep.job.id)
        assert (row.state, row.attempt, row.lease_expires_epoch) == (JobState.RUNNING, 0, None)
        assert row.progress["completed"] == 0
        began = row.started_at
        assert began == job(context, sweep.children[0].id).started_at is not None
        _end(context, first, SUCCEEDED)
        row = job(context, sweep.job.id)
        assert (row.state, row.finished_at) == (JobState.RUNNING, None)
        assert row.progress == {"phase": "cells", "completed": 1, "total": 2, "unit": "cells", "fraction": 0.5}
        _end(context, _claim(context, sweep.children[1]), SUCCEEDED)
        row = job(context, sweep.job.id)
        assert (row.state, row.progress["fraction"], row.started_at) == (SUCCEEDED, 1.0, began)
        assert row.finished_at is not None
        assert _events(context, sweep.job.id) == ["queued", "running", "1", "2", "succeeded"]

    def test_a_sweep_started_with_its_earliest_cell_in_any_order_of_commits(self, context: ServiceContext) -> None:
        sweep = make_sweep(context, 3)
        _claim(context, sweep.children[0])
        earlier = utc_now() - timedelta(seconds=5)
        with writing(context.sessions) as session:
            assert state_machine.enter(session, sweep.children[1].id, JobState.RUNNING, started_at=earlier)
        assert job(context, sweep.job.id).started_at == earlier
        _claim(context, sweep.children[2])
        assert job(context, sweep.job.id).started_at == earlier
        assert _events(context, sweep.job.id) == ["queued", "running"]

    def test_failures_are_counted_and_the_first_is_reported(self, context: ServiceContext) -> None:
        sweep = make_sweep(context, 3)
        claimed = [_claim(context, cell) for cell in sweep.children]
        _end(context, claimed[2], FAILED, "no rows")
        _end(context, claimed[0], FAILED, "one class")
        assert job(context, sweep.job.id).state is JobState.RUNNING
        _end(context, claimed[1], SUCCEEDED)
        row = job(context, sweep.job.id)
        assert (row.state, row.error_code) == (FAILED, children.CELLS_FAILED)
        assert row.error_message is not None
        assert row.error_message.startswith("2 of 3 cells failed and 0 were cancelled")
        assert row.error_message.endswith("The first failure, invalid_input: no rows")

    def test_a_requeued_cell_leaves_the_sweep_running(self, context: ServiceContext) -> None:
        sweep = make_sweep(context, 1)
        claimed = _claim(context, sweep.children[0])
        with writing(context.sessions) as session:
            assert state_machine.requeue(session, claimed.job_id, fence=claimed.attempt)
        assert _states(context, sweep) == (JobState.RUNNING, [JobState.QUEUED])
        _end(context, _claim(context, sweep.children[0]), SUCCEEDED)
        assert _states(context, sweep) == (SUCCEEDED, [SUCCEEDED])
        assert _events(context, sweep.job.id) == ["queued", "running", "1", "succeeded"]

    def test_a_cell_whose_worker_is_lost_too_often_fails_the_sweep(self, context: ServiceContext) -> None:
        sweep = make_sweep(context, 1)
        for expected in (JobState.RUNNING, JobState.RUNNING, FAILED):
            _claim(context, sweep.children[0], lease_seconds=0.01)
            time.sleep(0.05)
            assert take_back_lapsed(context.sessions, BRIEF) == 1
            assert job(context, sweep.job.id).state is expected
        assert lease.WORKER_LOST in (job(context, sweep.job.id).error_message or "")

    def test_a_late_worker_of_a_cell_changes_nothing(self, context: ServiceContext) -> None:
        sweep = make_sweep(context, 2)
        late = _claim(context, sweep.children[0], lease_seconds=0.01)
        time.sleep(0.05)
        take_back_lapsed(context.sessions, BRIEF)
        with writing(context.sessions) as session:
            assert not state_machine.enter(session, late.job_id, SUCCEEDED, fence=late.attempt)
        assert _states(context, sweep) == (JobState.RUNNING, [JobState.QUEUED, JobState.QUEUED])
        assert job(context, sweep.job.id).progress["completed"] == 0


class TestCancel:
    def test_all_cells_of_a_queued_sweep_are_cancelled_at_once(self, context: ServiceContext) -> None:
        sweep = make_sweep(context, 3)
        assert _cancel(context, sweep.job.id) is CANCELLED
        assert _states(context, sweep) == (CANCELLED, [CANCELLED] * 3)
        assert _cancel(context, sweep.job.id) is CANCELLED
        assert job(context, sweep.job.id).progress["fraction"] == 0.0
        assert _events(context, sweep.job.id) == ["queued", "cancelled"]

    def test_a_running_sweep_is_cancelled_after_its_running_cells(self, context: ServiceContext) -> None:
        sweep = make_sweep(context, 4)
        claimed = [_claim(context, cell) for cell in sweep.children[:3]]
        _end(context, claimed[0], SUCCEEDED)
        for _ in range(2):
            assert _cancel(context, sweep.job.id) is JobState.CANCELLING
        waiting = [SUCCEEDED, JobState.CANCELLING, JobState.CANCELLING, CANCELLED]
        assert _states(context, sweep) == (JobState.CANCELLING, waiting)
        _end(context, claimed[1], CANCELLED)
        assert job(context, sweep.job.id).state is JobState.CANCELLING
        _end(context, claimed[2], CANCELLED)
        assert job(context, sweep.job.id).state is CANCELLED
        assert job(context, sweep.job.id).error_code is None
        assert _events(context, sweep.job.id) == ["queued", "running", "1", "cancelling", "cancelled"]

    def test_a_running_sweep_whose_cells_were_requeued_is_cancelled_at_once(self, context: ServiceContext) -> None:
        sweep = make_sweep(context, 2)
        claimed = _claim(context, sweep.children[0])
        with writing(context.sessions) as session:
            state_machine.requeue(session, claimed.job_id, fence=claimed.attempt)
        assert _cancel(context, sweep.job.id) is CANCELLED

    @pytest.mark.parametrize("target", [SUCCEEDED, FAILED])
    def test_a_finished_sweep_is_a_conflict(self, context: ServiceContext, target: JobState) -> None:
        sweep = make_sweep(context, 1)
        _end(context, _claim(context, sweep.children[0]), target)
        with pytest.raises(JobAlreadyFinished):
            _cancel(context, sweep.job.id)

    def test_a_sweep_fails_if_one_cell_is_cancelled(self, context: ServiceContext) -> None:
        sweep = make_sweep(context, 2)
        claimed = _claim(context, sweep.children[0])
        assert _cancel(context, sweep.children[1].id) is CANCELLED
        assert _states(context, sweep) == (JobState.RUNNING, [JobState.RUNNING, CANCELLED])
        _end(context, claimed, SUCCEEDED)
        row = job(context, sweep.job.id)
        assert (row.state, row.error_code) == (FAILED, children.CELLS_FAILED)
        assert row.error_message == "0 of 2 cells failed and 1 was cancelled."

    def test_a_sweep_is_cancelled_if_all_queued_cells_are(self, context: ServiceContext) -> None:
        sweep = make_sweep(context, 2)
        for cell in sweep.children:
            _cancel(context, cell.id)
        assert job(context, sweep.job.id).state is CANCELLED

    def test_a_sweep_with_a_dead_worker_is_cancelled_when_the_lease_lapses(self, context: ServiceContext) -> None:
        sweep = make_sweep(context, 1)
        _claim(context, sweep.children[0], lease_seconds=0.01)
        assert _cancel(context, sweep.job.id) is JobState.CANCELLING
        time.sleep(0.05)
        take_back_lapsed(context.sessions, BRIEF)
        assert _states(context, sweep) == (CANCELLED, [CANCELLED])


def _at_once(works: list[Callable[[], object]]) -> None:
    """Run all of them from the same moment on. An error of one of them is raised here."""
    barrier = threading.Barrier(len(works))

    def start(work: Callable[[], object]) -> None:
        barrier.wait()
        work()

    with ThreadPoolExecutor(len(works)) as pool:
        list(pool.map(start, works))


class TestRaces:
    def test_cells_that_end_simultaneously_are_all_counted(self, context: ServiceContext) -> None:
        for _ in range(10):
            sweep = make_sweep(context, 6)
            claimed = [_claim(context, cell) for cell in sweep.children]
            _at_once([lambda one=one: _end(context, one, SUCCEEDED) for one in claimed])
            row = job(context, sweep.job.id)
            assert (row.state, row.progress["completed"]) == (SUCCEEDED, 6)
            assert _events(context, sweep.job.id) == ["queued", "running", *"123456", "succeeded"]

    def test_simultaneous_first_claims_start_the_sweep_once(self, context: ServiceContext) -> None:
        for _ in range(5):
            sweep = make_sweep(context, 6)
            _at_once([lambda cell=cell: _claim(context, cell) for cell in sweep.children])
            assert _events(context, sweep.job.id) == ["queued", "running"]

    def test_cancelling_while_cells_start_and_end_does_not_deadlock(self, context: ServiceContext) -> None:
        def run(cell: JobRecord) -> None:
            with writing(context.sessions) as session:
                claimed = lease.claim(session, cell.id, 30)
            if claimed is None:
                return
            with writing(context.sessions) as session:
                if not state_machine.enter(session, cell.id, SUCCEEDED, fence=claimed.attempt):
                    assert state_machine.enter(session, cell.id, CANCELLED, fence=claimed.attempt)

        def cancel(job_id: uuid.UUID) -> None:
            try:
                _cancel(context, job_id)
            except JobAlreadyFinished:
                assert job(context, job_id).state in (SUCCEEDED, FAILED)

        for _ in range(10):
            sweep = make_sweep(context, 6)
            works: list[Callable[[], object]] = [lambda cell=cell: run(cell) for cell in sweep.children]
            _at_once([*works, lambda made=sweep: cancel(made.job.id), lambda made=sweep: cancel(made.children[3].id)])
            state, child_states = _states(context, sweep)
            assert state in TERMINAL
            assert set(child_states) <= {SUCCEEDED, CANCELLED}
            assert (state is SUCCEEDED) == (set(child_states) == {SUCCEEDED})
            assert job(context, sweep.job.id).progress["completed"] == child_states.count(SUCCEEDED)


class TestSafetyNet:
    def test_an_unfinished_sweep_whose_cells_have_ended_is_settled(self, context: ServiceContext) -> None:
        left, open_one = make_sweep(context, 2), make_sweep(context, 2)
        make_job(context)
        with writing(context.sessions) as session:
            session.execute(update(JobRow).where(JobRow.parent_id == left.job.id).values(state=SUCCEEDED))
            session.execute(update(JobRow).where(JobRow.id == left.job.id).values(state=JobState.RUNNING))
            session.execute(update(JobRow).where(JobRow.id == open_one.children[0].id).values(state=SUCCEEDED))
        with ThreadPoolExecutor(4) as pool:
            assert max(pool.map(lambda _: settle_open_parents(context.sessions), range(4))) == 1
        assert job(context, left.job.id).state is SUCCEEDED
        assert _events(context, left.job.id) == ["queued", "2", "succeeded"]
        assert job(context, open_one.job.id).state is JobState.QUEUED
        assert settle_open_parents(context.sessions) == 0


class TestSubmitting:
    def test_the_limit_accepts_all_cells_or_none(self, context: ServiceContext) -> None:
        limits = context.settings.limits.model_copy(update={"max_queued_jobs": 3})
        few = context.settings.model_copy(update={"limits": limits})
        object.__setattr__(context, "settings", few)
        with pytest.raises(TooManyQueuedJobs, match="0 jobs are waiting already and 4 more are too many"):
            make_sweep(context, 4)
        make_sweep(context, 3)
        with pytest.raises(TooManyQueuedJobs, match="3 jobs are waiting already"):
            make_sweep(context, 1)
        with writing(context.sessions) as session:
            assert len(session.scalars(select(JobRow.id)).all()) == 4

    def test_cells_do_not_count_as_other_jobs(self, context: ServiceContext) -> None:
        limits = context.settings.limits.model_copy(update={"max_queued_jobs": 2})
        object.__setattr__(context, "settings", context.settings.model_copy(update={"limits": limits}))
        make_sweep(context, 2)
        make_job(context)
        make_job(context)
        with pytest.raises(TooManyQueuedJobs, match="2 jobs are waiting already"):
            make_job(context)

    def test_progress_has_a_total_from_the_start(self, context: ServiceContext) -> None:
        progress = job(context, make_sweep(context, 3).job.id).progress
        assert (progress["completed"], progress["total"], progress["fraction"]) == (0, 3, 0.0)

    def test_a_repeated_key_queues_no_cells(self, context: ServiceContext) -> None:
        first, second = make_sweep(context, 2, key="k"), make_sweep(context, 2, key="k")
        assert (second.job.id, second.children) == (first.job.id, [])
        with pytest.raises(IdempotencyKeyReused):
            make_job(context, key="k")

    def test_cells_are_published_and_the_sweep_is_not(self, context: ServiceContext, broker_url: str) -> None:
        sweep = make_sweep(context, 3)
        celery = make_celery(broker_url)
        assert relay_messages(context.sessions, celery) == 3
        celery.close()
        assert job(context, sweep.job.id).published_epoch is None

    def test_the_data_set_is_in_use_until_the_last_cell_has_ended(self, context: ServiceContext) -> None:
        sweep = make_sweep(context, 2)
        claimed = [_claim(context, cell) for cell in sweep.children]
        store = context.dataset_store
        _end(context, claimed[0], SUCCEEDED)
        with pytest.raises(DatasetInUse):
            delete_dataset(context.sessions, store, sweep.job.dataset_id)
        _end(context, claimed[1], SUCCEEDED)
        delete_dataset(context.sessions, store, sweep.job.dataset_id)

    def test_cells_are_listed_only_on_request(self, context: ServiceContext) -> None:
        sweep, other = make_sweep(context, 2), make_sweep(context, 1)
        train_id = make_job(context)
        page = PageQuery(limit=50, cursor=None, sort="created_at")

        def listed(**wanted: object) -> list[uuid.UUID]:
            with reading(context.sessions) as session:
                rows = JobService(session, context.settings.limits).page(page, JobFilter(**wanted)).items
            return [row.id for row in rows]

        cells = [cell.id for cell in sweep.children]
        assert listed() == [sweep.job.id, other.job.id, train_id]
        assert listed(kind=JobKind.SWEEP_CELL) == [*cells, other.children[0].id]
        assert listed(parent_id=sweep.job.id) == cells
        assert listed(state=JobState.QUEUED, kind=JobKind.SWEEP) == [sweep.job.id, other.job.id]
