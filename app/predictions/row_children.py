"""Children that read the rows of requests, each in its turn."""

from collections.abc import Callable
from typing import TypeVar

from app.datasets.receiving import in_own_thread
from app.http.memory_budget import MemoryBudget
from app.predictions.remote_rows import RemoteRows, remote_rows
from app.settings import Limits

T = TypeVar("T")


class RowChildren:
    """Children that read rows, as many at once as `memory` has room for."""

    def __init__(self, limits: Limits, memory: MemoryBudget) -> None:
        self._limits, self._memory = limits, memory

    async def run(self, read: Callable[[RemoteRows], T]) -> T:
        """Return what `read` returns for a new child. It runs in a thread; the wait for the child takes none.

        Raises:
            MemoryBusy, UploadReaderLost, and the errors of `read`.
        """

        def with_child() -> T:
            with remote_rows(self._limits) as child:
                return read(child)

        async with self._memory.taken(self._limits.max_decoded_bytes):
            return await in_own_thread(with_child)
