"""Claims, renewals and lapses of leases, on real databases of both kinds."""

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, update

from app.context import ServiceContext
from app.datasets.errors import DatasetInUse
from app.datasets.service import delete_dataset
from app.jobs import lease, recovery, state_machine
from app.jobs.lease import Claim
from app.jobs.recovery import take_back_lapsed
from app.jobs.service import JobService
from app.jobs.states import JobKind, JobState
from app.jobs.tables import JobEventRow, JobRow
from app.logs import correlation
from app.settings import JobSettings
from app.storage.database import reading, writing
from tests.factories import job, make_job

BRIEF = JobSettings(retry_delay_seconds=0.0)


def _claim(context: ServiceContext, job_id: uuid.UUID, lease_seconds: float = 30.0) -> Claim | None:
    with writing(context.sessions) as session:
        return lease.claim(session, job_id, lease_seconds)


def _lapse(context: ServiceContext, job_id: uuid.UUID) -> Claim:
    claimed = _claim(context, job_id, lease_seconds=0.01)
    assert claimed is not None
    time.sleep(0.05)
    return claimed


def _cancel(context: ServiceContext, job_id: uuid.UUID) -> None:
    with writing(context.sessions) as session:
        JobService(session, context.settings.limits).cancel(job_id)


def _events(context: ServiceContext, job_id: uuid.UUID) -> list[str]:
    with reading(context.sessions) as session:
        query = select(JobEventRow).where(JobEventRow.job_id == job_id).order_by(JobEventRow.id)
        return [row.payload.get("state", row.kind) for row in session.scalars(query)]


class TestClaim:
    def test_increments_the_attempt_and_sets_started_at(self, context: ServiceContext) -> None:
        job_id = make_job(context)
        claimed = _claim(context, job_id)
        assert claimed == Claim(job_id, 1, '{"name": "made"}', JobKind.TRAIN, job(context, job_id).dataset_id)
        assert job(context, job_id).state is JobState.RUNNING
        assert job(context, job_id).started_at is not None
        assert _events(context, job_id) == ["queued", "running"]

    def test_a_claimed_job_is_refused(self, context: ServiceContext) -> None:
        job_id = make_job(context)
        assert _claim(context, job_id) is not None
        assert _claim(context, job_id) is None
        assert job(context, job_id).attempt == 1

    def test_an_unknown_job_is_refused(self, context: ServiceContext) -> None:
        assert _claim(context, uuid.uuid4()) is None

    def test_a_cancelled_job_is_refused(self, context: ServiceContext) -> None:
        job_id = make_job(context)
        _cancel(context, job_id)
        assert _claim(context, job_id) is None

    def test_one_of_many_simultaneous_claims_succeeds(self, context: ServiceContext) -> None:
        job_id = make_job(context)
        barrier = threading.Barrier(8)

        def contend(_: int) -> Claim | None:
            barrier.wait()
            return _claim(context, job_id)

        with ThreadPoolExecutor(8) as pool:
            claims = list(pool.map(contend, range(8)))
        assert sum(claim is not None for claim in claims) == 1

    def test_a_retry_is_refused_until_it_is_due(self, context: ServiceContext) -> None:
        job_id = make_job(context)
        claimed = _claim(context, job_id)
        assert claimed is not None
        with writing(context.sessions) as session:
            assert state_machine.requeue(session, job_id, fence=claimed.attempt, delay_seconds=60.0)
        assert _claim(context, job_id) is None
        with writing(context.sessions) as session:
            session.execute(update(JobRow).values(not_before_epoch=JobRow.not_before_epoch - 60.0))
        assert _claim(context, job_id) is not None


