"""Tests of numbers, booleans and missing values in text."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import MISSING_TEXTS, TextReading
from core.columns.texts import clean_texts, parse_booleans, parse_numbers
from core.exceptions import InvalidParameter


def numbers(texts, **reading):
    values, invalid = parse_numbers(pa.array(texts, pa.string()), TextReading(**reading))
    return ["invalid" if wrong else value for value, wrong in zip(values.to_pylist(), invalid.to_pylist(), strict=True)]


@pytest.mark.parametrize("text", ["", "  ", "NA", " n/a ", "nan", "-nan", "#N/A", "<NA>", "NaT", "None", "NULL", "?"])
def test_documented_texts_are_missing(text):
    assert numbers([text]) == [None]
    assert parse_booleans(pa.array([text])).values.to_pylist() == [None]


def test_missing_texts_are_those_of_pandas_and_two_more():
    pandas_parsers = pytest.importorskip("pandas._libs.parsers")
    assert set(MISSING_TEXTS) == set(pandas_parsers.STR_NA_VALUES) | {"?", "NaT"}


def test_other_texts_can_mean_missing():
    assert clean_texts(pa.array([" - ", "NA", "x"]), ("-",)).to_pylist() == [None, "NA", "x"]
    assert numbers(["-99", "NA"], nulls=("-99",)) == [None, "invalid"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("41", 41),
        ("-0.5", -0.5),
        ("+3", 3),
        (".5", 0.5),
        ("5.", 5),
        ("1.2e6", 1.2e6),
        ("\u22125.5", -5.5),
        ("\u22125e\u22121", -0.5),
        ("(12.5)", -12.5),
        ("1E-3", 1e-3),
        ("0", 0),
        (" 7 ", 7),
    ],
)
def test_plain_numbers(text, value):
    assert numbers([text]) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "01234",
        "00",
        "-007",
        "01.5",
        "0x1f",
        "inf",
        "-Infinity",
        "1e999",
        "1_000",
        "1,5",
        "12 %",
        "1 2",
        "e5",
        ".",
        "x",
        "(-1)",
        "(1",
        "1)",
        "()",
        "(1e2)",
    ],
)
def test_texts_that_are_not_plain_numbers(text):
    assert numbers([text]) == ["invalid"]


@pytest.mark.parametrize(
    ("text", "reading", "value"),
    [
        ("46,885.95", {"thousands": ","}, 46885.95),
        ("1,234,567", {"thousands": ","}, 1234567),
        ("46885.95", {"thousands": ","}, 46885.95),
        ("46.885,95", {"thousands": ".", "decimal": ","}, 46885.95),
        ("-1,5e3", {"decimal": ","}, -1500),
        ("46 885,95", {"thousands": " ", "decimal": ","}, 46885.95),
        ("46\u202f885", {"thousands": " "}, 46885),
        ("46\u00a0885", {"thousands": " "}, 46885),
        ("46'885.95", {"thousands": "'"}, 46885.95),
        ("46\u2019885.95", {"thousands": "'"}, 46885.95),
        ("12 %", {"percent": True}, 0.12),
        ("12.5%", {"percent": True}, 0.125),
        ("1,234\u00a0%", {"percent": True, "thousands": ","}, 12.34),
    ],
)
def test_numbers_in_other_writings(text, reading, value):
    assert numbers([text], **reading) == [value]


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("46,88", {"thousands": ","}),
        ("4688,595", {"thousands": ","}),
        ("1,234567", {"thousands": ","}),
        ("0,123", {"thousands": ","}),
        (",123", {"thousands": ","}),
        ("1.5", {"decimal": ","}),
        ("12 % %", {"percent": True}),
        ("%", {"percent": True}),
        ("0.12", {"percent": True}),
        ("50", {"percent": True}),
    ],
)
def test_numbers_in_a_wrong_writing_are_invalid(text, reading):
    assert numbers([text], **reading) == ["invalid"]


@settings(deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False)),
    st.sampled_from([(".", ""), (".", ","), (",", "."), (",", " "), (".", "'")]),
)
def test_numbers_are_read_back_as_they_were(values, marks):
    decimal, thousands = marks
    texts = [_written(value, decimal, thousands) for value in values]
    assert numbers(texts, decimal=decimal, thousands=thousands) == values


def _written(value, decimal, thousands):
    if not (abs(value) < 1e15 and value == np.round(value, 3)):
        return repr(value).replace(".", decimal)
    return f"{value:,.3f}".replace(",", "\0").replace(".", decimal).replace("\0", thousands)


@settings(deadline=None)
@given(st.lists(st.text() | st.none()))
def test_every_text_is_a_value_or_missing_or_invalid(texts):
    cleaned = clean_texts(pa.array(texts, pa.string()))
    for parse in (parse_numbers, parse_booleans):
        values, invalid = parse(pa.array(texts, pa.string()))
        has_value, is_wrong = values.is_valid().to_numpy(False), invalid.to_numpy(False)
        assert invalid.null_count == 0
        np.testing.assert_array_equal(has_value ^ is_wrong, cleaned.is_valid().to_numpy(False))


def test_booleans_are_read_in_any_case():
    values, invalid = parse_booleans(pa.array(["true", "FALSE", " True ", "yes", "1", None]))
    assert values.to_pylist() == [True, False, True, None, None, None]
    assert invalid.to_pylist() == [False, False, False, True, True, False]


def test_a_reading_survives_json():
    reading = TextReading(decimal=",", thousands=".", percent=True, dates="%d.%m.%Y", nulls=("-",))
    assert TextReading.from_json(reading.to_json()) == reading
    assert TextReading().to_json() == {}
    assert TextReading.from_json(None) == TextReading()


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ({"decimal": ";"}, "decimal"),
        ({"thousands": "_"}, "thousands"),
        ({"thousands": 3}, "thousands"),
        ({"decimal": ",", "thousands": ","}, "must differ"),
        ({"percent": 1}, "percent"),
        ({"nulls": [1]}, "nulls"),
        ({"nulls": "NA"}, "nulls"),
        ({"nulls_as_numbers": 1}, "nulls_as_numbers"),
        ({"dates": "%Q"}, "not supported"),
        ({"dates": "%d.%m"}, "no year"),
        ({"dates": "%Y %y"}, "twice"),
        ({"dates": "%Y %I"}, "%p"),
        ({"dates": 5}, "strptime"),
        ({"mark": 5}, "mapping"),
        ([], "mapping"),
    ],
)
def test_an_invalid_reading_is_refused(value, rule):
    with pytest.raises(InvalidParameter, match=rule):
        TextReading.from_json(value)
