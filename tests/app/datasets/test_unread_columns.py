"""Columns that look like numbers or dates but are read as text: what uploads say about them."""

import pytest

from app.datasets.errors import NoFeatures, NotDatetime
from app.datasets.formats import PlainFile
from app.datasets.ingestion import ingest
from app.datasets.options import ReadingOptions, UploadOptions
from app.settings import Limits

N = 60


@pytest.fixture
def ingested(tmp_path):
    """Return a function that ingests the column `c` beside the numbers `x` and the labels `y`."""

    def make(cells, delimiter=";", beside=True, **reading):
        rows = [[cell, str(row * 7 % 13), str(row * 37 % 101 % 2)] for row, cell in enumerate(cells)]
        header, chosen = ["c", "x", "y"], [0, 1, 2] if beside else [0, 2]
        lines = [delimiter.join(row[column] for column in chosen) for row in [header, *rows]]
        (tmp_path / "source").write_text("\n".join([*lines, ""]))
        (tmp_path / "canonical").unlink(missing_ok=True)
        options = UploadOptions("y", "t", reading=ReadingOptions(delimiter=delimiter, **reading))
        return ingest(PlainFile(tmp_path / "source", "", 0), None, options, Limits(), tmp_path / "canonical")

    return make


def warning(table):
    """Return the only warning about `c`, beside the one that it is left out."""
    (found,) = (each for each in table.warnings if each.column == "c" and each.code != "ignored_column")
    return found


FRACTIONS = [f"{row * 3}.25" for row in range(N)]
DAYS = [f"{row % 28 + 1}/05/2024" for row in range(N)]

UNREAD = {
    "one odd text in many rows": (
        ["unknown" if row % 5 == 0 else cell for row, cell in enumerate(FRACTIONS)],
        ("nearly_numeric", [0, 5, 10, 15, 20], "list 'unknown' in `nulls`"),
    ),
    "half of the rows": (
        ["." if row % 2 else cell for row, cell in enumerate(FRACTIONS)],
        ("nearly_numeric", [1, 3, 5, 7, 9], "row 1 (line 3) has '.'"),
    ),
    "dates after an odd text": (
        ["-" if row % 4 == 0 else f"2024-01-{row % 28 + 1:02}" for row in range(N)],
        ("nearly_datetime", [0, 4, 8, 12, 16], "list '-' in `nulls`"),
    ),
    "both marks": (
        [cell if row % 2 else cell.replace(".", ",") for row, cell in enumerate(FRACTIONS)],
        ("mixed_numbers", [0, 2, 4, 6, 8], "row 0 (line 2) has '0,25'"),
    ),
    "a sign before": ([f"${cell}" for cell in FRACTIONS], ("currency", [0, 1, 2, 3, 4], "beside '$', row 0 (line 2)")),
    "a sign without marks": (
        [f"$ {row % 7}" for row in range(N)],
        ("currency", [], "are amounts: numbers beside '$'; the column is read as text"),
    ),
    "a placeholder of digits among dates": (
        ["0000000000" if row % 20 == 0 else f"{row % 28 + 1:02}.05.2024" for row in range(N)],
        ("nearly_datetime", list(range(0, N, 20))[:5], "'0000000000'"),
    ),
    "a placeholder of digits among fractions": (
        ["00000" if row % 20 == 0 else f"{10 + row % 7}.25" for row in range(N)],
        ("nearly_numeric", list(range(0, N, 20))[:5], "'00000'"),
    ),
    "a code of another length": (
        ["007" if row % 20 == 0 else str(row % 20) for row in range(N)],
        ("nearly_numeric", list(range(0, N, 20))[:5], "as categorical if all values are codes"),
    ),
    "a sign after": (
        [f"{cell.replace('.', ',')} €" for cell in FRACTIONS],
        ("currency", [0, 1, 2, 3, 4], "Write the numbers without '€'"),
    ),
    "percentages and one number": (
        [*(f"{row} %" for row in range(N - 1)), "7"],
        ("nearly_numeric", [N - 1], "Write the percent sign there too (7 %)"),
    ),
    "one date in the other order": (
        [*DAYS[:-1], "05/28/2024"],
        ("mixed_dates", [12, N - 1], f"row {N - 1} (line {N + 1}) ('05/28/2024') not as '%d/%m/%Y'"),
    ),
}


