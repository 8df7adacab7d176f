"""Numbers and dates in text, as people write them."""

import datetime

import pyarrow as pa
import pytest

from app.datasets.column_types import ColumnKind
from app.datasets.errors import NotDatetime, NotNumeric
from app.datasets.formats import PlainFile
from app.datasets.ingestion import ingest
from app.datasets.options import ReadingOptions, UploadOptions
from app.datasets.stored_table import read_table
from app.settings import Limits
from tests.app.datasets.tables import parquet


@pytest.fixture
def ingested(tmp_path):
    """Return a function that ingests columns as a file with semicolons; the label column `y` alternates."""

    def make(*columns, content=None, types=None, delimiter=";", **reading):
        names = [f"c{number}" for number in range(len(columns))]
        rows = [";".join([*row, str(n % 2)]) for n, row in enumerate(zip(*columns, strict=True))]
        text = "\n".join([";".join([*names, "y"]), *rows, ""]).encode()
        source = tmp_path / "source"
        source.write_bytes(content or text)
        kinds = {name: ColumnKind(kind) for name, kind in (types or {}).items()}
        options = UploadOptions("y", "t", types=kinds, reading=ReadingOptions(delimiter=delimiter, **reading))
        canonical = tmp_path / "canonical"
        canonical.unlink(missing_ok=True)
        return ingest(PlainFile(source, "", 0), None, options, Limits(), canonical)

    return make


@pytest.fixture
def values(tmp_path):
    """Return a function that returns the stored values of a column of the last table."""
    return lambda position=0: read_table(tmp_path / "canonical", [position]).X[:, 0].tolist()


def codes(table):
    return [warning.code for warning in table.warnings]


