"""The Celery worker: which tasks it knows, how it takes messages, and what its children do at their start."""

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
from workers.auditing import audit
from workers.lifecycle import Work, run_job
from workers.sweeping import sweep_cell
from workers.training import train

log = logging.getLogger(__name__)

BODIES: dict[JobKind, Work] = {JobKind.TRAIN: train, JobKind.AUDIT: audit, JobKind.SWEEP_CELL: sweep_cell}


@dataclass
class WorkerProcess:
    """State of one worker; each child opens connections of its own, because they must not cross a fork."""

    settings: Settings
    #: One byte shared by the parent and all children: signals do not interrupt a kernel, and reach the parent only.
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
            # Celery would log this and keep a child that fails every job. A dead one is noticed and started again.
            log.exception("this worker process cannot start")
            os._exit(1)

    def _open(self) -> None:
        self.context = open_context(self.settings)
        # What the default job needs; a job with another loss compiles that one itself, before its clock starts.
        service_api.warm_up_fit(core.ForestClassifier())
        self.maintenance = maintenance_thread(self.context, make_celery(self.settings.broker.url))
        self.maintenance.start()

    def close_child(self, **_: object) -> None:
        if self.maintenance is not None and self.context is not None:
            self.maintenance.stop()
            self.context.close()

    def run(self, kind: JobKind, job_id: str) -> None:
        assert self.context is not None, "a task ran outside of a worker's child process"
        run_job(self.context, uuid.UUID(job_id), BODIES[kind], self.shutting_down)


def build_worker(settings: Settings) -> Celery:
    """A Celery app with all tasks registered; `worker_main` on it runs the worker."""
    celery = make_celery(settings.broker.url)
    celery.conf.update(
        worker_concurrency=settings.jobs.worker_processes,
        # Acknowledge after the work and take one message at a time: no job waits behind another in a busy child.
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        # A running job does not end when the broker goes away; its lease is in SQL.
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
    for kind in BODIES:
        _register(celery, worker, kind)
    return celery


def _register(celery: Celery, worker: WorkerProcess, kind: JobKind) -> None:
    @celery.task(name=TASK_NAMES[kind])  # type: ignore[untyped-decorator]
    def task(job_id: str) -> None:
        worker.run(kind, job_id)
