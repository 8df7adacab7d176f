"""Tests of dates and times in text and in Arrow types."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import TextReading
from core.columns.datetimes import parse_datetimes, seconds_of_temporal

FORMS = ["%d.%m.%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%A, %d %B %Y %H:%M:%S", "%b %d %Y %H-%M-%S", "%Y%m%d %H%M%S"]


def seconds(texts, form=None):
    values, invalid = parse_datetimes(pa.array(texts, pa.string()), TextReading(dates=form))
    return ["invalid" if wrong else value for value, wrong in zip(values.to_pylist(), invalid.to_pylist(), strict=True)]


def utc(*fields):
    return dt.datetime(*fields, tzinfo=dt.UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-31", utc(2024, 5, 31)),
        (" 2024-02-29 ", utc(2024, 2, 29)),
        ("2024-05-31T14:30", utc(2024, 5, 31, 14, 30)),
        ("2024-05-31 14:30:05", utc(2024, 5, 31, 14, 30, 5)),
        ("2024-05-31T14:30:05.25Z", utc(2024, 5, 31, 14, 30, 5, 250_000)),
        ("2024-05-31T14:30:05.123456789", utc(2024, 5, 31, 14, 30, 5, 123_456)),
        ("2024-05-31T14:30:05+02:00", utc(2024, 5, 31, 12, 30, 5)),
        ("2024-05-31T14:30:05-0330", utc(2024, 5, 31, 18, 0, 5)),
        ("2024-05-31 14:30:05 UTC", utc(2024, 5, 31, 14, 30, 5)),
        ("1969-12-31T23:59:59.5", -0.5),
        ("0001-01-01", -62135596800.0),
        ("NaT", None),
        ("", None),
    ],
)
def test_iso_8601(text, expected):
    assert seconds([text]) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30",
        "2023-02-29",
        "2024-13-01",
        "2024-00-01",
        "2024-05-31T24:00",
        "2024-05-31T14:60",
        "0000-01-01",
        "2024-05",
        "20240531",
        "31.05.2024",
        "2024-05-31Z",
        "2024-05-31T14:30+25:00",
        "2024-05-31T14:30+02:75",
        "1717113600",
        "2024-05-31T14",
        "x",
    ],
)
def test_texts_that_are_not_iso_dates(text):
    assert seconds([text]) == ["invalid"]


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("%d.%m.%Y", "31.05.2024", utc(2024, 5, 31)),
        ("%d.%m.%Y", "1.6.2024", utc(2024, 6, 1)),
        ("%d.%m.%Y", "2024-05-31", utc(2024, 5, 31)),
        ("%d.%m.%Y", "2024-05-31T10:00Z", utc(2024, 5, 31, 10)),
        ("%m/%d/%y", "05/31/68", utc(2068, 5, 31)),
        ("%m/%d/%y", "05/31/69", utc(1969, 5, 31)),
        ("%m/%Y", "05/2024", utc(2024, 5, 1)),
        ("%d %b %Y", "31 MAY 2024", utc(2024, 5, 31)),
        ("%I:%M %p %d/%m/%Y", "12:05 am 01/02/2024", utc(2024, 2, 1, 0, 5)),
        ("%Y-%d-%m", "2024-31-05", utc(2024, 5, 31)),
        ("%Y-%d-%m", "2024-05-31", "invalid"),
        ("%d/%m/%Y", "05/31/2024", "invalid"),
        ("%I:%M %p %d/%m/%Y", "13:05 pm 01/02/2024", "invalid"),
    ],
)
def test_forms(form, text, expected):
    assert seconds([text], form) == [expected]


@settings(deadline=None)
@given(st.lists(st.datetimes(min_value=dt.datetime(1, 1, 1))), st.sampled_from([None, " ", "T"]))
def test_iso_texts_are_read_back(moments, separator):
    texts = [str(m) if separator is None else m.isoformat(separator) for m in moments]
    expected = [(m - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1) / 1e6 for m in moments]
    assert seconds(texts) == expected


@settings(deadline=None)
@given(
    st.lists(st.datetimes(min_value=dt.datetime(1970, 1, 1), max_value=dt.datetime(2060, 1, 1))), st.sampled_from(FORMS)
)
def test_forms_read_what_strftime_writes(moments, form):
    moments = [m.replace(microsecond=0) for m in moments]
    assert seconds([m.strftime(form) for m in moments], form) == [utc(*m.timetuple()[:6]) for m in moments]


@settings(deadline=None)
@given(
    st.lists(st.integers(-(2**62), 2**62)),
    st.sampled_from([pa.timestamp(unit) for unit in ("ns", "us")] + [pa.timestamp("ns", "Europe/Paris")]),
)
def test_timestamps_are_the_numbers_of_their_text(integers, stored):
    within = [n for n in integers if stored.unit == "ns" or abs(n) < 6e16]
    array = pa.array(within, pa.int64()).cast(stored)
    texts = array.cast(pa.timestamp(stored.unit)).cast(pa.string())
    assert seconds_of_temporal(array).to_pylist() == parse_datetimes(texts).values.to_pylist()


@pytest.mark.parametrize("stored", [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ms", "UTC")])
def test_dates_of_every_type_are_seconds(stored):
    array = pa.array([dt.date(2024, 5, 31), None, dt.date(1900, 1, 1)]).cast(stored)
    assert seconds_of_temporal(array).to_pylist() == [utc(2024, 5, 31), None, utc(1900, 1, 1)]


def test_an_empty_column_has_no_values():
    assert seconds([]) == []
    assert len(seconds_of_temporal(pa.array([], pa.date32()))) == 0
    assert np.isnan(parse_datetimes(pa.array([None], pa.string())).values.to_numpy(zero_copy_only=False)).all()
