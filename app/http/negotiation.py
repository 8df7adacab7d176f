"""Choice of the form of an answer by the header `Accept` (RFC 9110, section 12.5.1)."""

from collections.abc import Sequence

from app.errors import NotAcceptable

_MOST_RANGES = 50


def accepted(accept: str | None, available: Sequence[str]) -> str:
    """Return the media type that the client prefers; the first one if several are as good.

    available: media types without parameters, the default first.

    Raises:
        NotAcceptable: the header excludes them all.
    """
    ranges = _ranges(accept or "*/*")
    best = max(available, key=lambda media_type: _quality(media_type, ranges))
    if _quality(best, ranges) <= 0:
        detail = f"Accept is {accept!r:.200}; the forms of this answer are {', '.join(available)}"
        raise NotAcceptable.at("header/Accept", detail)
    return best


def _ranges(accept: str) -> dict[str, float]:
    """Return the quality of each media range. One whose quality cannot be read is ignored."""
    qualities = {}
    for entry in accept.split(",")[:_MOST_RANGES]:
        media_range, *parameters = (part.strip().lower() for part in entry.split(";"))
        quality = next((part[2:].strip() for part in parameters if part.startswith("q=")), "1")
        if media_range and quality.replace(".", "", 1).isascii() and quality.replace(".", "", 1).isdigit():
            qualities[media_range] = float(quality)
    return qualities or {"*/*": 1.0}


def _quality(media_type: str, ranges: dict[str, float]) -> float:
    """Return the quality of a media type by the most specific range that names it."""
    family = f"{media_type.partition('/')[0]}/*"
    return next((ranges[name] for name in (media_type, family, "*/*") if name in ranges), 0.0)
