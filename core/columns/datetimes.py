"""Dates and times as seconds since 1970-01-01 in UTC; those without a zone are taken as UTC."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core.columns.date_forms import ISO_PATTERN, MONTHS, date_pattern
from core.columns.reading import DEFAULT_READING, TextReading
from core.columns.texts import ParsedTexts, clean_texts, parsed

_MICROSECONDS = 1_000_000
_SECONDS_PER_DAY = 86_400

Fields = Mapping[str, NDArray[np.int64]]


def parse_datetimes(texts: pa.Array, reading: TextReading = DEFAULT_READING) -> ParsedTexts:
    """Return dates and times as seconds since 1970-01-01 in UTC, float64.

    ISO 8601: `2024-05-31`, or with a time `2024-05-31T14:30`, seconds, a fraction and a zone (`Z`, `+02:00`); T may be
    a blank. With `reading.dates`, texts of that form; ISO 8601 is read too, unless the form begins with the year, when
    a text could have two meanings. Digits of a fraction below the microsecond are dropped.
    """
    cleaned = clean_texts(texts, reading.nulls)
    seconds = _seconds(cleaned, date_pattern(reading.dates))
    if reading.dates is not None and not reading.dates.startswith("%Y"):
        seconds = pc.coalesce(seconds, _seconds(cleaned, ISO_PATTERN))
    return parsed(cleaned, seconds)


def seconds_of_temporal(values: pa.Array) -> pa.Array:
    """Return Arrow dates or timestamps of any unit as `parse_datetimes` returns their text; null stays null."""
    zone = values.type.tz if pa.types.is_timestamp(values.type) else None
    if pa.types.is_timestamp(values.type) and values.type.unit == "ns":
        numbers = np.floor_divide(_integers(values.cast(pa.int64()), 0), 1000)
    else:
        numbers = _integers(values.cast(pa.timestamp("us", zone)).cast(pa.int64()), 0)
    return pa.array(numbers / _MICROSECONDS, mask=values.is_null().to_numpy(zero_copy_only=False))


def seconds_of_fields(texts: Mapping[str, str]) -> float | None:
    """Return the seconds of one date, given the texts of its fields, as `parse_datetimes` does; None if invalid."""
    fields = {name: np.array([_field_number(name, text)], dtype=np.int64) for name, text in texts.items()}
    microseconds, is_valid = _microseconds(fields)
    return float(microseconds[0] / _MICROSECONDS) if is_valid[0] else None


def _field_number(name: str, text: str) -> int:
    """Return one field of one date as `_field` does."""
    match name:
        case "b":
            return MONTHS.index(text[:3].lower()) + 1
        case "p":
            return int(text.lower() == "pm")
        case "f":
            return int(text.ljust(6, "0")[:6])
        case "z":
            number = int("".join(filter(str.isdigit, text)).ljust(4, "0"))
            return (number // 100 * 3600 + number % 100 * 60) * (-1 if "-" in text else 1)
    return int(text)


def _seconds(cleaned: pa.Array, pattern: str) -> pa.Array:
    """Return the seconds of each text, float64; null if it does not match, or is not a date (2024-02-30)."""
    matches = pc.extract_regex(cleaned, pattern)
    texts = {field.name: matches.field(field.name) for field in matches.type}
    fields = {name: _field(name, values) for name, values in texts.items()}
    microseconds, is_valid = _microseconds(fields)
    is_valid &= matches.is_valid().to_numpy(zero_copy_only=False)
    return pa.array(microseconds / _MICROSECONDS, mask=~is_valid)


def _field(name: str, texts: pa.Array) -> NDArray[np.int64]:
    """Return one field as a number: months by name as 1 to 12, fractions in microseconds, zones in seconds."""
    match name:
        case "b":
            short = pc.utf8_slice_codeunits(pc.utf8_lower(texts), 0, 3)
            return _integers(pc.index_in(short, pa.array(MONTHS, short.type)), 0) + 1
        case "p":
            return _integers(pc.equal(pc.utf8_lower(texts), "pm"), 0)
        case "f":
            return _integers(pc.utf8_slice_codeunits(pc.utf8_rpad(texts, 6, "0"), 0, 6), 0)
        case "z":
            return _zone_seconds(texts)
    return _integers(texts, 1 if name in "md" else 0)


def _zone_seconds(texts: pa.Array) -> NDArray[np.int64]:
    """Return how far zones such as Z, +02, -0330 or +05:30 are ahead of UTC."""
    digits = pc.utf8_rpad(pc.replace_substring_regex(texts, r"[^0-9]", ""), 4, "0")
    number = _integers(digits, 0)
    seconds: NDArray[np.int64] = number // 100 * 3600 + number % 100 * 60
    return np.where(_integers(pc.match_substring(texts, "-"), 0) == 1, -seconds, seconds)


def _integers(values: pa.Array, absent: int) -> NDArray[np.int64]:
    """Return texts of digits, integers or booleans as integers, and `absent` for null and for the empty text."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        values = pc.if_else(pc.equal(values, ""), pa.scalar(None, values.type), values)
    filled: NDArray[Any] = pc.fill_null(values.cast(pa.int64()), absent).to_numpy(zero_copy_only=False)
    return filled


def _microseconds(fields: Fields) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the microseconds since 1970-01-01 in UTC of each row, and whether its fields are a date and time."""
    year, month = _year(fields), fields.get("b", fields.get("m", np.int64(1)))
    hour, hour_is_valid = _hour(fields)
    day, minute, second = (fields.get(name, np.int64(name == "d")) for name in "dMS")
    is_valid = (year >= 1) & (month >= 1) & (month <= 12) & hour_is_valid & (minute < 60) & (second < 60)
    months = (year - 1970).astype("datetime64[Y]").astype("datetime64[M]") + (np.clip(month, 1, 12) - 1)
    first_day = months.astype("datetime64[D]").astype(np.int64)
    n_days = (months + 1).astype("datetime64[D]").astype(np.int64) - first_day
    days = first_day + day - 1
    seconds = days * _SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - fields.get("z", np.int64(0))
    return seconds * _MICROSECONDS + fields.get("f", np.int64(0)), is_valid & (day >= 1) & (day <= n_days)


def _year(fields: Fields) -> NDArray[np.int64]:
    if "Y" in fields:
        return fields["Y"]
    # POSIX: 69 to 99 are of the twentieth century.
    return np.where(fields["y"] >= 69, fields["y"] + 1900, fields["y"] + 2000)


def _hour(fields: Fields) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    if "I" not in fields:
        hour = fields.get("H", np.zeros(1, np.int64))
        return hour, hour < 24
    twelve = fields["I"]
    return twelve % 12 + 12 * fields["p"], (twelve >= 1) & (twelve <= 12)
