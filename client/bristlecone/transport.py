"""Sending of calls with httpx, blocking or asynchronous, with retries."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, BinaryIO, TypeVar

import httpx

from bristlecone.calls import Answer, Call, Steps
from bristlecone.errors import ConnectionFailed, counted_from, error_of

T = TypeVar("T")

#: The service asks for another attempt with these, and has changed nothing.
RETRIED_STATUSES = frozenset({429, 503})
NOT_FOUND = 404
MAX_RETRY_AFTER_SECONDS = 60.0
#: Longest silence of the service during a request that does not ask it to wait.
TIMEOUT_SECONDS = 60.0
_CHUNK_BYTES = 2**20


class Retries:
    """Waiting times between the attempts of one call."""

    def __init__(self, call: Call, retries: int) -> None:
        self._call, self._left, self._pause_seconds = call, retries, 0.5
        self._lost_an_answer = False

    def pause_after_error(self, error: httpx.TransportError) -> float:
        """Return how long to wait. Raises ConnectionFailed if the call should not be sent again."""
        reached = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        if self._left == 0 or (reached and not self._call.may_be_repeated):
            request = f"{self._call.method} {self._call.path}"
            raise ConnectionFailed(f"{request} got no answer: {type(error).__name__}: {error}") from error
        self._lost_an_answer |= reached
        return self._next_pause()

    def pause_after(self, answer: httpx.Response) -> float | None:
        """Return how long to wait before the call is sent again; None if the answer is final."""
        is_asked_again = answer.status_code in RETRIED_STATUSES - self._call.accepted_statuses
        if not is_asked_again or self._left == 0:
            return None
        asked = answer.headers.get("retry-after", "")
        pause = self._next_pause()
        return min(float(asked), MAX_RETRY_AFTER_SECONDS) if asked.isdecimal() else pause

    def result_of(self, answer: httpx.Response) -> Answer:
        """Return the final answer. Raises the error that it describes.

        If the answer to an earlier attempt of a DELETE was lost, 404 is a success: that attempt has probably deleted
        what it names.
        """
        is_done_before = self._call.method == "DELETE" and self._lost_an_answer and answer.status_code == NOT_FOUND
        accepted = self._call.accepted_statuses | ({NOT_FOUND} if is_done_before else set())
        return _checked(answer, accepted, self._call.first_row)

    def _next_pause(self) -> float:
        self._left -= 1
        pause, self._pause_seconds = self._pause_seconds, 2 * self._pause_seconds
        # Clients that lost the service at the same moment do not come back at the same moment.
        return pause * (0.5 + secrets.randbelow(500) / 1000)


class Transport:
    """Blocking connection pool."""

    def __init__(self, http: httpx.Client, retries: int) -> None:
        self._http, self._retries = http, retries

    def run(self, steps: Steps[T]) -> T:
        """Do the steps and return their result."""
        try:
            call = next(steps)
            while True:
                call = steps.send(self._send(call))
        except StopIteration as end:
            result: T = end.value
            return result

    def _send(self, call: Call) -> Answer:
        retries = Retries(call, self._retries)
        while True:
            try:
                with call.open_content() as content:
                    answer = self._http.request(content=None if content is None else _chunks(content), **_options(call))
            except httpx.TransportError as error:
                time.sleep(retries.pause_after_error(error))
                continue
            if (pause := retries.pause_after(answer)) is None:
                return retries.result_of(answer)
            time.sleep(pause)


class AsyncTransport:
    """Asynchronous connection pool."""

    def __init__(self, http: httpx.AsyncClient, retries: int) -> None:
        self._http, self._retries = http, retries

    async def run(self, steps: Steps[T]) -> T:
        """Do the steps and return their result."""
        try:
            call = next(steps)
            while True:
                call = steps.send(await self._send(call))
        except StopIteration as end:
            result: T = end.value
            return result

    async def _send(self, call: Call) -> Answer:
        retries = Retries(call, self._retries)
        while True:
            try:
                with call.open_content() as content:
                    chunks = None if content is None else _async_chunks(content)
                    answer = await self._http.request(content=chunks, **_options(call))
            except httpx.TransportError as error:
                await asyncio.sleep(retries.pause_after_error(error))
                continue
            if (pause := retries.pause_after(answer)) is None:
                return retries.result_of(answer)
            await asyncio.sleep(pause)


def _options(call: Call) -> dict[str, Any]:
    options: dict[str, Any] = {
        "method": call.method,
        "url": call.path,
        "params": call.query,
        "headers": call.headers,
        "extensions": {"timeout": httpx.Timeout(TIMEOUT_SECONDS + call.extra_seconds, connect=10.0).as_dict()},
    }
    return options | ({} if call.json is None else {"json": call.json})


def _chunks(content: BinaryIO) -> Iterator[bytes]:
    while chunk := content.read(_CHUNK_BYTES):
        yield chunk


async def _async_chunks(content: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(content.read, _CHUNK_BYTES):
        yield chunk


def _checked(answer: httpx.Response, accepted_statuses: frozenset[int], first_row: int) -> Answer:
    media_type = answer.headers.get("content-type", "").partition(";")[0]
    is_json = media_type == "application/json" or media_type.endswith("+json")
    body = answer.json() if is_json and answer.content else None
    if answer.is_success or answer.status_code in accepted_statuses:
        return Answer(answer.status_code, answer.headers, answer.content, body)
    problem = body if isinstance(body, dict) else {"detail": answer.text[:500] or answer.reason_phrase}
    raise error_of(answer.status_code, counted_from(problem, first_row), answer.headers.get("x-request-id"))
