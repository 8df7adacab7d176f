"""Answer to a scrape: counts of all API processes of the state folder, figures of jobs from the database."""

import logging
import math
import shutil
import time
from collections.abc import Iterable, Iterator

from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest
from sqlalchemy.exc import SQLAlchemyError

from app.jobs.records import QueueFigures
from app.jobs.service import JobService
from app.metrics.families import api_families, build_info, gauge, job_families
from app.operations.shared_check import SharedCheck
from app.settings import Settings
from app.storage.database import build_engine, reading, session_factory
from app.telemetry.count_folder import CountFolder
from app.telemetry.instruments import Instruments

log = logging.getLogger(__name__)

#: Age up to which figures of the database are used again, so that scrapers cannot load it.
CACHE_SECONDS = 5.0


class Scrape:
    """Metrics of the service, with a connection and threads of their own: those of requests may be busy for long."""

    def __init__(self, settings: Settings, folder: CountFolder, own: Instruments) -> None:
        self._settings, self._folder, self._own = settings, folder, own
        self._engine = build_engine(settings.database.model_copy(update={"pool_size": 1}))
        self._sessions = session_factory(self._engine)
        self._figures: QueueFigures | None = None
        self._read_at = -math.inf
        self._reading = SharedCheck("figures of jobs", self._read)
        self._writing = SharedCheck("metrics", self._text)

    def close(self) -> None:
        self._engine.dispose()

    async def text(self) -> bytes:
        """Return the metrics in the text format of Prometheus. Raises TimeoutError."""
        if time.monotonic() - self._read_at > CACHE_SECONDS:
            await self._read_figures()
        return await self._writing.run()

    async def _read_figures(self) -> None:
        try:
            self._figures = await self._reading.run()
            self._read_at = time.monotonic()
        except (SQLAlchemyError, TimeoutError) as error:
            log.warning("metrics: the database does not answer: %s", type(error).__name__)
            self._figures = None

    def _read(self) -> QueueFigures:
        with reading(self._sessions) as session:
            return JobService(session, self._settings.limits).figures()

    def _text(self) -> bytes:
        return generate_latest(_Families(list(self._families())))

    def _families(self) -> Iterator[Metric]:
        figures = self._figures
        yield build_info()
        yield from api_families(self._own.counts.in_memory() or self._folder.totals())
        yield gauge(
            "bristlecone_database_up",
            "Whether the database has answered; without it, metrics of jobs are left out.",
            float(figures is not None),
        )
        if figures is not None:
            yield from job_families(figures)
        free = shutil.disk_usage(self._settings.home).free
        yield gauge("bristlecone_storage_free_bytes", "Free space on the disk of the state folder.", free)


class _Families:
    """Collector of the Prometheus library."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families
