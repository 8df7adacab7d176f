"""Stream of the events of a job, as server-sent events. The log in the database is what a client resumes from."""

import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass

from anyio import CapacityLimiter, to_thread

from app.jobs.records import JobEvent, JobPosition
from app.jobs.service import JobService
from app.jobs.watch import Condition, JobWatch
from app.settings import Limits
from app.storage.database import SessionFactory, reading

#: A comment is sent after such a silence, so that neither client nor proxy takes the connection for dead.
HEARTBEAT_SECONDS = 10.0
_HEARTBEAT = ": still waiting\n\n"
_EVENTS_PER_QUERY = 200


@dataclass(frozen=True)
class EventStreams:
    """State shared by all streams of one process; few of them read from the database at the same time."""

    sessions: SessionFactory
    limits: Limits
    watch: JobWatch
    threads: CapacityLimiter

    async def follow(self, job_id: uuid.UUID, last_id: int) -> AsyncIterator[str]:
        """Yield the events after `last_id` as text. The stream ends after the final state.

        It also ends when the job is deleted, and when the server stops.
        """
        while True:
            position, events = await to_thread.run_sync(self._read, job_id, last_id, limiter=self.threads)
            for event in events:
                last_id = event.id
                yield as_text(event)
            if self.watch.is_closed or position is None or position.is_end(last_id):
                return
            if not events and not await self.watch.wait(job_id, _has_event_after(last_id), HEARTBEAT_SECONDS):
                yield _HEARTBEAT

    def _read(self, job_id: uuid.UUID, last_id: int) -> tuple[JobPosition | None, list[JobEvent]]:
        with reading(self.sessions) as session:
            jobs = JobService(session, self.limits)
            # In this order: an event after the position is read the next time, one before it is not missed.
            return jobs.position(job_id), jobs.events(job_id, last_id, _EVENTS_PER_QUERY)

    async def is_at_end(self, job_id: uuid.UUID, last_id: int) -> bool:
        """Return whether nothing follows the event. Raises JobNotFound."""
        return await to_thread.run_sync(self._is_at_end, job_id, last_id, limiter=self.threads)

    def _is_at_end(self, job_id: uuid.UUID, last_id: int) -> bool:
        with reading(self.sessions) as session:
            position = JobService(session, self.limits).known_position(job_id)
        return position.is_end(last_id)


def _has_event_after(last_id: int) -> Condition:
    def is_reached(position: JobPosition | None) -> bool:
        return position is None or position.last_event_id > last_id

    return is_reached


def as_text(event: JobEvent) -> str:
    """Return an event in the format of the HTML standard, section 9.2.6."""
    return f"id: {event.id}\nevent: {event.kind}\ndata: {json.dumps(event.payload, separators=(',', ':'))}\n\n"
