"""ETags: when a client's copy is still good (RFC 9110, section 13.1.2)."""

from collections.abc import Mapping

from fastapi import Response


def names_tag(if_none_match: str | None, etag: str) -> bool:
    """Whether the header lists `etag` (given with its quotes). Weak and strong tags count as equal."""
    if if_none_match is None:
        return False
    listed = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return "*" in listed or etag in listed


def not_modified(etag: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(status_code=304, headers={"ETag": etag, **(headers or {})})
