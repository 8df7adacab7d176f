"""Opening of an uploaded file: its format, its encoding, and conversion if it cannot be read in place."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.datasets.columnar_reading import ArrowReader, ParquetReader
from app.datasets.csv_reading import CsvReader
from app.datasets.errors import InvalidReading
from app.datasets.formats import JSON_FORMATS, TEXT_FORMATS, FileFormat, detect_format
from app.datasets.json_rows import read_json_rows
from app.datasets.options import ReadingOptions
from app.datasets.reading import TableReader, check_names
from app.datasets.scratch_files import remove_scratch, scratch_files
from app.datasets.text_encoding import UTF8, encoding_of, write_as_utf8
from app.datasets.upload_warnings import UploadWarning
from app.datasets.workbooks import Workbook, read_workbook
from app.settings import Limits


@dataclass(frozen=True)
class OpenTable:
    """Reader of an upload. reading: format, encoding, delimiter or sheet, as far as they apply."""

    reader: TableReader
    reading: dict[str, Any]
    warnings: tuple[UploadWarning, ...] = ()


@contextmanager
def open_table(
    path: Path, declared: FileFormat | None, options: ReadingOptions, limits: Limits, scratch: Path
) -> Iterator[OpenTable]:
    """Yield a reader of the file, after its column names were checked.

    scratch: beginning of the names of new files, which are removed at the end of the block.

    Raises:
        The errors of an unreadable file in `app.datasets.errors`.
    """
    as_utf8, cells = scratch_files(scratch)
    try:
        table = _opened(path, declared, options, limits, (as_utf8, cells))
        check_names(table.reader.schema.names, limits)
        yield table
    finally:
        remove_scratch(scratch)


def _opened(
    path: Path, declared: FileFormat | None, options: ReadingOptions, limits: Limits, scratch: tuple[Path, Path]
) -> OpenTable:
    file_format = detect_format(path, declared, options.encoding)
    _check_options(file_format, options)
    reading: dict[str, Any] = {"format": str(file_format)}
    if file_format in TEXT_FORMATS:
        return _opened_text(path, file_format, options, limits, scratch)
    if file_format is FileFormat.XLSX:
        book = read_workbook(path, scratch[1], limits)
        return OpenTable(book.reader, reading | {"sheet": book.sheet}, tuple(_book_warnings(book)))
    if file_format is FileFormat.PARQUET:
        return OpenTable(ParquetReader(path), reading)
    return OpenTable(ArrowReader(path, file_format is FileFormat.ARROW_FILE), reading)


def _opened_text(
    path: Path, file_format: FileFormat, options: ReadingOptions, limits: Limits, scratch: tuple[Path, Path]
) -> OpenTable:
    as_utf8, cells = scratch
    encoding = encoding_of(path, options.encoding)
    if encoding != UTF8:
        write_as_utf8(path, encoding, as_utf8)
        path = as_utf8
        if file_format in (FileFormat.CSV, FileFormat.JSON):
            file_format = detect_format(path, None if file_format is FileFormat.CSV else file_format)
    reading: dict[str, Any] = {"format": str(file_format), "encoding": encoding}
    if file_format in JSON_FORMATS:
        return OpenTable(read_json_rows(path, cells, limits), reading)
    delimiter = options.delimiter or ("\t" if file_format is FileFormat.TSV else None)
    reader = CsvReader(path, delimiter, options.missing_texts)
    return OpenTable(reader, reading | {"delimiter": reader.delimiter})


def _check_options(file_format: FileFormat, options: ReadingOptions) -> None:
    if options.delimiter is not None and file_format not in (FileFormat.CSV, FileFormat.TSV):
        detail = f"delimiter is {options.delimiter!r}, but {file_format} files have none; remove it"
        raise InvalidReading.at("/delimiter", detail)
    if options.encoding is not None and file_format not in TEXT_FORMATS:
        detail = f"encoding is {options.encoding!r:.100}, but it is fixed in {file_format} files; remove it"
        raise InvalidReading.at("/encoding", detail)


def _book_warnings(book: Workbook) -> Iterator[UploadWarning]:
    others = [name for name in book.sheets if name != book.sheet]
    if others:
        listed = ", ".join(repr(name[:80]) for name in others[:5])
        detail = f"the sheet {book.sheet[:80]!r} was read, but not {listed}; upload each sheet as a workbook of its own"
        yield UploadWarning(None, "other_sheets", detail)
    for name in book.uncalculated:
        detail = (
            f"column {name!r} has formulas without stored results, so that it is empty; open the workbook in a "
            "spreadsheet program, save it there, and upload it again"
        )
        yield UploadWarning(name, "uncalculated_formulas", detail)
