"""Compression of answers with gzip, if the client accepts it."""

from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.raw_headers import header

#: Smaller bodies gain nothing.
MIN_BYTES = 1_000
_LEVEL = 5

_VARY = (b"vary", b"Accept-Encoding")
#: Compressed already, or streams of events, which must not wait in a buffer.
_EXCLUDED = (
    *DEFAULT_EXCLUDED_CONTENT_TYPES,
    "application/octet-stream",
    "application/vnd.apache.parquet",
    "application/vnd.apache.arrow.file",
    "application/vnd.apache.arrow.stream",
)


class CompressAnswers:
    """Middleware that compresses answers.

    A strong ETag names bytes, and the compressed ones differ, so it becomes a weak one (RFC 9110, section 8.8.1).
    """

    def __init__(self, app: ASGIApp) -> None:
        self._plain = app
        self._compressing = GZipMiddleware(
            app, minimum_size=MIN_BYTES, compresslevel=_LEVEL, exclude_content_types=_EXCLUDED
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not accepts_gzip(header(scope, b"accept-encoding") or ""):
            await self._plain(scope, receive, _with_vary(send))
            return

        async def send_with_weak_tag(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                tag = headers.get("etag", "")
                if headers.get("content-encoding") == "gzip" and tag.startswith('"'):
                    headers["etag"] = f"W/{tag}"
            await send(message)

        await self._compressing(scope, receive, send_with_weak_tag)


def _with_vary(send: Send) -> Send:
    """Return `send` that tells caches that the answer depends on Accept-Encoding, where it could be compressed."""

    async def send_with_vary(message: Message) -> None:
        if message["type"] == "http.response.start":
            media_type = (header(message, b"content-type") or "").partition(";")[0].strip().lower()
            if media_type and media_type not in _EXCLUDED:
                _add_vary(message)
        await send(message)

    return send_with_vary


def _add_vary(message: Message) -> None:
    if header(message, b"vary") is None:
        message["headers"].append(_VARY)
    else:
        MutableHeaders(raw=message["headers"]).add_vary_header("Accept-Encoding")


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether the header allows gzip: it is named, and not with the quality 0 (RFC 9110, section 12.5.3)."""
    for entry in accept_encoding.split(","):
        coding, *parameters = (part.strip().lower() for part in entry.split(";"))
        if coding in ("gzip", "x-gzip"):
            return not any(part.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for part in parameters)
    return False
