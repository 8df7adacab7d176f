"""Readings that a column of text is tried with: numbers as people write them, ISO 8601, and local forms of dates."""

import re
from collections.abc import Iterator
from itertools import product

from app.datasets.column_types import ColumnKind, ValueType
from app.datasets.options import ReadingOptions
from app.datasets.text_scans import Family, ReadingScan
from core import TextReading

_THOUSANDS = {".": ("", ",", " ", "'"), ",": ("", ".", " ", "'")}

#: Forms that exclude each other: a day above 12 or a year decides between them.
_DATE_FORMS = (
    ("%d.%m.%Y",),
    ("%d/%m/%Y", "%m/%d/%Y"),
    ("%d-%m-%Y", "%m-%d-%Y"),
    ("%d.%m.%y",),
    ("%d/%m/%y", "%m/%d/%y"),
    ("%d-%m-%y", "%m-%d-%y"),
    ("%Y/%m/%d",),
    ("%Y.%m.%d",),
    ("%d %b %Y",),
    ("%d %B %Y",),
    ("%b %d, %Y",),
    ("%B %d, %Y",),
    ("%d-%b-%Y",),
    ("%d-%b-%y",),
)
_TIME_FORMS = ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


def families(name: str, options: ReadingOptions, requested: ColumnKind | None, sample: str) -> list[Family]:
    """Return the families that a column may belong to. sample: one of its values; no family without its signs."""
    found: list[Family] = []
    if requested in (None, ColumnKind.NUMERIC):
        found += _number_families(options)
    if requested in (None, ColumnKind.DATETIME):
        found += _date_families(name, options, sample)
    if requested is ColumnKind.DATETIME and not found:  # so that a cell that is not a date is found
        found.append(Family(ValueType.DATETIME, [ReadingScan(TextReading(nulls=options.missing_texts))]))
    return found


def number_readings(options: ReadingOptions, percent: bool = False) -> list[TextReading]:
    """Return the ways in which numbers can be written, as far as the upload leaves them open."""
    nulls = options.missing_texts
    decimals = (".", ",") if options.decimal is None else (options.decimal,)
    pairs = [
        (decimal, thousands)
        for decimal in decimals
        for thousands in (_THOUSANDS[decimal] if options.thousands is None else (options.thousands,))
        if thousands != decimal
    ]
    return [TextReading(decimal, thousands, percent, None, nulls) for decimal, thousands in pairs]


def _number_families(options: ReadingOptions) -> list[Family]:
    return [
        Family(ValueType.REAL, [ReadingScan(reading) for reading in number_readings(options, percent)])
        for percent in (False, True)
    ]


def _date_families(name: str, options: ReadingOptions, sample: str) -> Iterator[Family]:
    nulls = options.missing_texts
    for forms in _forms(name, options, sample):
        yield Family(ValueType.DATETIME, [ReadingScan(TextReading(dates=form, nulls=nulls)) for form in forms])


def _forms(name: str, options: ReadingOptions, sample: str) -> Iterator[tuple[str | None, ...]]:
    if name in options.date_columns:
        yield (options.date_columns[name],)
        return
    given = options.dates if isinstance(options.dates, str) else None
    if given is not None:
        yield (given,)
    if not re.search(r"\d", sample) or not re.search(r"[-./ ]", sample.strip()):
        return
    yield (None,)
    has_time = ":" in sample
    for forms, time in product(_DATE_FORMS, _TIME_FORMS):
        timed = tuple(form + time for form in forms)
        if bool(time) == has_time and given not in timed:
            yield timed
