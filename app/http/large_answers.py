"""Answers made of rows whose JSON can be large, and of tables: their memory is taken before anything is read.

The framework would write them on the event loop, and keep as many of them in memory as there are requests. Here each
answer takes its estimate from the memory that such requests share, and is made in a thread. Large ones are made in one
thread, one after the other, because the parser of JSON lets no other thread run. They wait in files without names, and
are sent in pieces, so that slow clients take disk space of a bounded size, and no memory.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from contextvars import copy_context
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Annotated, TypeVar

from fastapi import Depends, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from app.errors import MemoryBusy, StorageFull
from app.http.memory_budget import MemoryBudget
from app.settings import MEBIBYTE, Settings
from app.storage.disk_space import DiskSpace

#: Errors of every route with such an answer.
LARGE_ANSWER_ERRORS = (MemoryBusy, StorageFull)

_JSON = "application/json"
#: Stored bytes, and bytes of an answer, up to which the number of threads alone bounds the memory.
SMALL_BYTES = MEBIBYTE // 4
#: Memory for each byte of stored JSON: its text, as the database sends it and decoded; its values, which for short
#: numbers are several times as large; their validated copies; and the text of the answer, as it is joined.
_MEMORY_PER_BYTE = 8
#: For the answers that are being made, of all requests together. A single one may need more than that.
_MEMORY_BYTES = 192 * MEBIBYTE
#: For the answers that are being sent, of all requests together.
_DISK_BYTES = 1024 * MEBIBYTE
_CHUNK_BYTES = 128 * 1024

#: Body of an answer: its document, or its JSON text in pieces.
Content = BaseModel | Sequence[bytes]
Result = TypeVar("Result")


class LargeAnswers:
    """Memory and disk space of one process for large answers."""

    def __init__(self, settings: Settings) -> None:
        self.memory = MemoryBudget(_MEMORY_BYTES)
        self.disk = MemoryBudget(_DISK_BYTES)
        self._space = DiskSpace(settings.staging_folder, settings.limits.min_free_bytes)
        # Databases load a value to tell its length.
        self._measuring = ThreadPoolExecutor(1, "answer-size")
        self._making = ThreadPoolExecutor(1, "large-answer")

    async def measured(self, count_bytes: Callable[[], int]) -> int:
        return await _run_in(self._measuring, count_bytes)

    async def made(self, make: Callable[[], Content], n_bytes: int) -> Sequence[bytes]:
        """Return the JSON text that `make` returns, which is made from so many bytes, in pieces."""
        if n_bytes <= SMALL_BYTES:
            return await run_in_threadpool(_json, make)
        return await _run_in(self._making, lambda: _json(make))

    def memory_for(self, n_bytes: int) -> AbstractAsyncContextManager[None]:
        """Take the memory of an answer from so many bytes until the block ends. Small answers need none.

        Raises:
            MemoryBusy: others did not give back enough of it in time.
        """
        return nullcontext() if n_bytes <= SMALL_BYTES else self.memory.taken(_MEMORY_PER_BYTE * n_bytes)

    def written(self, pieces: Sequence[bytes], n_bytes: int) -> IO[bytes]:
        """Return a file with these pieces, at its beginning. Raises StorageFull."""
        self._space.require(n_bytes)
        return _filled(self._space.folder, pieces)


class RowAnswer:
    """Answer to one request. What it takes is given back when it was sent."""

    def __init__(self, shared: LargeAnswers, sending: AsyncExitStack) -> None:
        self._shared = shared
        self._sending = sending

    async def of(
        self,
        count_bytes: Callable[[], int],
        make: Callable[[], Content],
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Return the answer that `make` returns, which is called in a thread.

        count_bytes: returns the bytes that `make` reads, about; also called in a thread, before memory is taken.

        Raises:
            MemoryBusy, StorageFull, and the errors of both functions.
        """
        n_bytes = await self._shared.measured(count_bytes)
        async with self._shared.memory_for(n_bytes):
            pieces = await self._shared.made(make, n_bytes)
            length = sum(map(len, pieces))
            if length <= SMALL_BYTES:
                return Response(b"".join(pieces), status_code, headers, _JSON)
            await self._sending.enter_async_context(self._shared.disk.taken(length))
            file = await run_in_threadpool(self._shared.written, pieces, length)
            self._sending.callback(file.close)
        sized = {**(headers or {}), "Content-Length": str(length)}
        return StreamingResponse(_chunks(file), status_code, sized, _JSON)


def _json(make: Callable[[], Content]) -> Sequence[bytes]:
    content = make()
    if isinstance(content, BaseModel):
        return [content.__pydantic_serializer__.to_json(content, by_alias=True)]
    return content


async def _run_in(executor: ThreadPoolExecutor, function: Callable[[], Result]) -> Result:
    return await asyncio.get_running_loop().run_in_executor(executor, copy_context().run, function)


def _filled(folder: Path, pieces: Sequence[bytes]) -> IO[bytes]:
    file = TemporaryFile(dir=folder)  # noqa: SIM115 (it is closed when the answer was sent)
    try:
        for piece in pieces:
            file.write(piece)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK_BYTES):
        yield chunk


async def _row_answer(request: Request) -> AsyncIterator[RowAnswer]:
    async with AsyncExitStack() as sending:
        yield RowAnswer(request.app.state.large_answers, sending)


Answer = Annotated[RowAnswer, Depends(_row_answer)]
