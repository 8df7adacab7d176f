"""API keys as one API process knows them.

A request that is authenticated with a warm cache costs a hash and a look-up. The keys are read again every second while
there are requests. So a revocation counts after `MAX_AGE_SECONDS` at the latest. A key that is not known yet makes
the process read them at once, so that new keys count from the first request.
"""

import asyncio
import hmac
import logging
import math
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy.exc import SQLAlchemyError

from app.access.records import ApiKey
from app.access.service import PREFIX, digest, list_keys
from app.settings import DatabaseSettings
from app.storage.database import build_engine, session_factory

log = logging.getLogger(__name__)

#: Age from which the keys are read again, while requests still use what is known.
REFRESH_SECONDS = 1.0
#: Age from which requests wait for the keys.
MAX_AGE_SECONDS = 2.0
#: Longer texts cannot be keys, and hashing them would take time.
_MAX_SECRET_BYTES = 200


class KeysUnknown(Exception):
    """The keys are too old, and the database does not answer."""


class KeyRing:
    """Keys of the database, with a connection and a thread of their own: those of requests may be busy for long."""

    def __init__(self, database: DatabaseSettings) -> None:
        self._engine = build_engine(database.model_copy(update={"pool_size": 1}))
        self._sessions = session_factory(self._engine)
        self._thread = ThreadPoolExecutor(1, "keys")
        self._reading = asyncio.Lock()
        self._refresh: asyncio.Task[None] | None = None
        self._keys: Mapping[str, ApiKey] = {}
        #: When the keys were last read, on the monotonic clock.
        self._read_at = -math.inf
        #: When the last attempt began that failed.
        self._failed_at = -math.inf
        self._used: dict[uuid.UUID, float] = {}

    def close(self) -> None:
        if self._refresh is not None:
            self._refresh.cancel()
        self._thread.shutdown()
        self._engine.dispose()

    async def find(self, secret: bytes | None) -> ApiKey | None:
        """Return the key, which may have ended; None if it is unknown. Raises KeysUnknown."""
        now = time.monotonic()
        await self._refresh_if_old(now)
        if secret is None or not secret.startswith(PREFIX.encode()) or len(secret) > _MAX_SECRET_BYTES:
            return None
        sha256 = digest(secret)
        if sha256 not in self._keys:
            await self._read(since=now)
        key = self._keys.get(sha256)
        return key if key is not None and hmac.compare_digest(key.sha256, sha256) else None

    @property
    def is_empty(self) -> bool:
        """Whether no key was ever created, as of the last call of `find`."""
        return not self._keys

    def note_use(self, key: ApiKey) -> None:
        self._used[key.id] = time.time()

    def take_used(self) -> dict[uuid.UUID, float]:
        """Return when keys were used, in seconds since 1970, since the last call."""
        used, self._used = self._used, {}
        return used

    async def _refresh_if_old(self, now: float) -> None:
        age = now - self._read_at
        if age > MAX_AGE_SECONDS:
            await self._read(since=now - REFRESH_SECONDS)
        elif age > REFRESH_SECONDS and (self._refresh is None or self._refresh.done()):
            self._refresh = asyncio.create_task(self._read_quietly(now))

    async def _read_quietly(self, now: float) -> None:
        try:
            await self._read(since=now)
        except KeysUnknown as error:
            log.warning("the API keys could not be read: %r", error.__cause__)

    async def _read(self, since: float) -> None:
        """Read the keys, unless another request has begun to do so after `since`, whose outcome then counts."""
        async with self._reading:
            if self._read_at >= since:
                return
            # Otherwise all requests would wait for a time-out of the database one after the other.
            if self._failed_at >= since:
                raise KeysUnknown
            began = time.monotonic()
            try:
                keys = await asyncio.get_running_loop().run_in_executor(self._thread, list_keys, self._sessions)
            except SQLAlchemyError as error:
                self._failed_at = began
                raise KeysUnknown from error
            self._keys, self._read_at = {key.sha256: key for key in keys}, began
