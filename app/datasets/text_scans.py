"""Readings of a column of text that its values still allow, while the file is scanned."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from app.datasets.column_types import ValueType
from app.datasets.upload_warnings import MAX_ROWS
from core import TextReading
from core.service_api import clean_texts, parse_datetimes, parse_numbers

#: A reading is given up once so much of the values seen does not have its form; then the column is text.
_GIVEN_UP_SHARE = 0.5
#: Values of the first batch that a reading is tried on, before it is tried on all.
_SAMPLE_SIZE = 200
#: Distinct texts that a column of numbers or dates may have beside them and still be called one.
MAX_ODD_TEXTS = 3

Cell = tuple[int, str]


@dataclass
class ReadingScan:
    """One reading of a column: how many values it cannot read, and the first of them.

    odd_texts: distinct texts that it cannot read, as long as they are few. n_codes: values among them that are digits
    with a leading zero.
    """

    reading: TextReading
    n_invalid: int = 0
    n_codes: int = 0
    odd_texts: set[str] = field(default_factory=set)
    invalid: list[Cell] = field(default_factory=list)

    @property
    def cannot_read_codes(self) -> bool:
        """Whether all that it cannot read are digits with a leading zero."""
        return 0 < self.n_codes == self.n_invalid


@dataclass
class Family:
    """Readings of one type of value. n_unreadable: values that none of them can read."""

    values: ValueType
    scans: list[ReadingScan]
    n_unreadable: int = 0

    @property
    def complete(self) -> list[ReadingScan]:
        """Readings that read every value so far."""
        return [scan for scan in self.scans if scan.n_invalid == 0]

    def invalid(self, texts: pa.Array, reading: TextReading) -> NDArray[np.bool_]:
        """Return which texts the reading cannot read. texts: without nulls."""
        parse = parse_datetimes if self.values is ValueType.DATETIME else parse_numbers
        invalid: NDArray[np.bool_] = parse(texts, reading).invalid.to_numpy(zero_copy_only=False)
        return invalid

    def give_up(self, limit: float, n_invalid: Sequence[int], n_unreadable: int) -> None:
        """Drop readings that fail for more values than `limit`.

        Forms of dates that exclude each other stay as long as all of them together do, to say that they are mixed.
        """
        if self.values is ValueType.DATETIME and len(self.scans) > 1 and n_unreadable <= limit:
            return
        self.scans = [scan for scan, n in zip(self.scans, n_invalid, strict=True) if n <= limit]


class TextScan:
    """Scan of one column of text against families of readings.

    gives_up: whether readings are given up that fail for many values; otherwise all are kept, to say what they cannot
    read. preferred_dates: form of dates that is chosen if it is among those that read every value. dates_are_given:
    whether the upload names the form of dates of this column. first_cells: the first cells that have a mark, or other
    signs than digits. in_parentheses: whether all values begin with a parenthesis, and the upload does not
    declare the column as numeric.
    """

    def __init__(
        self,
        families: Sequence[Family],
        nulls: Sequence[str],
        gives_up: bool = True,
        preferred_dates: str | None = None,
        dates_are_given: bool = False,
    ) -> None:
        self._gives_up = gives_up
        self.preferred_dates = preferred_dates
        self.dates_are_given = dates_are_given
        self.families = list(families)
        self.n_present = 0
        self.first_cells: list[Cell] = []
        self.in_parentheses = gives_up
        self._lengths: set[int] = set()
        self._all_digits = True
        self._nulls = nulls

    @property
    def open(self) -> bool:
        """Whether some reading is still possible."""
        return bool(self.families)

    @property
    def has_codes(self) -> bool:
        """Whether the values are codes of one length, such as postal codes, of which some begin with a zero."""
        readings = (each for family in self.families for each in family.scans)
        return self._all_digits and len(self._lengths) == 1 and any(each.cannot_read_codes for each in readings)

    def add(self, texts: pa.Array, first_row: int) -> None:
        """Add a batch. first_row: 0-based number of its first row."""
        cleaned = clean_texts(texts, self._nulls)
        counts = pc.value_counts(cleaned.drop_null())
        values, n_rows = counts.field(0), counts.field(1).to_numpy()
        if not len(values):
            return
        if self.n_present == 0 and self._gives_up:
            self._try_on(values[:_SAMPLE_SIZE])
        self.n_present += int(n_rows.sum())
        self.in_parentheses = self.in_parentheses and bool(pc.all(pc.starts_with(values, "(")).as_py())
        self._all_digits = self._all_digits and bool(pc.all(pc.match_substring_regex(values, r"^\d+$")).as_py())
        if self._all_digits:
            self._lengths.update(pc.unique(pc.utf8_length(values)).to_pylist())
        batch = _Batch(cleaned, values, n_rows, first_row)
        if self.families and len(self.first_cells) < MAX_ROWS:
            has_mark = pc.match_substring_regex(values, r"[^-+\x{2212}\d]").to_numpy(zero_copy_only=False)
            self.first_cells += batch.first(has_mark, MAX_ROWS - len(self.first_cells))
        for family in self.families:
            _note(family, batch)
        if self._gives_up:
            self._give_up()

    def _try_on(self, sample: pa.Array) -> None:
        """Keep the readings that can read at least half of the sample."""
        for family in self.families:
            masks = [family.invalid(sample, scan.reading) for scan in family.scans]
            unreadable = int(np.logical_and.reduce(masks).sum())
            family.give_up(_GIVEN_UP_SHARE * len(sample), [int(mask.sum()) for mask in masks], unreadable)
        self.families = [family for family in self.families if family.scans]

    def _give_up(self) -> None:
        limit = _GIVEN_UP_SHARE * self.n_present
        for family in self.families:
            family.give_up(limit, [scan.n_invalid for scan in family.scans], family.n_unreadable)
        self.families = [family for family in self.families if family.scans]


@dataclass(frozen=True)
class _Batch:
    """Cells of a batch, their distinct values, and the number of rows of each value."""

    cells: pa.Array
    values: pa.Array
    n_rows: NDArray[Any]
    first_row: int

    @cached_property
    def is_code(self) -> NDArray[np.bool_]:
        """Whether each value is digits with a leading zero."""
        found: NDArray[np.bool_] = pc.match_substring_regex(self.values, r"^0\d+$").to_numpy(zero_copy_only=False)
        return found

    def first(self, invalid: NDArray[np.bool_], limit: int) -> list[Cell]:
        """Return the first cells with invalid values."""
        is_invalid = pc.is_in(self.cells, self.values.filter(pa.array(invalid)))
        rows = np.flatnonzero(pc.fill_null(is_invalid, False).to_numpy(zero_copy_only=False))[:limit]
        return [(self.first_row + int(row), self.cells[int(row)].as_py()) for row in rows]


def _note(family: Family, batch: _Batch) -> None:
    unreadable = np.ones(len(batch.values), np.bool_)
    for scan in family.scans:
        invalid = family.invalid(batch.values, scan.reading)
        unreadable &= invalid
        n_invalid = int(batch.n_rows[invalid].sum())
        if n_invalid and len(scan.invalid) < MAX_ROWS:
            scan.invalid += batch.first(invalid, MAX_ROWS - len(scan.invalid))
        if n_invalid and len(scan.odd_texts) <= MAX_ODD_TEXTS:
            odd = batch.values.filter(pa.array(invalid))
            scan.odd_texts.update(odd[: 2 * MAX_ODD_TEXTS + 1].to_pylist())
        scan.n_invalid += n_invalid
        scan.n_codes += int(batch.n_rows[invalid & batch.is_code].sum())
    family.n_unreadable += int(batch.n_rows[unreadable].sum())
