"""Detection of the types of columns from the whole file.

The first scan finds columns of plain numbers and booleans, as most are. Only columns that are neither are scanned
again, with the other forms of numbers and with dates; the scan ends as soon as all of them are known to be text.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from app.datasets.column_types import Column, ColumnKind, ValueType, as_text, declared_values, distinct_text
from app.datasets.errors import NotDatetime, NotNumeric, column_pointer
from app.datasets.options import ReadingOptions, UploadOptions
from app.datasets.plain_scans import PlainScan
from app.datasets.reading import TableReader
from app.datasets.text_families import families
from app.datasets.text_scans import TextScan
from app.datasets.unread_numbers import unread_warnings
from app.datasets.upload_warnings import UploadWarning
from app.datasets.verdicts import Conventions, Verdict, first_unreadable, judge
from core import TextReading

#: Kinds that a column of text is scanned for.
_READ_KINDS = (ColumnKind.NUMERIC, ColumnKind.DATETIME)
#: Number whose point may separate groups of three digits.
_MAY_BE_GROUPED = r"[+-]?\d{1,3}(?:\.\d{3})?"


@dataclass(frozen=True)
class DetectedColumns:
    """Columns by name, and what users should know about them.

    unread: columns read as text although most values look like numbers or dates.
    """

    columns: Mapping[str, Column]
    warnings: Sequence[UploadWarning]
    unread: Collection[str]


def detect_columns(reader: TableReader, names: Sequence[str], options: UploadOptions) -> DetectedColumns:
    """Return the type of each column: the requested one, otherwise the one that all of its values have.

    Raises:
        UnsupportedColumnType: the file declares lists or the like.
        NotNumeric, NotDatetime: a column is requested as numbers or dates, but a value is not one.
    """
    return _Detection(reader, names, options).run()


class _Detection:
    def __init__(self, reader: TableReader, names: Sequence[str], options: UploadOptions) -> None:
        self._reader, self._names, self._options = reader, names, options

    def run(self) -> DetectedColumns:
        declared = {name: self._declared(name) for name in self._names}
        plain = self._scan_plain([name for name in self._names if declared[name] is None])
        scans = self._scan_texts({name: scan.sample for name, scan in plain.items() if self._may_be_read(name, scan)})
        conventions = Conventions.of_columns(scans.values(), self._reader.delimiter)
        verdicts = {name: judge(name, scan, conventions, self._reader.place) for name, scan in scans.items()}
        verdicts |= self._verdicts_on_fractions(plain, conventions)
        self._require(scans, verdicts)
        verdicts |= self._second_look(verdicts)
        found = {name: declared[name] or self._plain_values(name, plain[name]) for name in self._names}
        columns = {name: self._column(name, found[name], verdicts.get(name)) for name in self._names}
        unread = [name for name, verdict in verdicts.items() if verdict.values is None and verdict.warning]
        return DetectedColumns(columns, [verdict.warning for verdict in verdicts.values() if verdict.warning], unread)

    def _verdicts_on_fractions(self, plain: Mapping[str, PlainScan], conventions: Conventions) -> dict[str, Verdict]:
        """Return the verdicts on fractions in a file that seems to have decimal commas, where 1.234 may be 1234."""
        decimal = conventions.decimal or conventions.default_decimal
        if decimal == "." or self._options.reading.decimal is not None:
            return {}
        suspects = {name: scan.sample for name, scan in plain.items() if self._may_be_grouped(name, scan)}
        suspects = {name: sample for name, sample in suspects.items() if re.fullmatch(_MAY_BE_GROUPED, sample)}
        # Only other columns that leave no doubt show that the point is a thousands mark.
        known = replace(conventions, default_decimal=".")
        scans = self._scan_texts(suspects)
        return {name: judge(name, scan, known, self._reader.place) for name, scan in scans.items()}

    def _second_look(self, verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
        """Return verdicts with a warning on columns of text that have none, but look like numbers or dates."""
        names = [
            name
            for name, verdict in verdicts.items()
            if verdict == Verdict() and self._options.requested(name) is None and name != self._options.target
        ]
        found = unread_warnings(self._reader, names, self._options.reading)
        return {warning.column: Verdict(warning=warning) for warning in found if warning.column is not None}

    def _declared(self, name: str) -> ValueType | None:
        """Return the type that the file or the request declares, or None if it has to be detected from text."""
        stored, requested = self._stored_values(name), self._options.requested(name)
        if stored is None or (stored is ValueType.TEXT and requested in _READ_KINDS):
            return None
        if requested in (None, ColumnKind.IGNORED, stored.kind):
            return stored
        if requested is ColumnKind.CATEGORICAL:
            return ValueType.TEXT
        found = "booleans" if stored is ValueType.BOOLEAN else f"{stored.kind} values"
        raise self._refusal(name, requested, f"the file declares {found}")

    def _stored_values(self, name: str) -> ValueType | None:
        """Return the type in the file. Numbers that are declared as categories are, and so are dates as labels."""
        stored_type = self._reader.schema.field(name).type
        values = declared_values(name, stored_type)
        if values is None or values.kind is ColumnKind.CATEGORICAL:
            return values
        is_label = name == self._options.target
        if values is ValueType.DATETIME:
            return ValueType.TEXT if is_label else values
        return ValueType.TEXT if pa.types.is_dictionary(stored_type) and not is_label else values

    def _scan_plain(self, names: Sequence[str]) -> dict[str, PlainScan]:
        scans = {name: PlainScan(self._may_be_plain(name), self._nulls(name)) for name in names}
        if scans:
            for batch in self._reader.batches(names):
                for scan, array in zip(scans.values(), batch.columns, strict=True):
                    scan.add(distinct_text(array))
        return scans

    def _nulls(self, name: str) -> tuple[str, ...]:
        return self._options.reading.of_column(name).missing_texts

    def _may_be_plain(self, name: str) -> bool:
        given = self._options.reading
        english = given.decimal in (None, ".") and given.thousands != "."
        requested = self._options.requested(name)
        return requested not in (ColumnKind.CATEGORICAL, ColumnKind.DATETIME) and (
            english or name == self._options.target or name in self._reader.fractions
        )

    def _plain_values(self, name: str, scan: PlainScan) -> ValueType:
        """Return the type that was found. A column without values is numeric unless it is requested as categorical."""
        is_numeric = scan.values.kind is ColumnKind.NUMERIC
        is_category = self._options.requested(name) is ColumnKind.CATEGORICAL
        return ValueType.TEXT if is_numeric and is_category else scan.values

    def _may_be_grouped(self, name: str, scan: PlainScan) -> bool:
        return scan.is_fractional and name not in self._reader.fractions

    def _may_be_read(self, name: str, scan: PlainScan) -> bool:
        requested = self._options.requested(name)
        if requested is ColumnKind.DATETIME:
            return True
        if requested is ColumnKind.NUMERIC:
            return scan.values.kind is not ColumnKind.NUMERIC
        return scan.values is ValueType.TEXT and requested is None and name != self._options.target

    def _scan_texts(self, samples: Mapping[str, str]) -> dict[str, TextScan]:
        scans = {name: self._text_scan(name, sample) for name, sample in samples.items()}
        first_row = 0
        for batch in self._reader.batches(list(scans)) if any(scan.open for scan in scans.values()) else ():
            for scan, array in zip(scans.values(), batch.columns, strict=True):
                if scan.open:
                    scan.add(as_text(array), first_row)
            first_row += batch.num_rows
            if not any(scan.open for scan in scans.values()):
                break
        return scans

    def _text_scan(self, name: str, sample: str) -> TextScan:
        requested = self._options.requested(name)
        tried = families(name, self._marks(name), requested, sample)
        dates = self._options.reading.dates
        preferred = dates if isinstance(dates, str) else None
        return TextScan(
            tried,
            self._nulls(name),
            gives_up=requested is None,
            preferred_dates=preferred,
            dates_are_given=name in self._options.reading.date_columns,
        )

    def _marks(self, name: str) -> ReadingOptions:
        """Return the options for a column, where a point in numbers of the file itself is no thousands mark."""
        given = self._options.reading.of_column(name)
        if name not in self._reader.fractions:
            return given
        is_local = given.decimal == "," or given.thousands == "."
        return replace(given, decimal=".", thousands="" if is_local else given.thousands)

    def _require(self, scans: Mapping[str, TextScan], verdicts: Mapping[str, Verdict]) -> None:
        """Raise the error of the first column that is not what the request says."""
        for name, verdict in verdicts.items():
            requested = self._options.requested(name)
            if requested is None or verdict.values is not None:
                continue
            if verdict.warning is not None and verdict.warning.code in ("ambiguous_dates", "mixed_dates"):
                raise NotDatetime.at(column_pointer("types", name), verdict.warning.detail)
            row, value = first_unreadable(scans[name])
            raise self._refusal(name, requested, f"{self._reader.place(row)} contains {value[:80]!r}")

    def _refusal(self, name: str, requested: ColumnKind, finding: str) -> NotNumeric | NotDatetime:
        pointer, source = column_pointer("types", name), "types"
        way_out = "correct the value, leave it empty if it is missing, or make the column categorical"
        if name == self._options.weight:
            pointer, source = "/weight", "weight"
            way_out = "correct the value, or name another column as `weight`, or none"
        elif name in self._options.reading.date_columns:
            pointer, source = column_pointer("dates", name), "dates"
            form = self._options.reading.date_columns[name]
            way_out = f"send the form that the column has instead of {form!r}, or correct the value"
        wanted = "numeric" if requested is ColumnKind.NUMERIC else "dates"
        detail = f"column {name!r} must be {wanted} according to {source}, but {finding}; {way_out}"
        error = NotNumeric if requested is ColumnKind.NUMERIC else NotDatetime
        return error.at(pointer, detail)

    def _column(self, name: str, values: ValueType, verdict: Verdict | None) -> Column:
        if verdict is None or verdict.values is None or verdict.reading is None:
            return Column(name, values, TextReading(nulls=self._nulls(name)))
        return Column(name, verdict.values, verdict.reading)