class TestNumbers:
    @pytest.mark.parametrize(
        ("texts", "expected", "reading"),
        [
            (["46,885.95", "1,200", "7"], [46885.95, 1200, 7], {"thousands": ","}),
            (["46.885,95", "1.200,5", "7"], [46885.95, 1200.5, 7], {"decimal": ",", "thousands": "."}),
            (["0,5", "-1,25", "3"], [0.5, -1.25, 3], {"decimal": ","}),
            (["1 234,5", "12", "-2 000 000"], [1234.5, 12, -2e6], {"decimal": ",", "thousands": " "}),
            (["1\u202f234.5", "12", "3"], [1234.5, 12, 3], {"thousands": " "}),
            (["1'234.50", "12", "0.1"], [1234.5, 12, 0.1], {"thousands": "'"}),
            (["\u22125", "7", "-2"], [-5, 7, -2], {}),
            (["\u22125.5", "3", "+2e\u22121"], [-5.5, 3, 0.2], {}),
            (["\u22121'234", "12", "3"], [-1234, 12, 3], {"thousands": "'"}),
            (["(1,234.50)", "12", "(3)"], [-1234.5, 12, -3], {"thousands": ","}),
            (["(12 %)", "3 %", "(0.5%)"], [-0.12, 0.03, -0.005], {"percent": True}),
            (["12 %", "3.5%", "100%"], [0.12, 0.035, 1.0], {"percent": True}),
            (["12,5 %", "3,5%", " 100 % "], [0.125, 0.035, 1.0], {"decimal": ",", "percent": True}),
        ],
    )
    def test_writings(self, ingested, values, texts, expected, reading):
        table = ingested(texts)
        assert table.features[0].kind == "numeric"
        assert table.features[0].column.reading.to_json() == reading
        assert values() == pytest.approx(expected)

    @pytest.mark.parametrize(
        "texts",
        [
            ["12 %", "3", "4"],
            ["1,2,3", "4,5,6", "7"],
            ["12.34.56", "1", "2"],
            ["1e", "2", "3"],
            ["01", "2", "3"],
            ["-01", "2", "3"],
            ["+01", "2", "3"],
            ["00.5", "2", "3"],
        ],
    )
    def test_not_numbers(self, ingested, texts):
        assert ingested(texts).features[0].kind == "categorical"

    @pytest.mark.parametrize("nulls", [None, ["", "-"]])
    def test_nan_is_missing_only_if_it_is_among_the_missing_texts(self, ingested, nulls):
        feature = ingested(["1.5", "nan", "2"], nulls=nulls).features[0]
        assert (feature.kind, feature.missing) == (("numeric", 1) if nulls is None else ("categorical", 0))

    @pytest.mark.parametrize("other", ["3 %", "(3)", "\u22123", "3"])
    @pytest.mark.parametrize("delimiter", [",", ";"])
    def test_numbers_without_a_decimal_mark_say_nothing_about_other_columns(self, ingested, values, other, delimiter):
        comma = ["0,5", "1,25", "3,5"] if delimiter == ";" else ['"0,5"', '"1,25"', '"3,5"']
        others = [other, other.replace("3", "4"), "7 %" if "%" in other else "7"]
        rows = [delimiter.join(cells) for cells in zip(["1.234", "5.678", "9.012"], others, comma, "010", strict=True)]
        content = "\n".join([delimiter.join("abcy"), *rows]).encode()
        assert "ambiguous_numbers" in codes(ingested(content=content, delimiter=delimiter))
        assert values() == [1234, 5678, 9012]

    def test_numbers_that_are_all_in_parentheses_are_text_unless_requested(self, ingested, values):
        years = ["(1980)", "(1981)", "(1980)"] * 5
        table = ingested(years)
        assert (table.features[0].kind, codes(table)[0]) == ("categorical", "numbers_in_parentheses")
        assert ingested(years, types={"c0": "numeric"}).features[0].kind == "numeric"
        assert values()[:2] == [-1980, -1981]
        assert ingested(years, dates="(%Y)").features[0].kind == "datetime"

    def test_marks_that_are_named_are_the_only_ones(self, ingested, values):
        ingested(["1.234", "5.678", "9.012"], decimal=",", thousands=".")
        assert values() == [1234, 5678, 9012]
        ingested(["1.234", "5.678", "9.012"])
        assert values() == pytest.approx([1.234, 5.678, 9.012])
        assert ingested(["1,5", "2,5", "3"], decimal=".").features[0].kind == "categorical"

    def test_three_digits_after_a_mark_follow_the_other_columns(self, ingested, values):
        german = ["1.234,5", "2,5", "3"]
        table = ingested(["1,234", "5,678", "9,012"], german, ["1.234", "5.678", "9.012"])
        assert codes(table).count("ambiguous_numbers") == 2
        assert values(0) == pytest.approx([1.234, 5.678, 9.012])
        assert values(2) == [1234, 5678, 9012]

    @pytest.mark.parametrize(("delimiter", "expected"), [(";", 1.234), ("|", 1234)])
    def test_three_digits_after_a_comma_follow_the_delimiter(self, ingested, values, delimiter, expected):
        content = "a;y\n1,234;0\n5,678;1\n".replace(";", delimiter).encode()
        table = ingested(content=content, delimiter=delimiter)
        assert codes(table)[0] == "ambiguous_numbers"
        assert values()[0] == expected

    def test_booleans_are_not_numbers_in_any_file(self, ingested):
        with pytest.raises(NotNumeric, match="'true'"):
            ingested(["true", "false"], types={"c0": "numeric"})
        content = parquet(c0=[True, False], y=[0, 1])
        with pytest.raises(NotNumeric, match="declares booleans"):
            ingested(content=content, types={"c0": "numeric"}, delimiter=None)

    def test_a_column_without_values_is_what_is_requested(self, ingested):
        columns = [["", ""], ["", ""], ["1", "2"]]
        table = ingested(*columns, types={"c0": "categorical", "c1": "numeric"})
        assert [feature.kind for feature in table.features] == ["categorical", "numeric", "numeric"]
        assert table.features[0].categories == []

    def test_in_a_typed_file(self, ingested):
        content = parquet(a=["46,885.95", "1,200", None], y=[0, 1, 1])
        assert ingested(content=content, delimiter=None).features[0].max == 46885.95


