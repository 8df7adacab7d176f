"""Messages to workers: task names, settings of the broker, and the relay that publishes queued jobs.

A message contains only the id of a job. While `published_epoch` of a queued job is NULL, its message has yet to be
published. The transaction that queues a job leaves the column NULL, and the relay publishes the message after the
commit. So no job is lost between database and broker, and submitting a job does not wait for the broker.
"""

import logging
import uuid

from celery import Celery
from kombu.exceptions import OperationalError as BrokerUnavailable
from redis.exceptions import RedisError
from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from app.jobs.states import WORKER_KINDS, JobKind, JobState
from app.jobs.tables import JobRow
from app.storage.database import SessionFactory, epoch_now, reading, writing

log = logging.getLogger(__name__)

QUEUE = "bristlecone"
TASK_NAMES = {kind: f"bristlecone.{kind.value}" for kind in sorted(WORKER_KINDS)}

#: The many cells of a sweep must not delay other jobs. On Redis a smaller number means a higher priority.
_PRIORITIES = {kind: 6 if kind is JobKind.SWEEP_CELL else 0 for kind in WORKER_KINDS}
_IS_CELL: ColumnElement[bool] = JobRow.kind == JobKind.SWEEP_CELL

#: Errors which mean that the broker is unavailable, not that the message is wrong.
BROKER_ERRORS = (BrokerUnavailable, RedisError, OSError)


def make_celery(broker_url: str) -> Celery:
    """Return a Celery app for this broker, with JSON messages and no result backend: results are stored in SQL."""
    celery = Celery("bristlecone", broker=broker_url, set_as_current=False)
    celery.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_default_queue=QUEUE,
        task_create_missing_queues=False,
        broker_connection_timeout=3,
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            # Seconds until the message of a killed worker is delivered again; the default is an hour.
            "visibility_timeout": 60,
            # Other workers look for such messages every second; with the defaults, every 90 seconds.
            "unacked_restore_interval": 1,
            "unacked_restore_throttle": 1,
            "socket_connect_timeout": 3,
            # A broker that hangs must not block the maintenance thread, which also recovers jobs of dead workers.
            "socket_timeout": 5,
            "socket_keepalive": True,
        },
    )
    return celery


def publish(celery: Celery, kind: JobKind, job_id: uuid.UUID) -> None:
    """Send the message of a job. Raises one of `BROKER_ERRORS` at once if the broker does not accept it."""
    celery.send_task(TASK_NAMES[kind], args=[str(job_id)], priority=_PRIORITIES[kind], retry=False)


def relay_messages(sessions: SessionFactory, celery: Celery, batch: int = 100) -> int:
    """Publish the messages of queued jobs, cells of sweeps last, oldest first. Return how many were published.

    No transaction is open while a message is sent. Two relays at the same time may publish a job twice, which costs one
    query: the second worker finds that the job was claimed.
    """
    with reading(sessions) as session:
        query = select(JobRow.kind, JobRow.id).where(_IS_UNPUBLISHED).order_by(_IS_CELL, JobRow.created_at).limit(batch)
        unpublished = [(JobKind(kind), job_id) for kind, job_id in session.execute(query)]
    for kind, job_id in unpublished:
        publish(celery, kind, job_id)
        with writing(sessions) as session:
            _mark_published(session, job_id)
    return len(unpublished)


def _mark_published(session: Session, job_id: uuid.UUID) -> None:
    job = update(JobRow).where(JobRow.id == job_id, _IS_UNPUBLISHED)
    session.execute(job.values(published_epoch=epoch_now()).execution_options(synchronize_session=False))


def reset_lost_messages(sessions: SessionFactory, celery: Celery, republish_after_seconds: float) -> int:
    """Mark messages as unpublished that were published long ago although the queue is empty: the broker lost them.

    Return how many were marked.
    """
    stale = (JobRow.state == JobState.QUEUED) & (JobRow.published_epoch < epoch_now() - republish_after_seconds)
    with reading(sessions) as session:
        if not session.scalar(select(func.count()).select_from(JobRow).where(stale)):
            return 0
    if waiting_messages(celery) > 0:
        return 0
    with writing(sessions) as session:
        # Locked rows are skipped: waiting for the locks of several rows could deadlock.
        unlocked = select(JobRow.id).where(stale).with_for_update(skip_locked=True)
        query = update(JobRow).where(JobRow.id.in_(unlocked)).values(published_epoch=None).returning(JobRow.id)
        lost = session.scalars(query.execution_options(synchronize_session=False)).all()
    log.warning("publishing the messages of %d jobs again, which the broker has lost", len(lost))
    return len(lost)


def waiting_messages(celery: Celery) -> int:
    """Return how many messages in the queue no worker has taken yet."""
    with celery.connection_for_write() as connection, connection.channel() as channel:
        declared = channel.queue_declare(queue=QUEUE, passive=False)
        return int(declared.message_count)


def ping_broker(celery: Celery) -> None:
    """Raise one of `BROKER_ERRORS` if the broker does not answer."""
    with celery.connection_for_write() as connection:
        connection.ensure_connection(max_retries=1, timeout=2)
        connection.default_channel.client.ping()


_IS_UNPUBLISHED: ColumnElement[bool] = (
    (JobRow.state == JobState.QUEUED)
    & JobRow.kind.in_(WORKER_KINDS)
    & JobRow.published_epoch.is_(None)
    & (JobRow.not_before_epoch <= epoch_now())
)