class TestRenew:
    def test_stores_progress_and_returns_the_state(self, context: ServiceContext) -> None:
        job_id = make_job(context)
        claimed = _claim(context, job_id)
        assert claimed is not None
        with writing(context.sessions) as session:
            assert lease.renew(session, claimed, 30, {"fraction": 0.5}) is JobState.RUNNING
        assert job(context, job_id).progress == {"fraction": 0.5}
        _cancel(context, job_id)
        with writing(context.sessions) as session:
            assert lease.renew(session, claimed, 30, None) is JobState.CANCELLING
        assert _events(context, job_id) == ["queued", "running", "progress", "cancelling"]

    def test_is_refused_after_the_job_was_taken_back(self, context: ServiceContext) -> None:
        job_id = make_job(context)
        claimed = _lapse(context, job_id)
        take_back_lapsed(context.sessions, BRIEF)
        with writing(context.sessions) as session:
            assert lease.renew(session, claimed, 30, {"fraction": 0.9}) is None
        assert job(context, job_id).progress != {"fraction": 0.9}


class TestTakingBack:
    def test_a_live_lease_is_left_alone(self, context: ServiceContext) -> None:
        job_id = make_job(context)
        _claim(context, job_id)
        assert take_back_lapsed(context.sessions, BRIEF) == 0
        assert job(context, job_id).state is JobState.RUNNING

    def test_a_lapsed_job_is_queued_and_published_again(
        self, context: ServiceContext, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job_id = make_job(context)
        claimed = _lapse(context, job_id)
        with writing(context.sessions) as session:
            session.execute(update(JobRow).values(progress={"phase": "growing", "fraction": 0.5}))
        lines = []
        monkeypatch.setattr(recovery.log, "warning", lambda *words: lines.append((correlation.get(), *words)))
        assert take_back_lapsed(context.sessions, BRIEF) == 1
        row = job(context, job_id)
        assert (row.state, row.lost_attempts, row.published_epoch) == (JobState.QUEUED, 1, None)
        assert row.progress == {}
        assert [(line[0], str(line[-1])) for line in lines] == [(claimed.correlation, "queued")]

    def test_a_lapsed_job_asked_to_stop_is_cancelled(self, context: ServiceContext) -> None:
        job_id = make_job(context)
        _lapse(context, job_id)
        _cancel(context, job_id)
        take_back_lapsed(context.sessions, BRIEF)
        assert job(context, job_id).state is JobState.CANCELLED

    def test_the_third_loss_in_a_row_fails_the_job(self, context: ServiceContext) -> None:
        job_id = make_job(context)
        for expected in (JobState.QUEUED, JobState.QUEUED, JobState.FAILED):
            _lapse(context, job_id)
            take_back_lapsed(context.sessions, BRIEF)
            assert job(context, job_id).state is expected
        assert job(context, job_id).error_code == lease.WORKER_LOST

    def test_simultaneous_recoveries_count_one_loss(self, context: ServiceContext) -> None:
        job_id = make_job(context)
        _lapse(context, job_id)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: take_back_lapsed(context.sessions, BRIEF), range(8)))
        assert job(context, job_id).lost_attempts == 1


class TestFencing:
    @pytest.mark.parametrize("target", [JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.QUEUED])
    def test_a_late_worker_changes_nothing(self, context: ServiceContext, target: JobState) -> None:
        job_id = make_job(context)
        late = _lapse(context, job_id)
        take_back_lapsed(context.sessions, BRIEF)
        for expected in (JobState.QUEUED, JobState.RUNNING):
            assert job(context, job_id).state is expected
            with writing(context.sessions) as session:
                assert not state_machine.enter(session, job_id, target, fence=late.attempt)
            _claim(context, job_id)


class TestInputs:
    def test_are_in_use_until_the_job_has_ended(self, context: ServiceContext) -> None:
        job_id = make_job(context)
        dataset_id = job(context, job_id).dataset_id
        store = context.dataset_store
        _claim(context, job_id)
        with pytest.raises(DatasetInUse, match="job inputs"):
            delete_dataset(context.sessions, store, dataset_id)
        with writing(context.sessions) as session:
            assert state_machine.fail(session, job_id, "single_class", "one class", fence=1)
        delete_dataset(context.sessions, store, dataset_id)
        assert job(context, job_id).dataset_id == dataset_id