class TestDates:
    def test_form_for_all_columns_leaves_others_to_detection(self, ingested):
        table = ingested(
            ["01/02/2024", "03/04/2024"], ["2024-12-31", "2024-01-02"], ["31.12.2024", "01.02.2024"], dates="%d/%m/%Y"
        )
        assert [feature.kind for feature in table.features] == ["datetime"] * 3
        assert table.features[0].column.reading.dates == "%d/%m/%Y"
        assert not {"ambiguous_dates", "nearly_datetime"} & set(codes(table))

    @pytest.mark.parametrize(
        ("texts", "expected", "form"),
        [
            (["2024-12-31", "2024-01-02"], "2024-12-31", None),
            (["2024-12-31T10:30:00", "2024-01-02 00:00"], "2024-12-31T10:30:00Z", None),
            (["2024-12-31T10:30:00+02:00", "2024-01-02T00:00:00Z"], "2024-12-31T08:30:00Z", None),
            (["31.12.2024", "01.02.2024"], "2024-12-31", "%d.%m.%Y"),
            (["01.12.2024", "01.02.2024"], "2024-12-01", "%d.%m.%Y"),
            (["12/31/2024", "01/02/2024"], "2024-12-31", "%m/%d/%Y"),
            (["31/12/2024 23:05", "01/02/2024 00:00"], "2024-12-31T23:05:00Z", "%d/%m/%Y %H:%M"),
            (["31/12/24", "01/02/24"], "2024-12-31", "%d/%m/%y"),
            (["2024/12/31", "2024/01/02"], "2024-12-31", "%Y/%m/%d"),
            (["31 Dec 2024", "1 Feb 2024"], "2024-12-31", "%d %b %Y"),
            (["December 31, 2024", "February 1, 2024"], "2024-12-31", "%B %d, %Y"),
            (["12/31/2024 11:05 PM", "01/02/2024 1:00 AM"], "2024-12-31T23:05:00Z", "%m/%d/%Y %I:%M %p"),
        ],
    )
    def test_writings(self, ingested, texts, expected, form):
        feature = ingested(texts).features[0]
        assert (feature.kind, feature.as_json()["max"]) == ("datetime", expected)
        assert feature.column.reading.dates == form

    def test_in_a_year_that_utc_moves_out_of_the_calendar(self, ingested):
        feature = ingested(["0001-01-01T00:00:00+05:00", "9999-12-31T23:00:00-05:00"]).features[0].as_json()
        assert (feature["min"], feature["max"]) == ("0000-12-31T19:00:00Z", "10000-01-01T04:00:00Z")

    def test_an_order_that_nothing_decides_is_left_to_the_user(self, ingested):
        table = ingested(["01/02/2024", "03/04/2024"])
        assert table.features[0].kind == "categorical"
        warning = table.warnings[0]
        assert (warning.column, warning.code) == ("c0", "ambiguous_dates")
        assert "`dates`" in warning.detail
        assert ingested(["01/02/2024", "03/04/2024"], dates="%d/%m/%Y").features[0].as_json()["max"] == "2024-04-03"
        assert (
            ingested(["01/02/2024", "03/04/2024"], dates={"c0": "%m/%d/%Y"}).features[0].as_json()["max"]
            == "2024-03-04"
        )

    def test_an_order_that_another_column_decides(self, ingested):
        table = ingested(["01/02/2024", "03/04/2024"], ["31/12/2024", "01/02/2024"])
        assert [feature.as_json()["max"] for feature in table.features] == ["2024-04-03", "2024-12-31"]
        assert table.warnings[0].code == "ambiguous_dates"

    def test_mixed_orders_name_a_row_of_each(self, ingested):
        table = ingested(["31/12/2024", "01/02/2024", "12/31/2024", "03/04/2024"])
        assert table.features[0].kind == "categorical"
        warning = table.warnings[0]
        assert (warning.code, sorted(warning.rows)) == ("mixed_dates", [0, 2])
        assert "row 2 (line 4)" in warning.detail

    def test_arrow_dates_and_timestamps(self, ingested, values):
        day, zone = datetime.date(2024, 2, 29), datetime.timezone(datetime.timedelta(hours=2))
        moments = pa.array([datetime.datetime(2024, 2, 29, 2, tzinfo=zone), None], pa.timestamp("ms", "+02:00"))
        content = parquet(a=[day, datetime.date(1960, 1, 1)], b=moments, y=[0, 1])
        table = ingested(content=content, delimiter=None, types={"b": "datetime"})
        assert [feature.kind for feature in table.features] == ["datetime", "datetime"]
        assert values(0) == [1709164800, -315619200]
        assert values(1)[0] == 1709164800

    def test_requested(self, ingested):
        with pytest.raises(NotDatetime) as caught:
            ingested(["2024-01-01", "soon"], types={"c0": "datetime"})
        assert caught.value.errors[0].pointer == "/types/c0"
        assert "row 1 (line 3) contains 'soon'" in caught.value.detail
        with pytest.raises(NotDatetime) as caught:
            ingested(["31.12.2024", "2024"], dates={"c0": "%d.%m.%Y"})
        assert caught.value.errors[0].pointer == "/dates/c0"
        assert ingested(["31.12.2024", "1.2.2024"], types={"c0": "datetime"}).features[0].kind == "datetime"
        assert ingested(["31.12.2024", "1.2.2024"], types={"c0": "categorical"}).features[0].kind == "categorical"


