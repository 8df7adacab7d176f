"""Bodies of POST /predict: received, and completed by the parameters in the query."""

from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fastapi import Request

from app.datasets.scratch_files import remove_scratch
from app.errors import UnsupportedMediaType
from app.http.content_type import is_json, media_type_of, text_encoding_of
from app.http.json_body import JsonBodies, body_chunks
from app.http.json_cost import JsonCost
from app.predictions.errors import DuplicateName, pointer
from app.predictions.forms import RESERVED
from app.predictions.media_types import FORMATS, JSON, READABLE
from app.settings import Settings
from app.storage.disk_space import DiskSpace
from app.storage.staging import staged_path

#: Longer bodies wait in a file, so that slow clients take no memory.
_IN_MEMORY_BYTES = 64 * 1024


@dataclass(frozen=True)
class ReceivedBody:
    """Body of one request. media_type: one of `READABLE`. path: file with the body; None if it is small JSON.

    content: bytes of small JSON. cost: memory of JSON once it is parsed.
    """

    media_type: str
    encoding: str | None
    path: Path | None
    content: bytes
    cost: JsonCost


@asynccontextmanager
async def received(request: Request, settings: Settings) -> AsyncIterator[ReceivedBody]:
    """Yield the body of a request. Its file is removed at the end of the block.

    Raises:
        UnsupportedMediaType, BodyTooLarge, DecodedTooLarge, StorageFull.
    """
    media_type = readable(request)
    bodies: JsonBodies = request.app.state.json_bodies
    cost = JsonCost()
    with ExitStack() as stack:
        writer = _Writer(settings, stack, in_memory_bytes=_IN_MEMORY_BYTES if media_type == JSON else -1)
        async for chunk in body_chunks(request, settings.limits.max_body_bytes):
            if media_type == JSON:
                cost.add(chunk)
                bodies.check(cost)
            writer.write(chunk)
        writer.write(b"")
        yield ReceivedBody(media_type, text_encoding_of(request), writer.finished(), bytes(writer.start), cost)


class _Writer:
    """Writer of a body, which is in memory as long as it is not larger than `in_memory_bytes`, and then in a file."""

    def __init__(self, settings: Settings, stack: ExitStack, in_memory_bytes: int) -> None:
        self._settings, self._stack, self._in_memory_bytes = settings, stack, in_memory_bytes
        self.start = bytearray()
        self._file: IO[bytes] | None = None
        self._path: Path | None = None

    def write(self, chunk: bytes) -> None:
        if self._file is None and len(self.start) + len(chunk) > self._in_memory_bytes:
            self._file = self._opened()
            self._file.write(self.start)
            self.start.clear()
        if self._file is None:
            self.start += chunk
        else:
            self._file.write(chunk)

    def finished(self) -> Path | None:
        """Return the path of the file, which is complete; None if there is none."""
        if self._file is not None:
            self._file.close()
        return self._path

    def _opened(self) -> IO[bytes]:
        folder = self._settings.staging_folder
        DiskSpace(folder, self._settings.limits.min_free_bytes).require()
        self._path = self._stack.enter_context(staged_path(folder, "rows", ".body"))
        # A reader that was killed could not remove its scratch files.
        self._stack.callback(remove_scratch, self._path)
        return self._stack.enter_context(self._path.open("xb"))


def readable(request: Request) -> str:
    """Return the media type of the body, one of `READABLE`. Raises UnsupportedMediaType."""
    media_type = media_type_of(request)
    if is_json(media_type):
        return JSON
    if media_type not in FORMATS:
        found = f"the media type is {media_type!r:.100}" if media_type else "the body has no media type"
        raise UnsupportedMediaType.at("header/Content-Type", f"{found}; send one of {', '.join(READABLE)}")
    return media_type


def with_parameters(document: Any, query: Mapping[str, str]) -> Any:
    """Return the JSON document of a body, completed by the parameters in the query. An array is the rows alone.

    Raises:
        DuplicateName: the body and the query have the same parameter.
    """
    if isinstance(document, list):
        document = {"rows": document}
    if not isinstance(document, dict):
        return document
    parameters = {name: query[name] for name in RESERVED if name in query}
    for name in parameters:
        if name in document:
            raise DuplicateName.at(pointer(name), f"{name!r:.100} occurs twice; give it once")
    return {**parameters, **document}
