"""Single cells have the values of whole columns."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core import Column, ColumnKind, TextReading
from core.columns.cells import CellFault, encode_cell, text_encoder

COLUMNS = (
    Column("plain", ColumnKind.NUMERIC),
    Column("spreadsheet", ColumnKind.NUMERIC, reading=TextReading(thousands=",", percent=True)),
    Column("comma", ColumnKind.NUMERIC, reading=TextReading(decimal=",", thousands=".")),
    Column("nulls", ColumnKind.NUMERIC, reading=TextReading(nulls=("0", "-99", "NA"))),
    Column("date", ColumnKind.DATETIME),
    Column("year first", ColumnKind.DATETIME, reading=TextReading(dates="%Y-%d-%m")),
    Column("local date", ColumnKind.DATETIME, reading=TextReading(dates="%d.%m.%Y")),
    Column("flag", ColumnKind.CATEGORICAL, ("false", "true"), is_boolean=True),
    Column("code", ColumnKind.CATEGORICAL, ("007", "1", "1.0", "12", "a", "true")),
)
WRITTEN = st.sampled_from(
    ["0", "-99", "1,234.5", "1.234,5", "1.5", "12 %", "007", "7", " 1 ", "1e3", "TRUE", "a ", "NA", "31.05.2024"]
) | st.sampled_from(
    [
        "-99.0",
        "-9.9e1",
        "-0.00",
        "2024-05-31",
        "2024-05-31T10:00Z",
        "2024-13-01",
        "\x1f1",
        "1\u2003",
        "\u0661",
        "-0",
        "9" * 400,
        "\ud800",
    ]
)


def in_column(column, cell):
    try:
        encoded = column.encode(pa.array([cell], from_pandas=False))
    except UnicodeEncodeError:
        return CellFault.UNKNOWN if column.kind is ColumnKind.CATEGORICAL else CellFault.INVALID
    if encoded.unknown[0]:
        return CellFault.UNKNOWN
    return CellFault.INVALID if encoded.invalid[0] else encoded.values[0]


@settings(deadline=None)
@given(st.sampled_from(COLUMNS), WRITTEN | st.text() | st.decimals(allow_nan=False).map(str) | st.none())
@example(COLUMNS[3], "0")
def test_texts(column, text):
    np.testing.assert_equal(encode_cell(column, text), in_column(column, text))
    if text is not None:
        np.testing.assert_equal(text_encoder(column)(text), encode_cell(column, text))


NUMERALS = st.from_regex("[+\u2212(-]?[0-9.,%]{1,9}( ?%)?(e[\u2212-]?[0-9]{1,3})?[)]?", fullmatch=True)
DATES = st.from_regex(
    r"(0000|20[0-9]{2})-[0-3][0-9]-[0-3][0-9]([T ][0-2][0-9]:[0-6][0-9](:[0-6][0-9])?)?", fullmatch=True
)


@settings(deadline=None)
@given(st.sampled_from(COLUMNS[:4]), NUMERALS)
@example(COLUMNS[0], "\u22125")
@example(COLUMNS[0], "(5)")
@example(COLUMNS[1], "(1,234.5 %)")
def test_numerals(column, text):
    np.testing.assert_equal(encode_cell(column, text), in_column(column, text))
    np.testing.assert_equal(text_encoder(column)(text), encode_cell(column, text))


@settings(deadline=None)
@given(st.sampled_from(COLUMNS[4:7]), DATES)
def test_dates(column, text):
    np.testing.assert_equal(encode_cell(column, text), in_column(column, text))


FORMS = ("%d.%m.%Y", "%m/%d/%y %I:%M %p", "%a %d %b %Y %H:%M:%S.%f%z", "%Y%m%d")
LOCAL_DATES = st.datetimes() | st.datetimes(timezones=st.timezones())


@settings(deadline=None)
@given(st.sampled_from(FORMS), LOCAL_DATES, st.sampled_from(["", " ", "x", "9"]))
def test_local_dates(form, moment, end):
    column = Column("date", ColumnKind.DATETIME, reading=TextReading(dates=form))
    text = moment.strftime(form) + end
    np.testing.assert_equal(encode_cell(column, text), in_column(column, text))


@settings(deadline=None)
@given(st.sampled_from(COLUMNS[:4]), st.floats() | st.integers(-(2**53), 2**53) | st.sampled_from([0, -0.0, -99]))
@example(COLUMNS[3], -99)
@example(COLUMNS[3], -0.0)
def test_numbers_in_numeric_columns(column, number):
    if isinstance(number, float) and math.isnan(number):
        assert encode_cell(column, number) is CellFault.INVALID  # JSON has no NaN
    else:
        np.testing.assert_equal(encode_cell(column, number), in_column(column, number))


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 20) | st.booleans())
def test_values_in_categorical_columns(value):
    assert encode_cell(COLUMNS[-1], value) == in_column(COLUMNS[-1], value)


@pytest.mark.parametrize("cell", [True, [1], {"a": 1}, 10**400, math.inf, math.nan])
def test_what_is_not_a_number(cell):
    assert encode_cell(COLUMNS[0], cell) is CellFault.INVALID


@pytest.mark.parametrize("cell", [5, 1.5, True, [1]])
def test_what_is_not_a_date(cell):
    assert encode_cell(COLUMNS[4], cell) is CellFault.INVALID


@pytest.mark.parametrize("cell", [2, 10**400, ["a"], False])
def test_what_is_not_a_category(cell):
    assert encode_cell(COLUMNS[-1], cell) is CellFault.UNKNOWN


@pytest.mark.parametrize("cell", ["-99", "-99.0", " -99 ", "-9.9e1", -99, -99.0, "0", "0.0", "-0", 0, -0.0, "NA"])
def test_numbers_that_mean_missing(cell):
    assert math.isnan(encode_cell(COLUMNS[3], cell))
    assert math.isnan(in_column(COLUMNS[3], cell))


def test_numbers_that_mean_missing_are_no_categories():
    column = Column("code", ColumnKind.CATEGORICAL, ("1", "2"), reading=TextReading(nulls=("-1",)))
    for cell in ("-1", -1, -1.0):
        assert math.isnan(encode_cell(column, cell))
        assert math.isnan(in_column(column, cell))
    assert encode_cell(column, 3) is in_column(column, 3) is CellFault.UNKNOWN


@pytest.mark.parametrize("stored", [pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(9, 1)])
def test_numbers_that_mean_missing_in_arrays_of_any_type(stored):
    column = Column("a", ColumnKind.NUMERIC, reading=TextReading(nulls=("-99.0", "99.9", "9e99")))
    encoded = column.encode(pa.array([-99, None, 0], stored))
    np.testing.assert_equal(encoded.values, [np.nan, np.nan, 0])
    assert not encoded.invalid.any()
    if not pa.types.is_integer(stored):
        assert np.isnan(column.encode(pa.array(np.array([99.9])).cast(stored)).values).all()


@pytest.mark.parametrize(
    "column",
    [
        Column("date", ColumnKind.DATETIME, reading=TextReading(nulls=("-9",))),
        Column("flag", ColumnKind.CATEGORICAL, ("false", "true"), is_boolean=True, reading=TextReading(nulls=("-9",))),
    ],
)
def test_numbers_that_mean_missing_in_place_of_dates_and_booleans(column):
    assert math.isnan(encode_cell(column, -9))
    assert math.isnan(encode_cell(column, "-9"))
    assert isinstance(encode_cell(column, -8), CellFault)


@pytest.mark.parametrize(
    ("writing", "nulls", "numbers"),
    [
        ({}, ("", "NA", "007", "inf"), set()),
        ({}, ("-9999", "99.50"), {-9999.0, 99.5}),
        ({"decimal": ",", "thousands": "."}, ("-9.999", "n/a", "-1,5", "1.25"), {-9999.0, -1.5, 1.25}),
        ({"percent": True}, ("1", "99 %"), {0.99}),
        ({"nulls_as_numbers": False}, ("-9999",), set()),
    ],
)
def test_numbers_that_texts_spell(writing, nulls, numbers):
    reading = TextReading(nulls=nulls, **writing)
    assert reading.null_numbers == numbers
    assert TextReading.from_json(reading.to_json()) == reading


def test_older_readings_take_numbers_as_they_are():
    older = TextReading.from_json({"nulls": ["", "-99"]})
    column = Column("a", ColumnKind.NUMERIC, reading=older)
    assert encode_cell(column, -99) == in_column(column, -99) == -99
    assert math.isnan(encode_cell(column, "-99"))


def test_numbers_are_not_booleans():
    assert encode_cell(COLUMNS[7], 1) is CellFault.UNKNOWN
    assert encode_cell(COLUMNS[7], True) == 1
