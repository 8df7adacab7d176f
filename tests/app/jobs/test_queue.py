"""Relay: queued jobs reach the broker, even if it was unavailable for a while."""

import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from celery import Celery
from sqlalchemy import func, select, update

from app.context import ServiceContext
from app.jobs import queue
from app.jobs.service import JobService
from app.jobs.states import JobKind
from app.jobs.tables import JobRow
from app.maintenance import maintenance_thread
from app.storage.database import epoch_now, writing
from app.storage.orm import utc_now
from tests.broker import start_redis
from tests.factories import job, make_job, make_sweep


@pytest.fixture
def celery(broker_url: str):
    celery = queue.make_celery(broker_url)
    with celery.connection_for_write() as connection, connection.channel() as channel:
        channel.queue_declare(queue=queue.QUEUE)
        channel.queue_purge(queue=queue.QUEUE)
    yield celery
    celery.close()


def test_a_queued_job_is_published_once(context: ServiceContext, celery: Celery) -> None:
    job_id = make_job(context)
    assert job(context, job_id).published_epoch is None
    assert queue.relay_messages(context.sessions, celery) == 1
    assert job(context, job_id).published_epoch is not None
    assert queue.relay_messages(context.sessions, celery) == 0
    assert queue.waiting_messages(celery) == 1


def test_a_message_is_an_id_in_json(context: ServiceContext, celery: Celery) -> None:
    job_id = make_job(context)
    queue.relay_messages(context.sessions, celery)
    with celery.connection_for_write() as connection, connection.channel() as channel:
        message = channel.basic_get(queue.QUEUE)
        assert message.content_type == "application/json"
        assert message.headers["task"] == "bristlecone.train"
        assert message.decode()[0] == [str(job_id)]
        message.ack()


def test_cells_of_a_sweep_are_published_last(context: ServiceContext, celery: Celery) -> None:
    sweep, train_id = make_sweep(context, 3), make_job(context)
    assert queue.relay_messages(context.sessions, celery) == 4
    assert queue.waiting_messages(celery) == 4
    with celery.connection_for_write() as connection, connection.channel() as channel:
        came = [channel.basic_get(queue.QUEUE, no_ack=True).decode()[0][0] for _ in range(4)]
    assert came == [str(train_id), *(str(cell.id) for cell in sweep.children)]


def test_a_cancelled_job_is_not_published(context: ServiceContext, celery: Celery) -> None:
    job_id = make_job(context)
    with writing(context.sessions) as session:
        JobService(session, context.settings.limits).cancel(job_id)
    assert queue.relay_messages(context.sessions, celery) == 0


def _published(context: ServiceContext, seconds_ago: float, queued_seconds_ago: float) -> uuid.UUID:
    """Queue a job as if it had been published at this time."""
    job_id = make_job(context)
    with writing(context.sessions) as session:
        created_at = utc_now() - timedelta(seconds=queued_seconds_ago)
        values = {"published_epoch": epoch_now() - seconds_ago, "created_at": created_at}
        session.execute(update(JobRow).where(JobRow.id == job_id).values(values))
    return job_id


def _purge(celery: Celery) -> None:
    with celery.connection_for_write() as connection, connection.channel() as channel:
        channel.queue_purge(queue=queue.QUEUE)


def _reset(context: ServiceContext, celery: Celery) -> int:
    return queue.reset_lost_messages(context.sessions, celery, republish_after_seconds=60)


def test_a_lost_message_is_published_again(context: ServiceContext, celery: Celery) -> None:
    new = make_job(context)
    queue.relay_messages(context.sessions, celery)
    old = _published(context, seconds_ago=61, queued_seconds_ago=3600)
    queue.publish(celery, JobKind.TRAIN, old)
    assert _reset(context, celery) == 0
    _purge(celery)
    assert _reset(context, celery) == 1
    assert job(context, old).published_epoch is None
    assert job(context, new).published_epoch is not None


