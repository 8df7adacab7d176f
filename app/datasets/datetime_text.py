"""Dates and times as text: the form in which a column was written, by default ISO 8601."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def datetime_text(seconds: float, form: str | None = None) -> str:
    """Return seconds since 1970-01-01 in UTC as text: in the `strptime` form, or as ISO 8601 without a zone."""
    try:
        moment = _EPOCH + timedelta(microseconds=round(seconds * 1_000_000))
    except OverflowError:
        return repr(seconds)  # Arrow can represent years beyond 9999.
    if form is not None:
        return moment.strftime(form)
    text = moment.replace(tzinfo=None).isoformat()
    return text.removesuffix("T00:00:00")


def datetime_texts(seconds: Iterable[float | None], form: str | None = None) -> list[str | None]:
    """Return `datetime_text` of each value; None stays None."""
    return [None if value is None else datetime_text(value, form) for value in seconds]