def poisoned(value, n_rows, poison):
    """Return texts of which all but one in the last rows are `value(row)`."""
    return [poison if row == n_rows - 3 else value(row) for row in range(n_rows)]


POISONED = {
    "plain numbers": (lambda row: str(row * 37 % 1009), "abc", "nearly_numeric"),
    "fractions": (lambda row: f"{row}.25", "1.2.3", "nearly_numeric"),
    "a code among numbers": (lambda row: str(row * 37 % 1009), "007", "nearly_numeric"),
    "thousands": (lambda row: f"{row * 7919:,}.5", "12.5 kg", "nearly_numeric"),
    "decimal commas": (lambda row: f"{row},5", "-", "nearly_numeric"),
    "percent": (lambda row: f"{row % 100}%", "50", "nearly_numeric"),
    "dates": (lambda row: f"2024-01-{row % 28 + 1:02}", "2024-02-30", "nearly_datetime"),
    "local dates": (lambda row: f"{row % 28 + 1:02}.02.2024", "30.02.2024", "nearly_datetime"),
}  # fmt: skip


class TestOnePoisonedValue:
    @pytest.mark.parametrize(("value", "poison", "code"), POISONED.values(), ids=POISONED)
    def test_is_named_and_nothing_is_lost(self, ingested, value, poison, code):
        n_rows = 150_000
        table = ingested(poisoned(value, n_rows, poison), [str(row % 1000) for row in range(n_rows)])
        (warning,) = (each for each in table.warnings if each.code == code)
        assert list(warning.rows) == [n_rows - 3]
        assert f"row {n_rows - 3} (line {n_rows - 1}) has {poison!r}" in warning.detail
        assert table.n_rows == n_rows
        feature = table.features[0]
        assert feature.kind == "categorical" or (feature.kind, feature.reason) == ("ignored", "unread")

    def test_is_the_error_where_numbers_are_requested(self, ingested):
        with pytest.raises(NotNumeric) as caught:
            ingested(poisoned(lambda row: f"{row},5", 150_000, "-"), types={"c0": "numeric"})
        assert "row 149997 (line 149999) contains '-'" in caught.value.detail

    def test_is_missing_where_it_is_named_so(self, ingested):
        feature = ingested(poisoned(str, 1_000, "-"), ["a", "b"] * 500, nulls=("", "-")).features[0]
        assert (feature.kind, feature.missing) == ("numeric", 1)

    def test_in_booleans_it_is_a_category(self, ingested):
        feature = ingested(poisoned(lambda row: "true", 1_000, "maybe")).features[0]
        assert feature.categories == ["maybe", "true"]


class TestLines:
    def test_blank_lines_and_line_ends_in_quotes_count(self, ingested):
        content = b'a;b;y\n"x\nx";1;0\n\n"u";2;1\nv;oops;0\n' + b"u;3;1\nv;4;0\n" * 9
        warning = ingested(content=content).warnings[0]
        assert warning.code == "nearly_numeric"
        assert list(warning.rows) == [2]
        assert "row 2 (line 6) has 'oops'" in warning.detail
