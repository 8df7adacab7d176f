"""Readers of files as Arrow record batches, for any number of passes, with one batch in memory.

Cells of CSV files are read as text; `app.datasets.column_types` detects their types.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from app.datasets.errors import DuplicateColumn, InvalidColumnName, NoRows, NotUtf8, TooManyColumns, UnreadableFile
from app.datasets.formats import FileFormat, sniff_delimiter
from app.settings import MEBIBYTE, Limits
from core import MISSING_TEXTS

MAX_NAME_CHARACTERS = 500
_CELLS_PER_BATCH = 4_000_000
_CSV_BLOCK_BYTES = MEBIBYTE


class TableReader(Protocol):
    """Reader of one file. `schema` has all columns of the file.

    is_text: whether all columns are read as text, because the file has no types.
    """

    schema: pa.Schema
    is_text: bool

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, with these columns in this order."""
        ...


def open_table(path: Path, file_format: FileFormat, limits: Limits) -> TableReader:
    """Return a reader of the file, after its column names were checked.

    Raises:
        UnreadableFile, NotUtf8, NoRows, DuplicateColumn, InvalidColumnName, TooManyColumns.
    """
    reader: TableReader
    match file_format:
        case FileFormat.CSV | FileFormat.TSV:
            reader = _CsvReader(path, "\t" if file_format is FileFormat.TSV else None)
        case FileFormat.PARQUET:
            reader = _ParquetReader(path)
        case _:
            reader = _ArrowReader(path, file_format)
    _check_names(reader.schema.names, limits)
    return reader


def _check_names(names: list[str], limits: Limits) -> None:
    if len(names) > limits.max_columns:
        limit = f"the limit BRISTLECONE_MAX_COLUMNS is {limits.max_columns}"
        detail = f"the file has {len(names)} columns; {limit}: upload fewer columns, or raise the limit"
        raise TooManyColumns.at("/file", detail)
    for position, name in enumerate(names, 1):
        if not name or len(name) > MAX_NAME_CHARACTERS or "\0" in name:
            detail = (
                f"column {position} needs a name of 1 to {MAX_NAME_CHARACTERS} characters without NUL; "
                "name it in the header (a column of row numbers can then be left out with `exclude`)"
            )
            raise InvalidColumnName.at("/file", detail)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DuplicateColumn.at("/file", f"two columns have the name {name!r}; rename one of them")
        seen.add(name)


@contextmanager
def _explained_errors() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, csv.Error, UnicodeDecodeError) as error:
        raise _explained(error) from error


def _explained(error: Exception) -> NotUtf8 | UnreadableFile:
    message = str(error)
    row = re.search(r"Row #(\d+)", message)
    where = f" in line {row[1]}" if row else ""
    if isinstance(error, UnicodeDecodeError) or "UTF8" in message:
        return NotUtf8.at("/file", f"the text{where} is not valid UTF-8; save the file as UTF-8")
    fields = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if fields:
        detail = f"there are {fields[2]} fields{where} but {fields[1]} in the header; correct delimiter or quotes"
        return UnreadableFile.at("/file", detail)
    if "straddling" in message:
        detail = f"a row is longer than {_CSV_BLOCK_BYTES // 2} bytes or a quote is never closed; correct the quotes"
        return UnreadableFile.at("/file", detail)
    return UnreadableFile.at("/file", f"the file{where} is damaged or incomplete; write it again and upload all of it")


def rows_per_batch(n_columns: int) -> int:
    """Return the size of batches of a table with so many columns."""
    return max(1, min(65_536, _CELLS_PER_BATCH // max(1, n_columns)))


class _CsvReader:
    is_text = True

    def __init__(self, path: Path, delimiter: str | None) -> None:
        self._path = path
        with _explained_errors():
            header, self._delimiter = _csv_header(path, delimiter)
            _require_closed_quotes(path, self._delimiter)
        self._raw_names = {name.strip(): name for name in header}
        self.schema = pa.schema([(name.strip(), pa.string()) for name in header])

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        raw_names = [self._raw_names[name] for name in names]
        with _explained_errors():
            reader = pa_csv.open_csv(
                self._path,
                # With one thread, errors name their row.
                pa_csv.ReadOptions(use_threads=False, block_size=_CSV_BLOCK_BYTES),
                pa_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
                pa_csv.ConvertOptions(
                    column_types=dict.fromkeys(raw_names, pa.string()),
                    include_columns=raw_names,
                    null_values=list(MISSING_TEXTS),
                    strings_can_be_null=True,
                ),
            )
            for batch in reader:
                yield batch.rename_columns(list(names))


def _csv_header(path: Path, delimiter: str | None) -> tuple[list[str], str]:
    with path.open("rb") as source:
        block = source.read(_CSV_BLOCK_BYTES)
        is_whole = not source.read(1)
    text = codecs.getincrementaldecoder("utf-8-sig")().decode(block, final=is_whole)
    first = next((line for line in io.StringIO(text, newline="") if line.strip()), "")
    mark = delimiter or sniff_delimiter(first)
    lines = io.StringIO(text, newline="")
    header = next((row for row in csv.reader(lines, delimiter=mark) if row), [])
    if not lines.read().strip("\r\n"):
        if is_whole:
            raise NoRows.at("/file", "the file has a header line but no rows; add rows")
        detail = f"the header has more than {_CSV_BLOCK_BYTES} bytes; correct its line end or its quotes"
        raise UnreadableFile.at("/file", detail)
    return header, mark


def _require_closed_quotes(path: Path, delimiter: str) -> None:
    """Raise UnreadableFile if a quote is never closed, because all rows below it would silently be read as one text."""
    n_quotes = last_quote = offset = 0
    with path.open("rb") as source:
        while chunk := source.read(_CSV_BLOCK_BYTES):
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
        chunk = source.read(min(left, _CSV_BLOCK_BYTES))
        line += chunk.count(b"\n")
        left -= len(chunk)
    return line


class _ParquetReader:
    is_text = False

    def __init__(self, path: Path) -> None:
        self._path = path
        with _explained_errors(), pq.ParquetFile(path) as file:
            self.schema: pa.Schema = file.schema_arrow

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        size = rows_per_batch(len(names))
        with _explained_errors(), pq.ParquetFile(self._path, page_checksum_verification=True) as file:
            for batch in file.iter_batches(batch_size=size, columns=list(names), use_threads=False):
                yield batch.select(list(names))


class _ArrowReader:
    is_text = False

    def __init__(self, path: Path, file_format: FileFormat) -> None:
        self._path, self._format = path, file_format
        with _explained_errors(), pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source) if self._has_footer else pa.ipc.open_stream(source)
            self.schema: pa.Schema = reader.schema

    @property
    def _has_footer(self) -> bool:
        return self._format is FileFormat.ARROW_FILE

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        size = rows_per_batch(len(names))
        with _explained_errors(), pa.memory_map(str(self._path)) as source:
            for batch in self._stored_batches(source):
                chosen = batch.select(list(names))
                # Arrow trusts the offsets in the file; a manipulated one would make it read outside of its buffers.
                chosen.validate(full=True)
                for start in range(0, chosen.num_rows, size):
                    yield chosen.slice(start, size)

    def _stored_batches(self, source: pa.MemoryMappedFile) -> Iterator[pa.RecordBatch]:
        if self._has_footer:
            reader = pa.ipc.open_file(source)
            return (reader.get_batch(index) for index in range(reader.num_record_batches))
        return iter(pa.ipc.open_stream(source))
