"""Reader of CSV and TSV files in UTF-8."""

import codecs
import csv
import io
import re
from array import array
from collections.abc import Iterator, Sequence, Set
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Self

import pyarrow as pa
import pyarrow.csv as pa_csv

from app.datasets.errors import NoRows, UnreadableFile
from app.datasets.formats import sniff_delimiter
from app.datasets.read_errors import CSV_BLOCK_BYTES, explained_errors
from app.datasets.reading import column_names

_SEPARATOR_LINE = re.compile(r"sep=.", re.IGNORECASE)


class CsvReader:
    """Reader of a text file with a header line.

    delimiter: None to find it in the header. nulls: texts that mean "missing".
    """

    is_text = True
    fractions: Set[str] = frozenset()

    def __init__(self, path: Path, delimiter: str | None, nulls: Sequence[str]) -> None:
        self._path, self._nulls = path, list(nulls)
        with explained_errors():
            header, self.delimiter = _csv_header(path, delimiter)
            _require_closed_quotes(path, self.delimiter)
        self.schema = pa.schema([(name, pa.string()) for name in column_names(header)])

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with explained_errors():
            reader = pa_csv.open_csv(
                self._path,
                # With one thread, errors name their row.
                pa_csv.ReadOptions(
                    use_threads=False,
                    block_size=CSV_BLOCK_BYTES,
                    column_names=self.schema.names,
                    skip_rows_after_names=1,
                    skip_rows=_n_leading_blank_lines(self._path),
                ),
                pa_csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=not self._has_blank_rows
                ),
                pa_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=list(names),
                    null_values=self._nulls,
                    strings_can_be_null=True,
                ),
            )
            yield from reader

    @property
    def _has_blank_rows(self) -> bool:
        """Whether a blank line below the header is a row, whose only cell is empty. Without such rows, predictions
        would not belong to their rows.
        """
        return len(self.schema) == 1

    def without_nulls(self) -> Self:
        reader = copy(self)
        reader._nulls = []
        return reader

    def with_texts_cut(self, max_characters: int) -> Self:
        return self

    def place(self, row: int) -> str:
        return f"row {row} (line {self._first_lines[row]})"

    @cached_property
    def _first_lines(self) -> "array[int]":
        """Line in which each row begins, from 1; rows may contain line ends, and most blank lines are not rows."""
        csv.field_size_limit(CSV_BLOCK_BYTES)
        first_lines, last = array("I"), 0
        with explained_errors(), self._path.open(encoding="utf-8-sig", newline="") as text:
            lines = csv.reader(text, delimiter=self.delimiter)
            for record in lines:
                if record or (self._has_blank_rows and first_lines):
                    first_lines.append(last + 1)
                last = lines.line_num
        return first_lines[1:]


def _n_leading_blank_lines(path: Path) -> int:
    with path.open(encoding="utf-8-sig") as text:
        return next((number for number, line in enumerate(text) if line.strip("\n")), 0)


def _csv_header(path: Path, delimiter: str | None) -> tuple[list[str], str]:
    with path.open("rb") as source:
        block = source.read(CSV_BLOCK_BYTES)
        is_whole = not source.read(1)
    text = codecs.getincrementaldecoder("utf-8-sig")().decode(block, final=is_whole)
    first = next((line for line in io.StringIO(text, newline="") if line.strip()), "")
    if _SEPARATOR_LINE.fullmatch(first.strip()):
        detail = f"line 1 is {first.strip()!r}, which tells Excel the delimiter and is not a header; remove this line"
        raise UnreadableFile.at("/file", detail)
    mark = delimiter or sniff_delimiter(first)
    lines = io.StringIO(text, newline="")
    header = next((row for row in csv.reader(lines, delimiter=mark) if row), [])
    if not lines.read().strip("\r\n"):
        if is_whole:
            raise NoRows.at("/file", "the file has a header line but no rows; add rows")
        detail = f"the header has more than {CSV_BLOCK_BYTES} bytes; correct its line end or its quotes"
        raise UnreadableFile.at("/file", detail)
    return header, mark


def _require_closed_quotes(path: Path, delimiter: str) -> None:
    """Raise UnreadableFile if a quote is never closed, because all rows below it would silently be read as one text."""
    n_quotes = last_quote = offset = 0
    with path.open("rb") as source:
        while chunk := source.read(CSV_BLOCK_BYTES):
            if count := chunk.count(b'"'):
                n_quotes += count
                last_quote = offset + chunk.rindex(b'"')
            offset += len(chunk)
        # An odd number alone is not an error: a quote inside an unquoted field is text.
        if n_quotes % 2 and _opens_field(source, last_quote, delimiter):
            line = _line_at(source, last_quote)
            raise UnreadableFile.at("/file", f"the quote opened in line {line} is never closed; close or remove it")


def _opens_field(source: BinaryIO, position: int, delimiter: str) -> bool:
    source.seek(max(0, position - 1))
    return position == 0 or source.read(1) in (b"\n", b"\r", delimiter.encode())


def _line_at(source: BinaryIO, position: int) -> int:
    source.seek(0)
    line, left = 1, position
    while left:
        chunk = source.read(min(left, CSV_BLOCK_BYTES))
        line += chunk.count(b"\n")
        left -= len(chunk)
    return line
