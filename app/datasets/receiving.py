"""Request bodies of uploads, multipart or raw, written to a file as they arrive. Memory does not grow with the file."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from app.datasets.errors import MalformedMultipart, UnsupportedUploadType, UploadInterrupted
from app.datasets.formats import (
    CHUNK_BYTES,
    FORMATS_BY_MEDIA_TYPE,
    FileFormat,
    PlainFile,
    named_format,
    too_large,
)
from app.http.content_type import boundary_of, media_type_of, text_encoding_of
from app.settings import MEBIBYTE
from app.storage.disk_space import DiskSpace

#: Most bytes beside the file in a multipart body, including headers and boundaries.
MAX_FORM_BYTES = 4 * MEBIBYTE

#: Each part counts as this many bytes more, so that empty parts count as well.
PART_BYTES = 64

#: The free space is checked again whenever so much of a file has been written: its length may not have been declared.
SPACE_CHECK_BYTES = 64 * MEBIBYTE

Fields = dict[str, list[str]]
_T = TypeVar("_T")


@dataclass(frozen=True)
class ReceivedUpload:
    """Upload as it was received. file: may be compressed. fields_in: `body` or `query`, for pointers."""

    file: PlainFile
    file_name: str
    declared: FileFormat | None
    fields: Fields
    fields_in: str


class _Body(Protocol):
    def write(self, data: bytes) -> None: ...

    def finish(self) -> ReceivedUpload: ...


async def receive(request: Request, path: Path, max_bytes: int, space: DiskSpace) -> ReceivedUpload:
    """Write the file of the request body to the new file `path`, which the caller removes.

    Raises:
        UploadTooLarge, UploadInterrupted, UnsupportedUploadType, MalformedMultipart, StorageFull.
        RequestValidationError: a multipart body without a file, or with two.
    """
    with path.open("xb") as out:
        body = _body(request, _FileSink(path, out, max_bytes, space))
        if int(request.headers.get("content-length") or 0) > max_bytes + MAX_FORM_BYTES:
            raise too_large(max_bytes)
        try:
            await _pump(request, body)
        except ClientDisconnect as error:
            raise UploadInterrupted("the connection was closed before the file was complete; send it again") from error
        return body.finish()


async def in_own_thread(function: Callable[..., _T], *arguments: Any) -> _T:
    """Return the result of a function that runs in a thread beside the pool that all other requests share."""
    return await anyio.to_thread.run_sync(function, *arguments, limiter=CapacityLimiter(1))


def is_form(request: Request) -> bool:
    """Return whether the body is a form with the file and the fields. Otherwise the body is the file."""
    return media_type_of(request) == "multipart/form-data"


async def _pump(request: Request, body: _Body) -> None:
    pending = bytearray()
    async for chunk in request.stream():
        pending += chunk
        if len(pending) >= CHUNK_BYTES:
            await in_own_thread(body.write, bytes(pending))
            pending.clear()
    await in_own_thread(body.write, bytes(pending))


class _FileSink:
    """Writer of the file, which also counts and hashes its bytes."""

    def __init__(self, path: Path, out: BinaryIO, max_bytes: int, space: DiskSpace) -> None:
        self._path, self._out, self._max_bytes, self._space = path, out, max_bytes, space
        self._digest, self._n_bytes = hashlib.sha256(), 0
        self._next_check = SPACE_CHECK_BYTES

    def write(self, data: bytes) -> None:
        self._n_bytes += len(data)
        if self._n_bytes > self._max_bytes:
            raise too_large(self._max_bytes)
        if self._n_bytes >= self._next_check:
            self._space.require()
            self._next_check = self._n_bytes + SPACE_CHECK_BYTES
        self._digest.update(data)
        self._out.write(data)

    def finish(self) -> PlainFile:
        self._out.flush()
        return PlainFile(self._path, self._digest.hexdigest(), self._n_bytes)


def _body(request: Request, sink: _FileSink) -> _Body:
    media_type = media_type_of(request)
    if is_form(request) and (boundary := boundary_of(request)):
        return _MultipartBody(boundary, sink)
    if media_type in FORMATS_BY_MEDIA_TYPE:
        return _RawBody(request, FORMATS_BY_MEDIA_TYPE[media_type], sink)
    listed = ", ".join(["multipart/form-data (with its boundary)", *FORMATS_BY_MEDIA_TYPE])
    problem = f"the content type {media_type[:80]!r} is unknown" if media_type else "the body has no content type"
    detail = f"{problem}; send one of {listed}"
    raise UnsupportedUploadType.at("header/Content-Type", detail)


class _RawBody:
    """Body that is the file itself; the fields are in the query."""

    def __init__(self, request: Request, declared: FileFormat, sink: _FileSink) -> None:
        self._declared, self._sink = declared, sink
        self._fields: Fields = defaultdict(list)
        for name, value in request.query_params.multi_items():
            self._fields[name].append(value)
        if (charset := text_encoding_of(request)) is not None:
            self._fields.setdefault("encoding", [charset])

    def write(self, data: bytes) -> None:
        self._sink.write(data)

    def finish(self) -> ReceivedUpload:
        return ReceivedUpload(self._sink.finish(), "", self._declared, self._fields, fields_in="query")


@contextmanager
def _explained_errors() -> Iterator[None]:
    try:
        yield
    except FormParserError as error:
        raise MalformedMultipart(f"the multipart body is malformed: {str(error)[:200]}") from error


class _MultipartBody:
    """Multipart body. The part `file` is written to the sink; every other part is a short text field."""

    def __init__(self, boundary: bytes, sink: _FileSink) -> None:
        self._sink = sink
        self._fields: Fields = defaultdict(list)
        self._files: list[tuple[str, FileFormat | None]] = []
        self._form_bytes = 0
        self._header_name, self._header_value = bytearray(), bytearray()
        self._headers: dict[bytes, bytes] = {}
        self._field: tuple[str, bytearray] | None = None
        self._complete = False
        with _explained_errors():
            self._parser = MultipartParser(boundary, self._callbacks())  # type: ignore[arg-type]

    def _callbacks(self) -> dict[str, Any]:
        return {
            "on_part_begin": self._headers_start,
            "on_header_field": lambda data, start, end: self._header_name.extend(self._form_part(data, start, end)),
            "on_header_value": lambda data, start, end: self._header_value.extend(self._form_part(data, start, end)),
            "on_header_end": self._header_end,
            "on_headers_finished": self._part_start,
            "on_part_data": self._part_data,
            "on_part_end": self._part_end,
            "on_end": self._end,
        }

    def write(self, data: bytes) -> None:
        with _explained_errors():
            self._parser.write(data)

    def finish(self) -> ReceivedUpload:
        if not self._complete:
            raise MalformedMultipart("the multipart body ends before its closing boundary; send all of it")
        if len(self._files) != 1:
            kind = "missing" if not self._files else "too_many_files"
            error = {"type": kind, "loc": ("body", "file"), "msg": "upload one file at a time"}
            raise RequestValidationError([error], body={"file": None})
        file_name, declared = self._files[0]
        return ReceivedUpload(self._sink.finish(), file_name, declared, self._fields, fields_in="body")

    def _form_part(self, data: bytes, start: int, end: int) -> bytes:
        self._count(end - start)
        return data[start:end]

    def _count(self, n_bytes: int) -> None:
        self._form_bytes += n_bytes
        if self._form_bytes > MAX_FORM_BYTES:
            raise MalformedMultipart(
                f"the fields beside the file have more than {MAX_FORM_BYTES} bytes, counting {PART_BYTES} more for "
                "each field; send fewer or shorter fields"
            )

    def _headers_start(self) -> None:
        self._count(PART_BYTES)
        self._headers = {}

    def _header_end(self) -> None:
        self._headers[bytes(self._header_name).lower()] = bytes(self._header_value)
        self._header_name.clear()
        self._header_value.clear()

    def _part_start(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition"))
        name = options.get(b"name", b"").decode("utf-8", "replace")
        if name != "file":
            self._field = name, bytearray()
            return
        self._field = None
        media_type, _ = parse_options_header(self._headers.get(b"content-type"))
        file_name = options.get(b"filename", b"").decode("utf-8", "replace")
        declared = named_format(file_name) or FORMATS_BY_MEDIA_TYPE.get(media_type.decode("latin-1").lower())
        self._files.append((file_name, declared))

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._field is not None:
            self._field[1].extend(self._form_part(data, start, end))
        elif len(self._files) == 1:
            self._sink.write(data[start:end])

    def _part_end(self) -> None:
        if self._field is not None:
            self._fields[self._field[0]].append(self._field[1].decode("utf-8", "replace"))

    def _end(self) -> None:
        self._complete = True
