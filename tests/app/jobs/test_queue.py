"""Relay: queued jobs reach the broker, even if it was unavailable for a while."""

from pathlib import Path

import pytest
from celery import Celery

from app.context import ServiceContext
from app.jobs import queue
from app.jobs.service import JobService
from app.maintenance import maintenance_thread
from app.storage.database import writing
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


def test_a_lost_message_is_published_again(context: ServiceContext, celery: Celery) -> None:
    job_id = make_job(context)
    queue.relay_messages(context.sessions, celery)
    assert queue.reset_lost_messages(context.sessions, celery, republish_after_seconds=-1) == 0
    with celery.connection_for_write() as connection, connection.channel() as channel:
        channel.queue_purge(queue=queue.QUEUE)
    assert queue.reset_lost_messages(context.sessions, celery, republish_after_seconds=60) == 0
    assert queue.reset_lost_messages(context.sessions, celery, republish_after_seconds=-1) == 1
    assert job(context, job_id).published_epoch is None


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