@pytest.mark.parametrize(("cells", "expected"), UNREAD.values(), ids=UNREAD)
def test_columns_that_look_like_numbers_or_dates(ingested, cells, expected):
    code, rows, detail = expected
    found = warning(ingested(cells))
    assert (found.code, list(found.rows)) == (code, rows)
    assert detail in found.detail


@pytest.mark.parametrize(
    ("cells", "reading", "detail"),
    [
        (FRACTIONS, {"decimal": ","}, "which `decimal` ',' of the upload excludes: row 0 (line 2) has '0.25'"),
        (
            DAYS,
            {"dates": "%m/%d/%Y"},
            "which `dates` '%m/%d/%Y' of the upload excludes: row 0 (line 2) has '1/05/2024'",
        ),
    ],
)
def test_settings_that_exclude_what_the_column_has(ingested, cells, reading, detail):
    found = warning(ingested(cells, **reading))
    assert (found.code, list(found.rows)) == ("excluded_by_reading", [0, 1, 2, 3, 4])
    assert detail in found.detail
    assert not [each for each in ingested(cells).warnings if each.column == "c"]


@pytest.mark.parametrize(
    "cells",
    [
        [["1", "2", "3", "unknown"][row % 4] for row in range(N)],
        [f"city-{row % 7}" for row in range(N)],
        [f"{row:05}" for row in range(N)],
        ["01067" if row % 20 == 0 else str(10_000 + row % 40 * 7) for row in range(N)],
        [f"{row % 3}.{row % 4}.{row % 5}" for row in range(N)],
        [["$", "$$", "$$$"][row % 3] for row in range(N)],
    ],
)
def test_codes_are_no_numbers(ingested, cells):
    assert {each.code for each in ingested(cells).warnings} <= {"ignored_column"}


def test_years_of_two_digits(ingested):
    found = warning(ingested([f"{row % 28 + 1:02}.11.68" for row in range(N)]))
    assert (found.code, list(found.rows)) == ("two_digit_years", [0, 1, 2, 3, 4])
    assert "row 0 (line 2) has '01.11.68'" in found.detail
    chosen = ingested([f"{row % 28 + 1:02}.11.68" for row in range(N)], dates={"c": "%d.%m.%y"})
    assert not chosen.warnings


@pytest.mark.parametrize(
    ("cells", "mean"), [(["1.234", "5.678"], 3.456), (["12", "500", "1,234"], (12 + 500 + 1.234) / 3)]
)
def test_a_mark_before_three_digits_is_shown(ingested, cells, mean):
    table = ingested(cells * 30)
    first = next(row for row, cell in enumerate(cells) if len(cell) == 5)
    assert (warning(table).code, warning(table).rows[0]) == ("ambiguous_numbers", first)
    assert f"row {first} (line {first + 2}) has {cells[first]!r}" in warning(table).detail
    assert table.features[0].mean == pytest.approx(mean)


def test_a_refused_table_keeps_the_warnings(ingested):
    with pytest.raises(NoFeatures) as caught:
        ingested([*(f"{row},5" for row in range(N - 1)), "n.n."], beside=False)
    assert "'c' (unread)" in caught.value.detail
    assert f"row {N - 1} (line {N + 1}) has 'n.n.'" in caught.value.detail


def test_a_form_that_does_not_fit_is_to_be_changed(ingested):
    with pytest.raises(NotDatetime) as caught:
        ingested(DAYS, dates={"c": "%d.%m.%Y"})
    assert "send the form that the column has instead of '%d.%m.%Y'" in caught.value.detail
    assert "categorical" not in caught.value.detail
