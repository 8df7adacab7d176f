"""Writes to a connection that are sent together."""

import asyncio
from typing import Any

#: Bytes from which nothing is held back, so that the limits of the transport apply to large answers.
MAX_HELD_BYTES = 64 * 1024


class GatheredWrites:
    """Transport that sends what is written in one step of the event loop in one packet, such as head and body.

    The server library writes them one after the other, and each write costs a system call here and one of the client.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []
        self._n_held = 0

    def write(self, data: bytes) -> None:
        if not self._held:
            # For answers that go on later; complete ones call `flush` before.
            self._loop.call_soon(self.flush)
        self._held.append(data)
        self._n_held += len(data)
        if self._n_held > MAX_HELD_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send what is held back."""
        if self._held:
            held = b"".join(self._held)
            self._held.clear()
            self._n_held = 0
            self._transport.write(held)

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        self._held.clear()
        self._transport.abort()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
