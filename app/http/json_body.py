"""JSON bodies of all routes: received, bounded, parsed and validated here, and not by the framework.

The framework parses on the event loop, takes bodies of any cost, and the last one of two equal keys. Here the memory
that a body takes once it is parsed is estimated while it is received. The parser and the validation run in threads, one
large body at a time: the parser of the standard library lets no other thread run, so that its longest call must be
short. Requests share the memory for parsed bodies. Small bodies have a share of their own, so that they do not wait
for large ones.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, Generic, NamedTuple, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from app.errors import (
    BodyTooLarge,
    DecodedTooLarge,
    DuplicateKey,
    Invalid,
    InvalidJson,
    MemoryBusy,
    NestedTooDeeply,
    StorageFull,
    TextTooLong,
    UnsupportedMediaType,
)
from app.http.content_type import is_json, media_type_of, require_not_compressed
from app.http.json_cost import JsonCost
from app.http.json_parsing import parse_json_body
from app.http.known_names import with_known_names
from app.http.memory_budget import MemoryBudget
from app.http.text_limit import Path as TextPath
from app.http.text_limit import require_short_texts
from app.large_work import large_work_turn
from app.settings import MEBIBYTE, Limits

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)

#: Errors of every route with a JSON body.
JSON_ERRORS = (
    BodyTooLarge, DecodedTooLarge, UnsupportedMediaType, Invalid, InvalidJson, NestedTooDeeply, DuplicateKey,
    StorageFull, MemoryBusy, TextTooLong,
)  # fmt: skip

#: Longer bodies wait in a file until they have arrived, so that slow clients take no memory.
_IN_MEMORY_BYTES = 64 * 1024
#: Requests for jobs are copied and written as text before they are stored, which takes as much again as half of them.
_MEMORY_PER_DECODED_BYTE = 1.5
#: Estimate up to which a body is small.
_SMALL_BYTES = MEBIBYTE


class _Lane(NamedTuple):
    """Memory for bodies of one size, and the threads that parse them."""

    memory: MemoryBudget
    threads: CapacityLimiter


class JsonBodies:
    """Memory and threads of one process for JSON bodies. folder: for temporary files, which have no names."""

    def __init__(self, limits: Limits, folder: Path) -> None:
        self._limits = limits
        self.max_text_bytes = limits.max_text_bytes
        self._folder = folder
        self._small = _Lane(MemoryBudget(32 * _SMALL_BYTES), CapacityLimiter(4))
        self._large = _Lane(MemoryBudget(limits.max_decoded_bytes), CapacityLimiter(1))

    @asynccontextmanager
    async def read(self, request: Request, read: Callable[[bytes], T]) -> AsyncIterator[T]:
        """Yield what `read` returns for the body. Its memory counts as used until the block ends.

        Raises:
            UnsupportedMediaType, BodyTooLarge, DecodedTooLarge, MemoryBusy, and the errors of `read`.
        """
        _check_media_type(request)
        with SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=str(self._folder)) as file:
            cost = await self._receive(request, file)
            is_small = cost.decoded_bytes <= _SMALL_BYTES

            def parsed() -> T:
                file.seek(0)
                with nullcontext() if is_small else large_work_turn:
                    return read(file.read())

            async with self._parsed(parsed, cost, self._small if is_small else self._large) as value:
                yield value

    @asynccontextmanager
    async def read_small(self, content: bytes, cost: JsonCost, read: Callable[[bytes], T]) -> AsyncIterator[T]:
        """Yield what `read` returns for a small body that has arrived, as `read` does for all."""
        async with self._parsed(lambda: read(content), cost, self._small) as value:
            yield value

    @asynccontextmanager
    async def _parsed(self, parse: Callable[[], T], cost: JsonCost, lane: "_Lane") -> AsyncIterator[T]:
        """Yield what `parse` returns in a thread of the lane, with the memory that it takes until the block ends."""
        async with lane.memory.taken(int(_MEMORY_PER_DECODED_BYTE * cost.decoded_bytes)):
            yield await to_thread.run_sync(parse, limiter=lane.threads)

    async def _receive(self, request: Request, file: SpooledTemporaryFile[bytes]) -> JsonCost:
        """Write the body to the file. It is refused as soon as it exceeds a limit."""
        cost = JsonCost()
        async for chunk in body_chunks(request, self._limits.max_body_bytes):
            cost.add(chunk)
            self.check(cost)
            file.write(chunk)
        return cost

    def check(self, cost: JsonCost) -> None:
        """Raise DecodedTooLarge if a body exceeds the limit."""
        limit = self._limits.max_decoded_bytes
        if cost.decoded_bytes > limit:
            raise DecodedTooLarge(
                f"The body would take more than {limit} bytes of memory once it is parsed (limit "
                "BRISTLECONE_MAX_DECODED_BYTES): each value, list and object counts. Send fewer values per request, "
                "upload a table as a file to POST /datasets, or raise the limit."
            )


async def body_chunks(request: Request, limit: int) -> AsyncIterator[bytes]:
    """Yield a body as it arrives; the one place where bodies are received.

    Raises:
        UnsupportedMediaType: the body is compressed.
        BodyTooLarge.
    """
    require_not_compressed(request)
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > limit:
        raise _too_large(limit)
    n_bytes = 0
    try:
        async for chunk in request.stream():
            n_bytes += len(chunk)
            if n_bytes > limit:
                raise _too_large(limit)
            yield chunk
    except HTTPException as error:
        if error.status_code == 413:
            raise _too_large(limit) from error
        raise


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(
        f"The body exceeds the limit of {limit} bytes (BRISTLECONE_MAX_BODY_BYTES); send less per request, or raise "
        "the limit."
    )


def _check_media_type(request: Request) -> None:
    media_type = media_type_of(request)
    if not is_json(media_type):
        raise UnsupportedMediaType.at(
            "header/Content-Type",
            f"the media type is {media_type!r:.100}; send JSON with Content-Type: application/json",
        )


class _JsonBody(Generic[T]):
    """Dependency that yields the body as `read` returns it. Its memory is given back when the endpoint has returned."""

    def __init__(self, read: Callable[[bytes, int], T]) -> None:
        self._read = read

    async def __call__(self, request: Request) -> AsyncIterator[T]:
        bodies: JsonBodies = request.app.state.json_bodies
        async with bodies.read(request, lambda body: self._read(body, bodies.max_text_bytes)) as body:
            yield body


def json_document(duplicate: type[Invalid] = DuplicateKey) -> Any:
    """Return the dependency for the parsed body, whose texts have any length.

    duplicate: the error about keys that occur twice.
    """
    return Depends(_JsonBody(lambda body, _: parse_json_body(body, duplicate)), scope="function")


def json_body(model: type[BaseModel], own_limits: Collection[TextPath] = ()) -> Any:
    """Return the dependency for a body that is validated as `model`.

    own_limits: paths to values in which other rules than `BRISTLECONE_MAX_TEXT_BYTES` limit the texts.
    """

    def read(body: bytes, max_text_bytes: int) -> BaseModel:
        if not body:
            missing = {"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}
            raise RequestValidationError([missing])
        document = parse_json_body(body)
        checked = validated(model, document)
        require_short_texts(document, max_text_bytes, own_limits)
        return checked

    return Depends(_JsonBody(read), scope="function")


def validated(model: type[Model], document: Any, within: str = "body") -> Model:
    """Return the document as `model`. Raises RequestValidationError with locations within `body` or `query`."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        located = [{**with_known_names(model, item), "loc": (within, *item["loc"])} for item in errors]
        raise RequestValidationError(located, body=document) from error


def json_request_body(model: type[BaseModel], examples: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `openapi_extra=` of a route with `json_body(model)`."""
    reference = "#/components/schemas/{model}"
    schema = model.model_json_schema(ref_template=reference)
    # The document moves definitions to its components.
    definitions = schema.pop("$defs", {}) | {model.__name__: schema}
    content: dict[str, Any] = {"schema": {"$ref": reference.format(model=model.__name__), "$defs": definitions}}
    if examples:
        content["examples"] = dict(examples)
    return {"requestBody": {"required": True, "content": {"application/json": content}}}
