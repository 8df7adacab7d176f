"""Celery worker: its tasks, its delivery settings, and the start and end of its child processes."""

import logging
import mmap
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from billiard.common import human_status
from billiard.exceptions import WorkerLostError
from celery import Celery
from celery.signals import worker_process_init, worker_process_shutdown, worker_shutting_down

from app.context import ServiceContext, open_context
from app.jobs.queue import TASK_NAMES, make_celery
from app.jobs.states import JobKind
from app.logs import configure_logging
from app.maintenance import maintenance_thread
from app.settings import Settings
from app.telemetry import tracing
from core import FitStopped, service_api
from workers.job_bodies import JOB_BODIES
from workers.job_body import JobBody
from workers.lease_keeper import LeaseKeeper
from workers.lifecycle import run_job
from workers.stop_enforcement import END_SIGNAL

log = logging.getLogger(__name__)


@dataclass
class WorkerProcess:
    """State of one worker.

    Each child process opens its own connections, because connections must not cross a fork.
    """

    settings: Settings
    bodies: Mapping[JobKind, JobBody]
    #: One byte of memory shared with all children. Signals reach the parent only and do not interrupt a kernel.
    shutdown_flag: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, 1))
    context: ServiceContext | None = None
    keeper: LeaseKeeper | None = None

    def begin_shutdown(self, **_: object) -> None:
        self.shutdown_flag[0] = 1

    def open_child(self, **_: object) -> None:
        configure_logging(self.settings.log_format)
        try:
            self._open()
        except FitStopped:
            os._exit(0)  # the worker stops while it starts
        except Exception:
            # Celery would log the error and keep a child that fails every job; a child that exits is replaced.
            log.exception("the worker process cannot start")
            os._exit(1)

    def _open(self) -> None:
        # Forked first: later, this process has connections and threads, which must not be copied.
        self.keeper = LeaseKeeper(self.settings, self.shutdown_flag, self._start_maintenance)
        tracing.start(self.settings.traces)
        self.context = open_context(self.settings)
        # The kernels of the default job. A job with another loss compiles its own kernels before its fit is timed.
        service_api.warm_up_default_fit(np.frombuffer(self.shutdown_flag, dtype=np.uint8))

    def _start_maintenance(self, context: ServiceContext) -> None:
        # In the keeper: a transaction of this process could be held open by a computation.
        maintenance_thread(context, make_celery(self.settings.broker.url)).start()

    def close_child(self, **_: object) -> None:
        if self.keeper is not None and self.context is not None:
            self.keeper.close()
            self.context.close()
            tracing.stop()

    def run(self, kind: JobKind, job_id: str) -> None:
        assert self.context is not None, "tasks run in child processes only"
        assert self.keeper is not None
        run_job(self.context, uuid.UUID(job_id), self.bodies[kind], self.keeper)


def run_worker(celery: Celery) -> None:
    """Run the worker of `build_worker` until it is asked to stop."""
    # The second one is that of the pool of processes.
    for name in ("celery.worker.request", "multiprocessing"):
        logging.getLogger(name).addFilter(_only_real_losses)
    celery.worker_main(["worker", "--pool=prefork", "--without-gossip", "--without-mingle", "--loglevel=INFO"])


def _only_real_losses(record: logging.LogRecord) -> bool:
    """Keep the lines about a process that was lost, without a trace through the code of Celery.

    About one that its lease keeper has ended, the keeper has a line of its own.
    """
    message = record.getMessage()
    if WorkerLostError.__name__ in message:
        record.exc_info = None
    return human_status(-END_SIGNAL) not in message


def build_worker(settings: Settings, bodies: Mapping[JobKind, JobBody] = JOB_BODIES) -> Celery:
    """Return a Celery app with a task for each kind of job, for `run_worker`."""
    celery = make_celery(settings.broker.url)
    celery.conf.update(
        worker_concurrency=settings.jobs.worker_processes,
        # Messages are acknowledged after the work and taken one at a time, so that no job waits behind another in a
        # busy child.
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        # A running job continues when the broker is unavailable; its lease is in SQL.
        worker_cancel_long_running_tasks_on_connection_loss=False,
        # The first start after an upgrade compiles kernels, which takes longer than the default 4 seconds.
        worker_proc_alive_timeout=300.0,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_send_task_events=False,
    )
    worker = WorkerProcess(settings, bodies)
    worker_process_init.connect(worker.open_child, weak=False)
    worker_process_shutdown.connect(worker.close_child, weak=False)
    worker_shutting_down.connect(worker.begin_shutdown, weak=False)
    for kind in bodies:
        _register(celery, worker, kind)
    return celery


def _register(celery: Celery, worker: WorkerProcess, kind: JobKind) -> None:
    @celery.task(name=TASK_NAMES[kind])  # type: ignore[untyped-decorator]
    def task(job_id: str) -> None:
        worker.run(kind, job_id)
