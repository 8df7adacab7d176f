"""Messages to the workers: task names, the broker's settings, and the relay that publishes what the table owes.

A message is a job's id and nothing else. A queued job whose `published_epoch` is NULL is owed a message; the
transaction that queues a job leaves that mark, and the relay acts on it after the commit. So a job is never lost
between the two, and submitting one does not wait for the broker.
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

#: Hundreds of cells must not keep others from being served. On Redis a smaller number goes first.
_PRIORITIES = {kind: 6 if kind is JobKind.SWEEP_CELL else 0 for kind in WORKER_KINDS}
_GOES_LAST: ColumnElement[bool] = JobRow.kind == JobKind.SWEEP_CELL

#: Errors that mean that the broker is away, not that the message is wrong.
BROKER_AWAY = (BrokerUnavailable, RedisError, OSError)


def make_celery(broker_url: str) -> Celery:
    """A Celery client or worker on this broker, JSON only, without a result backend: SQL holds the results."""
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
            # A message of a killed worker comes back after about this long, not after the default hour.
            "visibility_timeout": 60,
            # How often the others look for such messages; the default makes it 90 seconds.
            "unacked_restore_interval": 1,
            "unacked_restore_throttle": 1,
            "socket_connect_timeout": 3,
            # A broker that hangs must not hold the thread that also looks after dead workers.
            "socket_timeout": 5,
            "socket_keepalive": True,
        },
    )
    return celery


def publish(celery: Celery, kind: JobKind, job_id: uuid.UUID) -> None:
    """Raises one of `BROKER_AWAY` at once when the broker does not take the message."""
    celery.send_task(TASK_NAMES[kind], args=[str(job_id)], priority=_PRIORITIES[kind], retry=False)


def relay_owed(sessions: SessionFactory, celery: Celery, batch: int = 100) -> int:
    """Publish the queued jobs that are owed a message, cells of sweeps last, oldest first; how many were published.

    No transaction is open while the broker is talked to. Two relays at once may publish a job twice, which costs one
    query: the second claim finds the job taken.
    """
    with reading(sessions) as session:
        query = select(JobRow.kind, JobRow.id).where(_IS_OWED).order_by(_GOES_LAST, JobRow.created_at).limit(batch)
        owed = [(JobKind(kind), job_id) for kind, job_id in session.execute(query)]
    for kind, job_id in owed:
        publish(celery, kind, job_id)
        with writing(sessions) as session:
            _mark_published(session, job_id)
    return len(owed)


def _mark_published(session: Session, job_id: uuid.UUID) -> None:
    still_owed = update(JobRow).where(JobRow.id == job_id, _IS_OWED)
    session.execute(still_owed.values(published_epoch=epoch_now()).execution_options(synchronize_session=False))


def forget_lost_messages(sessions: SessionFactory, celery: Celery, republish_after_seconds: float) -> int:
    """Owe a new message to jobs that were published long ago while the broker's queue is empty: theirs was lost."""
    stale = (JobRow.state == JobState.QUEUED) & (JobRow.published_epoch < epoch_now() - republish_after_seconds)
    with reading(sessions) as session:
        if not session.scalar(select(func.count()).select_from(JobRow).where(stale)):
            return 0
    if waiting_messages(celery) > 0:
        return 0
    with writing(sessions) as session:
        # A row that somebody holds is not forgotten; to wait for several might be to wait for each other.
        free = select(JobRow.id).where(stale).with_for_update(skip_locked=True)
        query = update(JobRow).where(JobRow.id.in_(free)).values(published_epoch=None).returning(JobRow.id)
        forgotten = session.scalars(query.execution_options(synchronize_session=False)).all()
    log.warning("owing new messages to %d jobs whose message the broker lost", len(forgotten))
    return len(forgotten)


def waiting_messages(celery: Celery) -> int:
    """Messages in the broker's queue that no worker has taken."""
    with celery.connection_for_write() as connection, connection.channel() as channel:
        declared = channel.queue_declare(queue=QUEUE, passive=False)
        return int(declared.message_count)


def ping_broker(celery: Celery) -> None:
    """Raises one of `BROKER_AWAY` when the broker does not answer."""
    with celery.connection_for_write() as connection:
        connection.ensure_connection(max_retries=1, timeout=2)
        connection.default_channel.client.ping()


_IS_OWED: ColumnElement[bool] = (
    (JobRow.state == JobState.QUEUED)
    & JobRow.kind.in_(WORKER_KINDS)
    & JobRow.published_epoch.is_(None)
    & (JobRow.not_before_epoch <= epoch_now())
)
