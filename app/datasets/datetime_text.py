"""Dates and times as text: the form in which a column was written, by default RFC 3339 in UTC."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import numpy as np

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Seconds of the latest time that NumPy can write.
_LARGEST = 2**63 - 1


def datetime_text(seconds: float, form: str | None = None) -> str:
    """Return seconds since 1970-01-01 in UTC as text: in the `strptime` form, or as RFC 3339 in UTC.

    A time at midnight is written as a date. A year outside 1 to 9999 has no text in these forms, and is written in
    ISO 8601 with as many digits as it needs, up to about 292 billion years from now.
    """
    try:
        moment = _EPOCH + timedelta(microseconds=round(seconds * 1_000_000))
    except OverflowError:
        return _zoned(str(np.datetime64(min(max(round(seconds), -_LARGEST), _LARGEST), "s")))
    if form is not None:
        return moment.strftime(form)
    return _zoned(moment.replace(tzinfo=None).isoformat())


def _zoned(text: str) -> str:
    date = text.removesuffix("T00:00:00")
    return date if date != text else f"{text}Z"


def datetime_texts(seconds: Iterable[float | None], form: str | None = None) -> list[str | None]:
    """Return `datetime_text` of each value; None stays None."""
    return [None if value is None else datetime_text(value, form) for value in seconds]
