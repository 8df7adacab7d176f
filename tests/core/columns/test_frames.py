"""Tests of data frames and columns as numbers."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import core
from core import Column, ColumnKind, EncodedTable, InvalidInput, TextReading, encode_frame

CATEGORICAL, DATETIME, NUMERIC = ColumnKind.CATEGORICAL, ColumnKind.DATETIME, ColumnKind.NUMERIC
NAN = float("nan")


def pandas_frame():
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(
        {
            "count": [1, 2, 3],
            "share": [0.5, NAN, 2.0],
            "city": ["Rom", None, "Bern"],
            "grade": pd.Categorical(["b", "a", None], categories=["a", "b", "never"]),
            "flag": [True, False, True],
            "day": pd.to_datetime(["2024-05-31", None, "1970-01-02"]),
            "maybe": pd.array([1, None, 3], dtype="Int64"),
            "yes": pd.array([True, None, False], dtype="boolean"),
        },
        index=[7, 7, 9],
    )


def polars_frame():
    pl = pytest.importorskip("polars")
    return pl.DataFrame(
        {
            "count": [1, 2, 3],
            "share": [0.5, NAN, 2.0],
            "city": ["Rom", None, "Bern"],
            "grade": pl.Series(["b", "a", None], dtype=pl.Categorical),
            "flag": [True, False, True],
            "day": [dt.date(2024, 5, 31), None, dt.date(1970, 1, 2)],
            "maybe": [1, None, 3],
            "yes": [True, None, False],
        }
    )


def arrow_frame():
    return pa.table(
        {
            "count": pa.array([1, 2, 3], pa.int8()),
            "share": [0.5, NAN, 2.0],
            "city": pa.chunked_array([["Rom"], [None, "Bern"]], pa.large_string()),
            "grade": pa.array(["b", "a", None]).dictionary_encode(),
            "flag": [True, False, True],
            "day": pa.array([dt.datetime(2024, 5, 31), None, dt.datetime(1970, 1, 2)], pa.timestamp("ns", "UTC")),
            "maybe": [1, None, 3],
            "yes": [True, None, False],
        }
    )


@pytest.mark.parametrize("make_frame", [pandas_frame, polars_frame, arrow_frame])
def test_frames_of_every_library_are_the_same_numbers(make_frame):
    table = encode_frame(make_frame())
    assert [(c.name, c.kind, c.categories, c.is_boolean) for c in table.columns] == [
        ("count", NUMERIC, None, False),
        ("share", NUMERIC, None, False),
        ("city", CATEGORICAL, ("Bern", "Rom"), False),
        ("grade", CATEGORICAL, ("a", "b"), False),
        ("flag", CATEGORICAL, ("false", "true"), True),
        ("day", DATETIME, None, False),
        ("maybe", NUMERIC, None, False),
        ("yes", CATEGORICAL, ("false", "true"), True),
    ]
    expected = [
        [1, 0.5, 1, 1, 1, 1717113600, 1, 1],
        [2, NAN, NAN, 0, 0, NAN, NAN, NAN],
        [3, 2.0, 0, NAN, 1, 86400, 3, 0],
    ]
    np.testing.assert_array_equal(table.X, np.array(expected))
    assert table.X.dtype == np.float64


def test_raw_text_is_read_as_the_columns_say():
    columns = (
        Column("amount", NUMERIC, reading=TextReading(thousands=",")),
        Column("day", DATETIME, reading=TextReading(dates="%d.%m.%Y")),
        Column("flag", CATEGORICAL, ("false", "true"), is_boolean=True),
        Column("city", CATEGORICAL, ("Bern", "Rom")),
    )
    raw = pa.table(
        {
            "city": [" Rom ", "Oslo", "NA"],
            "id": ["a", "b", "c"],
            "flag": ["TRUE", "", "false"],
            "day": ["31.05.2024", "?", "2.1.1970"],
            "amount": ["46,885.95", "12", None],
        }
    )
    table = encode_frame(raw, columns)
    np.testing.assert_array_equal(table.X, [[46885.95, 1717113600, 1, 1], [12, NAN, NAN, NAN], [NAN, 86400, 0, NAN]])
    assert table.columns == columns


@pytest.mark.parametrize(
    ("column", "cells", "codes"),
    [
        (Column("zip", CATEGORICAL, ("01234", "99999")), [1234, 99999, 5], [0, 1, NAN]),
        (Column("zip", CATEGORICAL, ("01234", "99999")), [1234.0, NAN, 5.5], [0, NAN, NAN]),
        (Column("zip", CATEGORICAL, ("01", "1")), [1, 1, 2], [1, 1, NAN]),
        (Column("zip", CATEGORICAL, ("01", "001")), [1, 1, 2], [NAN, NAN, NAN]),
        (Column("level", CATEGORICAL, ("1.0", "2.0")), [1, 2, 3], [0, 1, NAN]),
        (Column("level", CATEGORICAL, ("1", "2.5")), [1.0, 2.5, 3.0], [0, 1, NAN]),
        (Column("flag", CATEGORICAL, ("false", "true"), is_boolean=True), [True, False, None], [1, 0, NAN]),
        (Column("day", CATEGORICAL, ("2024-05-31",)), [dt.date(2024, 5, 31), None, dt.date(2024, 6, 1)], [0, NAN, NAN]),
        (Column("name", CATEGORICAL, (" NA", "NA")), ["NA", " NA", "NA "], [1, 0, NAN]),
    ],
)
def test_codes_of_cells_that_are_not_written_as_the_category(column, cells, codes):
    encoded = column.encode(pa.array(cells, from_pandas=False))
    np.testing.assert_array_equal(encoded.values, codes)
    assert not encoded.invalid.any()


def test_unknown_categories_are_told_from_missing_ones():
    encoded = Column("city", CATEGORICAL, ("Bern",)).encode(pa.array(["Bern", "Oslo", None, "NA", "Bern "]))
    np.testing.assert_array_equal(encoded.unknown, [False, True, False, False, False])


def test_a_column_of_missing_values_may_have_any_type():
    for column in (Column("x", NUMERIC), Column("x", DATETIME), Column("x", CATEGORICAL, ("a",))):
        for stored in (pa.null(), pa.float64(), pa.string(), pa.date32()):
            assert np.isnan(column.encode(pa.nulls(2, stored)).values).all()


@pytest.mark.parametrize(
    ("column", "cells", "rule"),
    [
        (Column("age", NUMERIC), ["41", "old"], r"'age' has 'old' in row 1; write a finite number such as 1234\.5"),
        (Column("age", NUMERIC), [41.0, float("inf")], "'age' has inf in row 1"),
        (Column("day", DATETIME), ["2024-05-31", "31.5."], "'day' has '31.5.' in row 1; write a date such as 2024-05"),
        (Column("day", DATETIME), [1, 2], "'day' has the type int64, but its kind is datetime; pass dates"),
        (Column("age", NUMERIC), [True, False], "'age' has the type bool, but its kind is numeric; pass numbers"),
        (Column("city", CATEGORICAL, ("a",)), [dt.time(5, 31)], "'city' has the type time64"),
    ],
)
def test_cells_of_another_kind_are_named(column, cells, rule):
    with pytest.raises(InvalidInput, match=rule):
        encode_frame(pa.table({column.name: cells}), [column])


def test_unusable_frames_are_explained():
    with pytest.raises(InvalidInput, match="'x' has the type list"):
        encode_frame(pa.table({"x": [[1], [2]]}))
    with pytest.raises(InvalidInput, match="'x' has the type dictionary"):
        encode_frame(pa.table({"x": pa.array([dt.date(2024, 5, 31)]).dictionary_encode()}))
    with pytest.raises(InvalidInput, match="no column 'y'"):
        encode_frame(pa.table({"x": [1]}), [Column("y", NUMERIC)])
    with pytest.raises(InvalidInput, match="2 columns 'x'"):
        encode_frame(pa.table([[1], [2]], ["x", "x"]), [Column("x", NUMERIC)])
    pd = pytest.importorskip("pandas")
    with pytest.raises(InvalidInput, match="'mixed'"):
        encode_frame(pd.DataFrame({"mixed": pd.Series([1, "a"], dtype=object)}))


def test_categories_may_be_numbers_and_booleans():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"n": pd.Categorical([10, 9, None]), "f": pd.Categorical([1.5, 2.0, 2.0])})
    table = encode_frame(frame)
    assert [column.categories for column in table.columns] == [("10", "9"), ("1.5", "2")]
    np.testing.assert_array_equal(table.X, [[0, 0], [1, 1], [NAN, 1]])
    np.testing.assert_array_equal(encode_frame(frame.astype(float), table.columns).X, table.X)
    flags = encode_frame(pd.DataFrame({"b": pd.Categorical([True, None, False])}))
    assert flags.columns == (Column("b", CATEGORICAL, ("false", "true"), is_boolean=True),)
    np.testing.assert_array_equal(flags.X, [[1], [NAN], [0]])


def test_categories_of_an_empty_or_missing_column_are_none():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"g": pd.Categorical([None, None]), "s": pd.Series([None, None], dtype="string")})
    for rows in (frame, frame[:0]):
        assert [column.categories for column in encode_frame(rows).columns] == [(), ()]


def test_float32_frames_stay_float32():
    assert encode_frame(pa.table({"x": pa.array([1, 2], pa.float32())})).X.dtype == np.float32
    assert encode_frame(pa.table({"x": pa.array([1, 2], pa.float32()), "n": [1, 2]})).X.dtype == np.float64


def test_rows_of_a_table_are_taken_by_number_and_by_mask():
    table = encode_frame(pa.table({"x": [1, 2, 3]}))
    assert table.shape == (3, 1)
    assert len(table) == 3
    np.testing.assert_array_equal(table.take(np.array([2, 0])).X, [[3], [1]])
    np.testing.assert_array_equal(table.take(np.array([False, True, False])).X, [[2]])
    with pytest.raises(InvalidInput, match="2 columns"):
        EncodedTable(np.zeros((3, 1)), (Column("a", NUMERIC), Column("b", NUMERIC)))


@pytest.mark.parametrize(("library", "make"), [("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")])
def test_numbers_that_mean_missing_in_frames_of_numbers(library, make):
    columns = [Column(name, NUMERIC, reading=TextReading(nulls=("-99",))) for name in ("a", "b")]
    X = np.column_stack([np.arange(40.0), np.arange(40.0)[::-1]])
    X[::4, 0] = np.nan
    model = core.TreeClassifier(random_state=0).fit(EncodedTable(X, tuple(columns)), np.isnan(X[:, 0]))
    frame = getattr(pytest.importorskip(library), make)({"a": [-99, 5, -99], "b": [3, 4, 5]})
    assert model.predict(frame).tolist() == [True, False, True]


def test_a_reading_shows_what_it_changes():
    assert repr(TextReading()) == "TextReading()"
    assert repr(TextReading(thousands=",", nulls=("-",))) == "TextReading(thousands=',', nulls=['-'])"


@pytest.mark.parametrize(
    "column",
    [
        Column("x", NUMERIC, reading=TextReading(thousands=",", percent=True)),
        Column("day", DATETIME, reading=TextReading(dates="%d.%m.%Y")),
        Column("city", CATEGORICAL, ("Bern", "Rom"), reading=TextReading(nulls=("-",))),
        Column("flag", CATEGORICAL, ("false", "true"), is_boolean=True),
    ],
)
def test_a_column_survives_json(column):
    assert Column.from_json(column.to_json()) == column


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"name": 1, "kind": "numeric"},
        {"name": "x", "kind": "nonsense"},
        {"name": "x", "kind": "numeric", "categories": ["a"]},
        {"name": "x", "kind": "categorical"},
        {"name": "x", "kind": "categorical", "categories": "ab"},
        {"name": "x", "kind": "categorical", "categories": [1]},
        {"name": "x", "kind": "categorical", "categories": ["a", "a"]},
        {"name": "x", "kind": "categorical", "categories": ["a"], "is_boolean": True},
        {"name": "x", "kind": "categorical", "categories": ["a"], "is_boolean": 0},
        {"name": "x", "kind": "numeric", "reading": {"decimal": "x"}},
    ],
)
def test_a_column_that_is_not_one_is_refused(value):
    with pytest.raises((InvalidInput, KeyError, TypeError, ValueError)):
        Column.from_json(value)


@pytest.mark.parametrize("kind", ["numeric", "nonsense", None])
def test_the_kind_of_a_column_must_be_one_of_the_enumeration(kind):
    with pytest.raises(InvalidInput, match="it must be one of"):
        Column("x", kind)
