"""Full disks, as files, quotas and both databases report them, become 507 answers, and jobs wait for space."""

import errno
import mmap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from app.context import ServiceContext
from app.datasets.errors import UnreadableFile
from app.datasets.service import dataset_named_at
from app.errors import StorageFull
from app.jobs.service import cancel
from app.jobs.states import JobState
from app.settings import Settings
from app.storage.disk_space import DiskSpace, is_full
from tests.factories import job, make_dataset, make_job
from tests.service_process import wait_until
from workers.full_disk import PHASE
from workers.lease_keeper import LeaseKeeper
from workers.lifecycle import run_job

#: More than any disk has.
EXBIBYTE = 2**60

REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger AS
'BEGIN RAISE EXCEPTION ''could not extend file'' USING ERRCODE = ''53100''; END' LANGUAGE plpgsql;
CREATE TRIGGER refuse BEFORE UPDATE ON {table} FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION refuse();
"""


@contextmanager
def _full_postgresql(context: ServiceContext, table: str, when: str = "true") -> Iterator[None]:
    """Let the server report a full disk for updates of rows for which `when` holds."""
    engine = sa.create_engine(context.settings.database.url, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(REFUSE.format(table=table, when=when))
        yield
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP TRIGGER refuse ON {table}; DROP FUNCTION refuse()")
        engine.dispose()


@contextmanager
def _full_sqlite(context: ServiceContext) -> Iterator[None]:
    """Forbid the database file to grow."""

    def limit(connection: Any, record: Any) -> None:
        connection.execute("PRAGMA max_page_count = 1")  # SQLite takes the current size in its place.

    sa.event.listen(context.engine, "connect", limit)
    context.engine.dispose()
    try:
        yield
    finally:
        sa.event.remove(context.engine, "connect", limit)
        context.engine.dispose()


def _is_postgresql(context: ServiceContext) -> bool:
    return context.engine.dialect.name == "postgresql"


def test_a_full_database_is_told_from_one_that_does_not_answer(client: TestClient, context: ServiceContext) -> None:
    dataset_ids = [make_dataset(context) for _ in range(40)]
    served: ServiceContext = client.app.state.context
    with _full_postgresql(context, "datasets") if _is_postgresql(context) else _full_sqlite(served):
        for dataset_id in dataset_ids:  # The first ones may fit into free pages.
            response = client.patch(f"/datasets/{dataset_id}", json={"description": "long " * 390})
            if response.status_code != 200:
                break
    assert (response.status_code, response.json()["code"]) == (507, "storage_full")
    assert dataset_named_at(context.sessions, "/", dataset_id).description is None
    assert client.patch(f"/datasets/{dataset_id}", json={"name": "new"}).status_code == 200
    assert dataset_named_at(context.sessions, "/", dataset_id).name == "new"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_errors_of_files(number: int) -> None:
    error = OSError(number, "full")
    wrapped = UnreadableFile("the file is damaged")
    wrapped.__cause__ = error
    assert [is_full(one) for one in (error, wrapped, OSError(errno.EIO, "broken"), None)] == [True, True, False, False]


def test_space_is_kept_free(tmp_path: Path) -> None:
    DiskSpace(tmp_path, 0).require()
    with pytest.raises(StorageFull, match="and 1152921504606846976 more would be stored"):
        DiskSpace(tmp_path, 0).require(EXBIBYTE)
    with pytest.raises(StorageFull, match="BRISTLECONE_MIN_FREE_BYTES"):
        DiskSpace(tmp_path, EXBIBYTE).require()


class TestJobs:
    """A result waits for space in the database; the attempt goes on."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        quick = settings.jobs.model_copy(update={"renew_interval_seconds": 0.05, "lease_seconds": 2.0})
        return settings.model_copy(update={"jobs": quick})

    @pytest.fixture
    def keeper(self, settings: Settings) -> Iterator[LeaseKeeper]:
        with LeaseKeeper(settings, mmap.mmap(-1, 1)) as keeper:
            yield keeper

    @pytest.fixture
    def context(self, keeper: LeaseKeeper, context: ServiceContext) -> ServiceContext:
        """Return a context that was opened after the keeper was forked."""
        return context

    @pytest.fixture
    def waiting(
        self, context: ServiceContext, keeper: LeaseKeeper
    ) -> Iterator[tuple[Any, Callable[[], None], threading.Thread]]:
        """Yield the id of a job that waits to be stored, what ends the wait, and its thread."""
        if not _is_postgresql(context):
            pytest.skip("on SQLite, the phase of a job cannot be stored either; test_full_disk.py runs such jobs")
        job_id = make_job(context)
        full = _full_postgresql(context, "jobs", "NEW.state = 'succeeded'")
        full.__enter__()
        thread = threading.Thread(target=run_job, args=(context, job_id, _work, keeper))
        thread.start()
        freed = []

        def free() -> None:
            if not freed:
                freed.append(True)
                full.__exit__(None, None, None)

        wait_until(lambda: job(context, job_id).progress.get("phase") == PHASE, 20, "the job waiting")
        yield job_id, free, thread
        free()
        thread.join(20)

    def test_waits_for_longer_than_a_lease(self, context: ServiceContext, waiting: Any) -> None:
        job_id, free, thread = waiting
        time.sleep(1.5 * context.settings.jobs.lease_seconds)
        assert job(context, job_id).state is JobState.RUNNING
        free()
        thread.join(30)
        row = job(context, job_id)
        assert (row.state, row.attempt, row.lost_attempts) == (JobState.SUCCEEDED, 1, 0)
        assert row.progress["phase"] == "growing"

    def test_keeps_its_lease_although_renewals_do_not_fit(self, context: ServiceContext, keeper: LeaseKeeper) -> None:
        if not _is_postgresql(context):
            pytest.skip("on SQLite, only connections of this process can be told that there is no space")
        job_id, started, ready = make_job(context), threading.Event(), threading.Event()

        def work(*_: object) -> Any:
            started.set()
            ready.wait(30)
            return Result()

        thread = threading.Thread(target=run_job, args=(context, job_id, work, keeper))
        thread.start()
        started.wait(20)
        with _full_postgresql(context, "jobs"):
            ready.set()
            time.sleep(1.5 * context.settings.jobs.lease_seconds)
        thread.join(30)
        assert (job(context, job_id).state, job(context, job_id).attempt) == (JobState.SUCCEEDED, 1)

    def test_can_be_cancelled_meanwhile(self, context: ServiceContext, waiting: Any) -> None:
        job_id, _, thread = waiting
        cancel(context.sessions, context.settings.limits, job_id)
        thread.join(20)
        assert job(context, job_id).state is JobState.CANCELLED


def _work(context: ServiceContext, claim: Any, monitor: Any) -> Any:
    monitor.begin("growing", 1, "trees")
    return Result()


class Result:
    """Result without columns and files."""

    files = ()

    def store(self, session: Any, context: ServiceContext) -> dict[str, Any]:
        return {}
