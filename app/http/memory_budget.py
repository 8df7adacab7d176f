"""Memory that requests share: each takes its estimate before it is spent, and gives it back when it is answered."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.errors import MemoryBusy

#: How long a request waits for memory that others use.
WAIT_SECONDS = 10.0


class MemoryBudget:
    """Bytes that requests may use at the same time, first come, first served. Only the event loop uses it."""

    def __init__(self, capacity_bytes: int, wait_seconds: float = WAIT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
        self._free_bytes = self.capacity_bytes = capacity_bytes
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def taken(self, n_bytes: int) -> AsyncIterator[None]:
        """Take bytes until the block ends. More than the capacity counts as all of it.

        Raises:
            MemoryBusy: others did not give back enough bytes in time.
        """
        n_bytes = min(n_bytes, self.capacity_bytes)
        await self._take(n_bytes)
        try:
            yield
        finally:
            self._give_back(n_bytes)

    async def _take(self, n_bytes: int) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((n_bytes, turn))
        self._admit()
        try:
            # Not `wait_for`, which forgets a cancellation that comes at the same moment as the turn. Shielded, so that
            # a time-out at that moment does not cancel a turn that was given.
            async with asyncio.timeout(self._wait_seconds):
                await asyncio.shield(turn)
        except BaseException as error:
            if turn.done():
                self._give_back(n_bytes)
            else:
                self._waiting.remove((n_bytes, turn))
                self._admit()
            if isinstance(error, TimeoutError):
                raise MemoryBusy(
                    f"Requests that are being answered use the memory for this one ({n_bytes:,} bytes by its estimate) "
                    f"for more than {self._wait_seconds:g} seconds; try again later, or send less per request."
                ) from error
            raise

    def _give_back(self, n_bytes: int) -> None:
        self._free_bytes += n_bytes
        self._admit()

    def _admit(self) -> None:
        """Let those go on who wait first and fit."""
        while self._waiting and self._waiting[0][0] <= self._free_bytes:
            n_bytes, turn = self._waiting.popleft()
            self._free_bytes -= n_bytes
            turn.set_result(None)
