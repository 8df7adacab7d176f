"""Messages to workers: task names, settings of the broker, and the relay that publishes queued jobs.

A message contains only the id of a job. While `published_epoch` of a queued job is NULL, its message has yet to be
published. The transaction that queues a job leaves the column NULL, and the relay publishes the message after the
commit. So no job is lost between database and broker, and submitting a job does not wait for the broker.
"""

import json
import logging
import uuid

from celery import Celery
from kombu.exceptions import OperationalError as BrokerUnavailable
from redis.exceptions import RedisError
from sqlalchemy import ColumnElement, Select, func, or_, select, update
from sqlalchemy.orm import Session

from app.jobs.states import WORKER_KINDS, JobKind, JobState
from app.jobs.tables import JobRow
from app.storage.database import SessionFactory, epoch_now, epoch_of, reading, writing

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
    """Mark queued jobs as unpublished whose message the broker has lost, or may have lost. Return how many.

    If the broker has fewer messages than jobs are queued, it has lost some, and every job that was published long
    enough ago is published again. Second messages can hide a loss. So each job is also published again whenever it has
    been queued for twice as long as when it was published last: the gaps double, and a long queue makes few messages.
    """
    is_old = _IS_PUBLISHED & (republish_after_seconds < _SECONDS_SINCE_PUBLISHED)
    with reading(sessions) as session:
        if not session.scalar(_count(is_old)):
            return 0
        now = session.scalar(select(epoch_now()))
    # Counted before the jobs: one that is claimed meanwhile must not count as one whose message is lost.
    n_messages, taken = waiting_messages(celery), taken_jobs(celery)
    has_message_in_queue = _IS_PUBLISHED & (JobRow.published_epoch <= now) & JobRow.id.not_in(taken)
    with reading(sessions) as session:
        n_lost = (session.scalar(_count(has_message_in_queue)) or 0) - n_messages
    is_due = is_old if n_lost > 0 else is_old & _HAS_WAITED_TWICE_AS_LONG
    with writing(sessions) as session:
        # Locked rows are skipped: waiting for the locks of several rows could deadlock.
        unlocked = select(JobRow.id).where(is_due).with_for_update(skip_locked=True)
        query = update(JobRow).where(JobRow.id.in_(unlocked)).values(published_epoch=None).returning(JobRow.id)
        due = session.scalars(query.execution_options(synchronize_session=False)).all()
    if due and n_lost > 0:
        log.warning("publishing the messages of %d jobs again, because the broker has lost %d", len(due), n_lost)
    return len(due)


def _count(condition: ColumnElement[bool]) -> Select[int]:
    return select(func.count()).select_from(JobRow).where(condition)


def waiting_messages(celery: Celery) -> int:
    """Return how many messages in the queue no worker has taken yet."""
    with celery.connection_for_write() as connection, connection.channel() as channel:
        declared = channel.queue_declare(queue=QUEUE, passive=False)
        return int(declared.message_count)


def taken_jobs(celery: Celery) -> set[uuid.UUID]:
    """Return the jobs whose messages workers have taken and not yet acknowledged, claimed or not."""
    with celery.connection_for_write() as connection, connection.channel() as channel:
        taken = [json.loads(text)[0] for text in channel.client.hvals(channel.unacked_key)]
        # Other applications may use the same Redis.
        ours = [raw for raw in taken if raw["headers"].get("task") in TASK_NAMES.values()]
        bodies = [channel.decode_body(raw["body"], raw["properties"]["body_encoding"]) for raw in ours]
    return {uuid.UUID(json.loads(body)[0][0]) for body in bodies}


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

_IS_PUBLISHED: ColumnElement[bool] = (
    (JobRow.state == JobState.QUEUED) & JobRow.kind.in_(WORKER_KINDS) & JobRow.published_epoch.is_not(None)
)

_SECONDS_SINCE_PUBLISHED = epoch_now() - JobRow.published_epoch
#: A job that returned to the queue has been queued since `not_before_epoch`, which is 0 for others.
_HAS_WAITED_TWICE_AS_LONG: ColumnElement[bool] = or_(
    JobRow.published_epoch - epoch_of(JobRow.created_at) <= _SECONDS_SINCE_PUBLISHED,
    JobRow.published_epoch - JobRow.not_before_epoch <= _SECONDS_SINCE_PUBLISHED,
)