def test_a_message_that_was_taken_is_not_lost(
    context: ServiceContext, celery: Celery, caplog: pytest.LogCaptureFixture
) -> None:
    taken = _published(context, seconds_ago=61, queued_seconds_ago=3600)
    queue.publish(celery, JobKind.TRAIN, taken)
    with celery.connection_for_write() as connection, connection.channel() as channel:
        message = channel.basic_get(queue.QUEUE)
        assert queue.waiting_messages(celery) == 0
        assert queue.taken_jobs(celery) == {taken}
        assert _reset(context, celery) == 0
        lost = _published(context, seconds_ago=61, queued_seconds_ago=3600)
        assert _reset(context, celery) > 0
        assert "the broker has lost 1" in caplog.text
        assert job(context, lost).published_epoch is None
        message.ack()
    assert queue.taken_jobs(celery) == set()


def test_lost_messages_are_published_again_under_steady_load(context: ServiceContext, celery: Celery) -> None:
    lost = [_published(context, seconds_ago=61, queued_seconds_ago=62) for _ in range(8)]
    for _ in range(5):
        make_job(context)
        queue.relay_messages(context.sessions, celery)
    assert queue.waiting_messages(celery) == 5
    assert _reset(context, celery) == 8
    assert queue.relay_messages(context.sessions, celery) == 8
    assert all(job(context, job_id).published_epoch is not None for job_id in lost)


def test_a_loss_that_second_messages_hide_is_found_by_age(context: ServiceContext, celery: Celery) -> None:
    job_ids = {seconds: _published(context, 100, queued_seconds_ago=seconds) for seconds in (101, 199, 261, 3600)}
    for _ in range(4):
        queue.publish(celery, JobKind.TRAIN, job_ids[101])
    assert _reset(context, celery) == 2
    assert {seconds for seconds, job_id in job_ids.items() if job(context, job_id).published_epoch is None} == {
        101,
        199,
    }


def test_a_long_queue_makes_few_messages(context: ServiceContext, celery: Celery) -> None:
    n_jobs, step_seconds = 5, 600
    for _ in range(n_jobs):
        make_job(context)
    n_messages = queue.relay_messages(context.sessions, celery)
    for _ in range(8 * 3600 // step_seconds):
        _pass_time(context, step_seconds)
        _reset(context, celery)
        n_messages += queue.relay_messages(context.sessions, celery)
    # Eight hours are a minute doubled nine times.
    assert n_jobs * 5 <= n_messages <= n_jobs * 10


def _pass_time(context: ServiceContext, seconds: float) -> None:
    with writing(context.sessions) as session:
        created_at = session.scalar(select(func.min(JobRow.created_at))) - timedelta(seconds=seconds)
        session.execute(update(JobRow).values(published_epoch=JobRow.published_epoch - seconds, created_at=created_at))


def test_a_returned_job_counts_from_its_return(context: ServiceContext, celery: Celery) -> None:
    job_id = _published(context, seconds_ago=100, queued_seconds_ago=3600)
    queue.publish(celery, JobKind.TRAIN, job_id)
    assert _reset(context, celery) == 0
    with writing(context.sessions) as session:
        returned = update(JobRow).where(JobRow.id == job_id).values(not_before_epoch=epoch_now() - 150)
        session.execute(returned)
    assert _reset(context, celery) == 1


def test_no_job_is_lost_while_the_broker_is_unavailable(context: ServiceContext, tmp_path: Path) -> None:
    socket = tmp_path / "redis.sock"
    celery = queue.make_celery(f"redis+socket://{socket}")
    maintenance = maintenance_thread(context, celery)
    job_id = make_job(context)
    maintenance.run_once()
    assert job(context, job_id).published_epoch is None
    redis = start_redis(socket)
    try:
        maintenance.run_once()
        assert job(context, job_id).published_epoch is not None
        assert queue.waiting_messages(celery) == 1
    finally:
        celery.close()
        redis.terminate()
        redis.wait()
