"""Conditional requests with ETags (RFC 9110, section 13.1.2)."""

from collections.abc import Mapping

from fastapi import Response


def names_tag(if_none_match: str | None, etag: str) -> bool:
    """Return whether the header lists `etag`, which includes its quotes. Weak and strong tags compare equal."""
    if if_none_match is None:
        return False
    listed = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return "*" in listed or etag in listed


def not_modified(etag: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the 304 answer."""
    return Response(status_code=304, headers={"ETag": etag, **(headers or {})})
