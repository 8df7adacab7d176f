"""Celery worker: its tasks, its delivery settings, and the start and end of its child processes."""

import logging
import mmap
import os
import uuid
from dataclasses import dataclass, field

from celery import Celery
from celery.signals import worker_process_init, worker_process_shutdown, worker_shutting_down

import core
from app.context import ServiceContext, open_context
from app.jobs.queue import TASK_NAMES, make_celery
from app.jobs.states import JobKind
from app.logs import configure_logging
from app.maintenance import maintenance_thread
from app.operations.maintenance import MaintenanceThread
from app.settings import Settings
from core import service_api
from workers.job_bodies import JOB_BODIES
from workers.lifecycle import run_job

log = logging.getLogger(__name__)


@dataclass
class WorkerProcess:
    """State of one worker.

    Each child process opens its own connections, because connections must not cross a fork.
    """

    settings: Settings
    #: One byte of memory shared with all children. Signals reach the parent only and do not interrupt a kernel.
    shutdown_flag: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, 1))
    context: ServiceContext | None = None
    maintenance: MaintenanceThread | None = None

    def shutting_down(self) -> bool:
        return self.shutdown_flag[0] != 0

    def begin_shutdown(self, **_: object) -> None:
        self.shutdown_flag[0] = 1

    def open_child(self, **_: object) -> None:
        configure_logging()
        try:
            self._open()
        except Exception:
            # Celery would log the error and keep a child that fails every job; a child that exits is replaced.
            log.exception("the worker process cannot start")
            os._exit(1)

    def _open(self) -> None:
        self.context = open_context(self.settings)
        # The kernels of the default job. A job with another loss compiles its own kernels before its fit is timed.
        service_api.warm_up_fit(core.ForestClassifier())
        self.maintenance = maintenance_thread(self.context, make_celery(self.settings.broker.url))
        self.maintenance.start()

    def close_child(self, **_: object) -> None:
        if self.maintenance is not None and self.context is not None:
            self.maintenance.stop()
            self.context.close()

    def run(self, kind: JobKind, job_id: str) -> None:
        assert self.context is not None, "tasks run in child processes only"
        run_job(self.context, uuid.UUID(job_id), JOB_BODIES[kind], self.shutting_down)


def build_worker(settings: Settings) -> Celery:
    """Return a Celery app with all tasks registered; its `worker_main` runs the worker."""
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
    worker = WorkerProcess(settings)
    worker_process_init.connect(worker.open_child, weak=False)
    worker_process_shutdown.connect(worker.close_child, weak=False)
    worker_shutting_down.connect(worker.begin_shutdown, weak=False)
    for kind in JOB_BODIES:
        _register(celery, worker, kind)
    return celery


def _register(celery: Celery, worker: WorkerProcess, kind: JobKind) -> None:
    @celery.task(name=TASK_NAMES[kind])  # type: ignore[untyped-decorator]
    def task(job_id: str) -> None:
        worker.run(kind, job_id)
