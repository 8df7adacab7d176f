"""Jobs that hold Python's lock, in a real worker: their leases live, and they end when they have to."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import select, update

from app.context import ServiceContext, open_context
from app.jobs import lease
from app.jobs.service import cancel
from app.jobs.states import TERMINAL, JobState
from app.jobs.tables import JobRow
from app.settings import Settings
from app.storage.database import reading, writing
from app.storage.schema import upgrade_to_head
from tests.broker import private_redis
from tests.conftest import make_settings
from tests.databases import fresh_database
from tests.factories import job, make_job
from tests.service_process import service_environment, wait_until

pytestmark = pytest.mark.slow

#: Generous, for a busy machine.
WAIT_SECONDS = 180.0
LEASE_SECONDS = 2
SETTINGS = {
    "BRISTLECONE_LEASE_SECONDS": str(LEASE_SECONDS),
    "BRISTLECONE_RENEW_INTERVAL_SECONDS": "0.2",
    "BRISTLECONE_UPKEEP_INTERVAL_SECONDS": "0.3",
    "BRISTLECONE_RETRY_DELAY_SECONDS": "0.1",
    "BRISTLECONE_STOP_GRACE_SECONDS": "0.5",
    "BRISTLECONE_WORKER_PROCESSES": "1",
    # No job here fits anything; kernels need not be compiled.
    "NUMBA_DISABLE_JIT": "1",
}


class Worker:
    """Worker with one child that runs jobs, and its lease keeper. Tests share it until one of them ends it."""

    def __init__(self, settings: Settings, broker_url: str) -> None:
        changes = SETTINGS | {"DATABASE_URL": settings.database.url, "REDIS_URL": broker_url}
        self._environment = service_environment(settings.home, 8000, **changes)
        self._log = settings.home / "worker.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._n_old_bytes = 0
        self.is_ending = False

    def start(self) -> None:
        """Start the worker unless it runs, and a new log."""
        if self.is_ending:
            self.kill()
        if not self.runs:
            self.is_ending = False
            with self._log.open("ab") as output:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tests.workers.stubborn_worker"],
                    env=self._environment,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
        self._n_old_bytes = self._log.stat().st_size

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def terminate(self) -> None:
        self.is_ending = True
        self.parent.terminate()

    def kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    @property
    def log(self) -> str:
        """Return the output of the worker since the beginning of the test."""
        return self._log.read_bytes()[self._n_old_bytes :].decode()

    @property
    def parent(self) -> psutil.Process:
        assert self._process is not None
        return psutil.Process(self._process.pid)

    @property
    def child(self) -> psutil.Process:
        (child,) = [process for process in self.parent.children() if process.status() != psutil.STATUS_ZOMBIE]
        return child

    @property
    def keeper(self) -> psutil.Process:
        (keeper,) = self.child.children()
        return keeper


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    home = tmp_path_factory.mktemp("home")
    with ExitStack() as opened:
        url = f"sqlite:///{home / 'test.db'}"
        if request.param == "postgresql":
            url = opened.enter_context(fresh_database(request.getfixturevalue("postgresql_url")))
        settings = make_settings(home, url)
        upgrade_to_head(settings)
        yield settings


@pytest.fixture(scope="module")
def context(settings: Settings) -> Iterator[ServiceContext]:
    context = open_context(settings)
    yield context
    context.close()


@pytest.fixture(scope="module")
def shared_worker(settings: Settings) -> Iterator[Worker]:
    with private_redis() as broker_url:
        worker = Worker(settings, broker_url)
        yield worker
        worker.kill()


@pytest.fixture
def worker(context: ServiceContext, shared_worker: Worker) -> Iterator[Worker]:
    shared_worker.start()
    yield shared_worker
    _end_all_jobs(context)
    if not shared_worker.is_ending:
        # When this one has ended, so have all that the child was busy with.
        _wait_for_state(context, make_job(context, request={"name": "next"}), JobState.SUCCEEDED)


def _end_all_jobs(context: ServiceContext) -> None:
    with reading(context.sessions) as session:
        open_ids = session.scalars(select(JobRow.id).where(JobRow.state.not_in(TERMINAL))).all()
    for job_id in open_ids:
        cancel(context.sessions, context.settings.limits, job_id)
    with writing(context.sessions) as session:
        session.execute(update(JobRow).where(JobRow.state == JobState.CANCELLING).values(lease_expires_epoch=0.0))


def _holding_job(context: ServiceContext, **request: Any) -> uuid.UUID:
    """Queue a job that holds the lock, or does what `request` says, and return its id once it does."""
    job_id = make_job(context, request={"name": "stubborn", **(request or {"holds_lock": True})})
    wait_until(lambda: job(context, job_id).progress.get("phase") == "holding", WAIT_SECONDS, "the job to run")
    return job_id


def _wait_for_state(context: ServiceContext, job_id: uuid.UUID, state: JobState) -> None:
    wait_until(lambda: job(context, job_id).state is state, WAIT_SECONDS, f"the job becoming {state}")


def test_lease_lives_and_writes_go_on_until_the_job_is_killed(context: ServiceContext, worker: Worker) -> None:
    job_id = _holding_job(context)
    first_expiry = job(context, job_id).lease_expires_epoch
    assert first_expiry is not None
    waiting = []

    def is_two_leases_old() -> bool:
        time.sleep(0.2)  # each of these jobs has to run later
        waiting.append(make_job(context, request={"name": "next"}))
        with reading(context.sessions) as session:
            assert lease.lapsed(session) == []
        return (job(context, job_id).lease_expires_epoch or 0.0) > first_expiry + 2 * LEASE_SECONDS

    wait_until(is_two_leases_old, WAIT_SECONDS, "the lease being renewed")
    cancel(context.sessions, context.settings.limits, job_id)
    assert job(context, job_id).state in (JobState.CANCELLING, JobState.CANCELLED)
    _wait_for_state(context, job_id, JobState.CANCELLED)
    assert job(context, job_id).attempt == 1
    _wait_for_state(context, waiting[-1], JobState.SUCCEEDED)
    assert job(context, job_id).attempt == 1
    log = worker.log
    assert [line for line in log.splitlines() if "is ended on purpose" in line and " INFO " in line]
    assert "ERROR" not in log
    assert "Traceback" not in log


def _is_alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("killed", ["child", "keeper"])
def test_job_is_taken_back_after_its_process_was_killed(context: ServiceContext, worker: Worker, killed: str) -> None:
    job_id = _holding_job(context)
    (worker.child if killed == "child" else worker.keeper).kill()
    wait_until(lambda: job(context, job_id).lost_attempts == 1, WAIT_SECONDS, "the job being taken back")
    wait_until(lambda: job(context, job_id).attempt == 2, WAIT_SECONDS, "the second attempt")
    losses = wait_until(lambda: _losses(worker), WAIT_SECONDS, "a line about the loss")
    assert all(" ERROR " in line for line in losses)


def _losses(worker: Worker) -> list[str]:
    return [line for line in worker.log.splitlines() if "WorkerLostError" in line]


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell which processes are stopped")
def test_job_of_a_stopped_process_is_taken_back(context: ServiceContext, worker: Worker, tmp_path: Path) -> None:
    go_on = tmp_path / "go on"
    job_id = _holding_job(context, waits_for=str(go_on))
    child = worker.child
    child.suspend()
    wait_until(lambda: job(context, job_id).lost_attempts == 1, WAIT_SECONDS, "the job being taken back")
    wait_until(lambda: _is_claimed(context, job_id), WAIT_SECONDS, "the claim of another worker")
    go_on.touch()
    child.resume()
    ends = "dropped the outcome", "is ended on purpose"
    wait_until(lambda: any(end in worker.log for end in ends), WAIT_SECONDS, "the end of the first attempt")
    next_job = make_job(context, request={"name": "next"})
    _wait_for_state(context, next_job, JobState.SUCCEEDED)
    row = job(context, job_id)
    assert (row.state, row.attempt, row.lost_attempts) == (JobState.RUNNING, 2, 1)


def _is_claimed(context: ServiceContext, job_id: uuid.UUID) -> bool:
    with writing(context.sessions) as session:
        return lease.claim(session, job_id, lease_seconds=600.0) is not None


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell which processes are stopped")
def test_process_that_is_continued_in_time_keeps_its_job(
    context: ServiceContext, worker: Worker, tmp_path: Path
) -> None:
    go_on = tmp_path / "go on"
    job_id = _holding_job(context, waits_for=str(go_on))
    expiry = job(context, job_id).lease_expires_epoch
    worker.child.suspend()
    worker.child.resume()
    wait_until(lambda: job(context, job_id).lease_expires_epoch != expiry, WAIT_SECONDS, "the lease being renewed")
    go_on.touch()
    _wait_for_state(context, job_id, JobState.SUCCEEDED)
    assert job(context, job_id).attempt == 1


def test_next_job_of_a_process_has_a_lease_of_its_own(context: ServiceContext, worker: Worker) -> None:
    keepers = set()
    for _ in range(3):
        job_id = make_job(context, request={"name": "next"})
        _wait_for_state(context, job_id, JobState.SUCCEEDED)
        keepers.add(worker.keeper.pid)
    assert len(keepers) == 1


def test_shutdown_returns_the_job_to_the_queue(context: ServiceContext, worker: Worker) -> None:
    job_id = _holding_job(context)
    worker.terminate()
    _wait_for_state(context, job_id, JobState.QUEUED)
    row = job(context, job_id)
    assert (row.attempt, row.lost_attempts) == (1, 0)
    wait_until(lambda: not worker.runs, WAIT_SECONDS, "the end of the worker")


def test_a_locked_database_delays_no_kill(context: ServiceContext, worker: Worker) -> None:
    job_id = _holding_job(context)
    child = worker.child
    with writing(context.sessions) as session:
        session.execute(update(JobRow).where(JobRow.id == job_id).values(progress={}))
        worker.terminate()
        # SQLite gives up waiting for the lock after 30 s, which the keeper must not have waited for.
        wait_until(lambda: not _is_alive(child), 20.0, "the end of the process")
    _wait_for_state(context, job_id, JobState.QUEUED)
