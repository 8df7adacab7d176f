"""Checks whether what the service depends on answers. None waits for the work of requests, nor lets a client wait long.

Each check runs in a thread of its own, at most once at a time. Requests that arrive meanwhile share its outcome. So a
dependency that hangs holds one thread and one connection of its own, whatever is asked and how often.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping

from celery import Celery
from sqlalchemy import text

from app.jobs.queue import ping_broker
from app.jobs.service import JobService
from app.operations.shared_check import SharedCheck
from app.settings import Settings
from app.storage.database import build_engine, reading, session_factory
from app.storage.disk_space import DiskSpace
from app.storage.schema_version import is_current

log = logging.getLogger(__name__)

OK = "ok"
UNAVAILABLE = "unavailable"


class ReadinessChecks:
    """All checks of one process, with a database engine of their own: those of requests may be busy for long."""

    def __init__(self, settings: Settings, celery: Callable[[], Celery]) -> None:
        self._settings, self._celery = settings, celery
        self._engine = build_engine(settings.database.model_copy(update={"pool_size": 3}))
        self._sessions = session_factory(self._engine)
        checks: Mapping[str, Callable[[], None]] = {
            "database": self._ask_database,
            "broker": lambda: ping_broker(self._celery()),
            "store": self._use_store,
            "migrations": self._compare_schema,
            "storage": DiskSpace(settings.home, settings.limits.min_free_bytes).require,
        }
        self._checks = {name: SharedCheck[float | None](name, check) for name, check in checks.items()}
        self._queue_age = SharedCheck("queue age", self._oldest_queued)

    def close(self) -> None:
        self._engine.dispose()

    async def outcomes(self) -> dict[str, str]:
        """Return `ok` or `unavailable` for each check."""
        outcomes = await asyncio.gather(*(_outcome(name, check) for name, check in self._checks.items()))
        return dict(zip(self._checks, outcomes, strict=True))

    async def oldest_queued_seconds(self) -> float | None:
        """Return how long the oldest queued job has been waiting; None if none is queued or if that is unknown."""
        try:
            return await self._queue_age.run()
        except Exception as error:
            log.warning("readiness: the age of the queue is not known: %r", error)
            return None

    def _ask_database(self) -> None:
        with reading(self._sessions) as session:
            session.execute(text("SELECT 1"))

    def _use_store(self) -> None:
        for folder in (self._settings.staging_folder, self._settings.artifacts_folder):
            if not os.access(folder, os.W_OK):
                raise PermissionError(f"{folder} cannot be written to")

    def _compare_schema(self) -> None:
        if not is_current(self._sessions):
            raise RuntimeError("the newest migration has not been run; run: bristlecone migrate")

    def _oldest_queued(self) -> float | None:
        with reading(self._sessions) as session:
            return JobService(session, self._settings.limits).oldest_queued_age_seconds()


async def _outcome(name: str, check: SharedCheck[float | None]) -> str:
    try:
        await check.run()
    except Exception as error:
        # The client is told which part is unavailable. The reason can contain addresses, so it is only logged.
        log.warning("readiness: %s is not available: %r", name, error)
        return UNAVAILABLE
    return OK
