"""Watch over jobs for requests that wait for them: one query at a time asks about all watched jobs.

A request that waits holds neither a thread nor a database connection, so that any number of them delays no other.
"""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from anyio import CapacityLimiter, to_thread
from sqlalchemy.exc import SQLAlchemyError

from app.jobs.records import JobPosition
from app.jobs.repository import JobRepository
from app.storage.database import SessionFactory, reading

log = logging.getLogger(__name__)

#: A waiting request learns of a change about this long after it.
INTERVAL_SECONDS = 0.25

#: Whether a job is where a request wants it; the position is None once the job was deleted.
Condition = Callable[[JobPosition | None], bool]


@dataclass(eq=False)
class _Watcher:
    job_id: uuid.UUID
    is_reached: Condition
    reached: asyncio.Event = field(default_factory=asyncio.Event)


class JobWatch:
    """Waiting requests of one process. Only the event loop uses it.

    capacity: number of requests that may wait at the same time.
    """

    def __init__(self, sessions: SessionFactory, capacity: int) -> None:
        self._sessions, self._capacity = sessions, capacity
        self._watchers: dict[_Watcher, None] = {}
        self._polling: asyncio.Task[None] | None = None
        self.is_closed = False
        self._thread = CapacityLimiter(1)

    def close(self) -> None:
        """Let all requests that wait go on, and none wait from now on, because the server stops."""
        self.is_closed = True
        for watcher in self._watchers:
            watcher.reached.set()

    @property
    def is_full(self) -> bool:
        return len(self._watchers) >= self._capacity

    async def wait(self, job_id: uuid.UUID, is_reached: Condition, seconds: float) -> bool:
        """Wait until the job has reached a position, the server stops, or so many seconds have passed.

        Return False if only the time has passed.
        """
        if self.is_closed:
            return True
        with self._watching(job_id, is_reached) as watcher, contextlib.suppress(TimeoutError):
            await asyncio.wait_for(watcher.reached.wait(), seconds)
        return watcher.reached.is_set()

    @contextlib.contextmanager
    def _watching(self, job_id: uuid.UUID, is_reached: Condition) -> Iterator[_Watcher]:
        watcher = _Watcher(job_id, is_reached)
        self._watchers[watcher] = None
        if self._polling is None or self._polling.done():
            self._polling = asyncio.create_task(self._poll())
        try:
            yield watcher
        finally:
            del self._watchers[watcher]

    async def _poll(self) -> None:
        while self._watchers:
            try:
                await self._look()
            except SQLAlchemyError as error:
                # Those who wait are answered when their time is over, and learn then that the database is away.
                log.warning("watched jobs cannot be read: %s", type(error).__name__)
            await asyncio.sleep(INTERVAL_SECONDS)

    async def _look(self) -> None:
        watchers = list(self._watchers)
        positions = await to_thread.run_sync(
            self._positions, {watcher.job_id for watcher in watchers}, limiter=self._thread
        )
        for watcher in watchers:
            if watcher.is_reached(positions.get(watcher.job_id)):
                watcher.reached.set()

    def _positions(self, job_ids: set[uuid.UUID]) -> dict[uuid.UUID, JobPosition]:
        with reading(self._sessions) as session:
            return JobRepository(session).positions(job_ids)
