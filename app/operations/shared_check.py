"""Function that runs in a thread of its own, at most once at a time, and whose outcome requests share."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")

TIMEOUT_SECONDS = 3.0


class SharedCheck(Generic[T]):
    """Function that any number of requests can wait for, and that runs once at a time.

    If it hangs, it holds one thread, however many requests come.
    """

    def __init__(self, name: str, function: Callable[[], T]) -> None:
        self._name, self._function = name, function
        #: Its result is that of the function, or the error of the function: nobody may be left to receive an exception
        #: of the future, which would then be logged as one that was never retrieved.
        self._running: Future[T | Exception] | None = None

    async def run(self) -> T:
        """Return what the function returns. Raises what it raises, or TimeoutError."""
        if self._running is None or self._running.done():
            self._running = Future()
            # A daemon, because a thread that hangs must not keep the process from stopping.
            threading.Thread(target=self._complete, args=(self._running,), name=self._name, daemon=True).start()
        shared = asyncio.shield(asyncio.wrap_future(self._running))
        outcome = await asyncio.wait_for(shared, TIMEOUT_SECONDS)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _complete(self, running: Future[T | Exception]) -> None:
        try:
            outcome = self._function()
        except Exception as error:
            running.set_result(error)
        else:
            running.set_result(outcome)
