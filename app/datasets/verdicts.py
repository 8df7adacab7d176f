"""Verdict on a column of text after its scan: numbers, dates or text, and what its user should know."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from app.datasets.column_types import ValueType
from app.datasets.text_scans import MAX_ODD_TEXTS, Cell, Family, ReadingScan, TextScan
from app.datasets.upload_warnings import Place, UploadWarning, listed_cells
from core import TextReading
from core.service_api import parse_numbers

#: A column of text gets a warning if so many of its values could be read.
NEARLY_SHARE = 0.9


@dataclass(frozen=True)
class Verdict:
    """Type and reading of a column; None for text. warning: what the user should check, if anything."""

    values: ValueType | None = None
    reading: TextReading | None = None
    warning: UploadWarning | None = None


@dataclass(frozen=True)
class Conventions:
    """How the columns of the file that leave no doubt are written.

    decimal: None if there is no such column, or if they differ. default_decimal: mark to take then.
    """

    decimal: str | None
    default_decimal: str
    dates: frozenset[str]

    @classmethod
    def of_columns(cls, scans: Iterable[TextScan], delimiter: str | None) -> Self:
        """Return the conventions. delimiter: a semicolon is used where a comma is the decimal mark."""
        certain = [found[0] for scan in scans if len(found := candidates(scan)) == 1]
        decimals = {scan.reading.decimal for family, scan in certain if _shows_decimal(family, scan)}
        dates = {scan.reading.dates for _, scan in certain if scan.reading.dates is not None}
        return cls(
            decimal=decimals.pop() if len(decimals) == 1 else None,
            default_decimal="," if delimiter == ";" else ".",
            dates=frozenset(dates),
        )


def _shows_decimal(family: Family, scan: ReadingScan) -> bool:
    """Return whether a column of numbers, read as in `scan`, has marks of which one must be the decimal mark."""
    marks = {each.reading.decimal for each in family.complete}
    return family.values is ValueType.REAL and len(marks) == 1 and scan.reading.thousands not in (" ", "'")


def candidates(scan: TextScan) -> list[tuple[Family, ReadingScan]]:
    """Return the readings that read every value and differ in their values."""
    found: list[tuple[Family, ReadingScan]] = []
    for family in scan.families:
        complete = family.complete
        bare = {each.reading.decimal for each in complete if not each.reading.thousands}
        preferred = [each for each in complete if scan.preferred_dates and each.reading.dates == scan.preferred_dates]
        if preferred:
            return [(family, preferred[0])]
        # A thousands mark that never occurs changes nothing.
        found += [(family, each) for each in complete if not each.reading.thousands or each.reading.decimal not in bare]
    if len({each.reading.thousands for _, each in found}) == 1 and not found[0][1].reading.dates:
        # Without a decimal mark in any value, both marks read the same numbers.
        return found[:1]
    return found


def judge(name: str, scan: TextScan, conventions: Conventions, place: Place) -> Verdict:
    """Return the verdict on a column whose scan has ended."""
    found = candidates(scan)
    if found and found[0][0].values is ValueType.REAL and scan.in_parentheses:
        return Verdict(warning=_parentheses(name, scan, place))
    if len(found) == 1:
        family, complete = found[0]
        return Verdict(family.values, complete.reading, _two_digit_years(name, complete.reading, scan, place))
    if found and found[0][0].values is ValueType.DATETIME:
        return _ambiguous_dates(name, [each.reading for _, each in found], conventions, scan, place)
    if found:
        return _ambiguous_numbers(name, [each.reading for _, each in found], conventions, scan, place)
    return _text(name, scan, place)


def _parentheses(name: str, scan: TextScan, place: Place) -> UploadWarning:
    detail = (
        f"all numbers of column {name!r} are in parentheses: {listed_cells(scan.first_cells, place)}; the column is "
        "read as text. Send `types` with the column as numeric if they are negative numbers, as in accounts"
    )
    return UploadWarning(name, "numbers_in_parentheses", detail, [row for row, _ in scan.first_cells])


def _two_digit_years(name: str, reading: TextReading, scan: TextScan, place: Place) -> UploadWarning | None:
    if "%y" not in (reading.dates or "") or scan.dates_are_given or reading.dates == scan.preferred_dates:
        return None
    detail = (
        f"the years of column {name!r} have two digits: {listed_cells(scan.first_cells, place)}; 69 to 99 are read as "
        "1969 to 1999, and 00 to 68 as 2000 to 2068. Write years with four digits if any of them is wrong"
    )
    return UploadWarning(name, "two_digit_years", detail, [row for row, _ in scan.first_cells])


def _ambiguous_numbers(
    name: str, readings: Sequence[TextReading], conventions: Conventions, scan: TextScan, place: Place
) -> Verdict:
    decimal = conventions.decimal or conventions.default_decimal
    chosen = next((reading for reading in readings if reading.decimal == decimal), readings[0])
    mark = "decimal mark" if not chosen.thousands else "thousands mark"
    shown = chosen.thousands or chosen.decimal
    detail = (
        f"in column {name!r}, {shown!r} only occurs before three digits at the end and may be a decimal or a thousands "
        f"mark: {listed_cells(scan.first_cells, place)}; it is read as a {mark}. Send `decimal` to say which it is"
    )
    rows = [row for row, _ in scan.first_cells]
    return Verdict(ValueType.REAL, chosen, UploadWarning(name, "ambiguous_numbers", detail, rows))


def _ambiguous_dates(
    name: str, readings: Sequence[TextReading], conventions: Conventions, scan: TextScan, place: Place
) -> Verdict:
    rows = [row for row, _ in scan.first_cells]
    forms = [reading.dates or "" for reading in readings]
    known = [reading for reading in readings if reading.dates in conventions.dates]
    choices = " or ".join(repr(form) for form in forms)
    opening = (
        f"the dates of column {name!r} can be read as {choices}, because no day is above 12: "
        f"{listed_cells(scan.first_cells, place)}"
    )
    if len(known) == 1:
        detail = f"{opening}; they are read as {known[0].dates!r}, as other columns are. Send `dates` to change that"
        return Verdict(ValueType.DATETIME, known[0], UploadWarning(name, "ambiguous_dates", detail, rows))
    detail = f"{opening}; the column is read as text. Send `dates` with the form that is meant"
    return Verdict(warning=UploadWarning(name, "ambiguous_dates", detail, rows))


def _text(name: str, scan: TextScan, place: Place) -> Verdict:
    for family in scan.families:
        if family.values is ValueType.DATETIME and len(family.scans) > 1 and family.n_unreadable == 0:
            return _mixed_dates(name, family.scans, place)
    if not scan.families:
        return Verdict()
    family, best = best_of(scan)
    if best.n_invalid > (1 - NEARLY_SHARE) * scan.n_present or scan.has_codes:
        return Verdict()
    return Verdict(warning=nearly(name, family, best, scan.n_present, place))


def best_of(scan: TextScan) -> tuple[Family, ReadingScan]:
    """Return the reading that can read the most values, of a scan that has one."""
    pairs = ((family, each) for family in scan.families for each in family.scans)
    return min(pairs, key=lambda pair: pair[1].n_invalid)


def _mixed_dates(name: str, scans: Sequence[ReadingScan], place: Place) -> Verdict:
    scans = sorted(scans, key=lambda each: each.invalid[0][0])
    cells = [each.invalid[0] for each in scans]
    shown = " and ".join(
        f"{place(row)} ({value[:80]!r}) not as {each.reading.dates!r}"
        for each, (row, value) in zip(scans, cells, strict=True)
    )
    detail = (
        f"the dates of column {name!r} mix orders: {shown}; the column is read as text. Write all dates in one order, "
        "best as 2024-12-31"
    )
    return Verdict(warning=UploadWarning(name, "mixed_dates", detail, [row for row, _ in cells]))


def nearly(name: str, family: Family, best: ReadingScan, n_present: int, place: Place) -> UploadWarning:
    """Return the warning about a column of which some values are not numbers or dates."""
    is_date = family.values is ValueType.DATETIME
    noun, kind = ("dates", "datetime") if is_date else ("numbers", "numeric")
    if best.reading.percent:
        noun = "numbers with a percent sign"
    cells = listed_cells(best.invalid, place)
    detail = (
        f"all but {best.n_invalid:,} of {n_present:,} values of column {name!r} are {noun}, but {cells}; the column is "
        f"read as text. {_way_out(best)}"
    )
    return UploadWarning(name, f"nearly_{kind}", detail, [row for row, _ in best.invalid])


def _way_out(best: ReadingScan) -> str:
    bare = replace(best.reading, percent=False)
    value = best.invalid[0][1]
    if best.reading.percent and not parse_numbers(pa.array([value]), bare).invalid[0].as_py():
        return f"Write the percent sign there too ({value[:80]} %), or nowhere"
    if best.cannot_read_codes:
        return "Correct the values, or send `types` with the column as categorical if all values are codes"
    if len(best.odd_texts) > MAX_ODD_TEXTS:
        return 'Correct the values, or list texts that mean "missing" in `nulls`'
    texts = ", ".join(repr(text[:80]) for text in sorted(best.odd_texts))
    return f'Correct the values, or list {texts} in `nulls` if they mean "missing"'


def first_unreadable(scan: TextScan) -> Cell:
    """Return the first cell that the reading of the most values cannot read, in a scan in which none reads all."""
    return min((each for family in scan.families for each in family.scans), key=lambda each: each.n_invalid).invalid[0]
