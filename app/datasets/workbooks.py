"""Excel workbooks (.xlsx): the first visible sheet, converted to cells of text."""

import datetime
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import openpyxl
import pyarrow as pa

from app.datasets.cells import CellsReader, Fraction, Row, write_cells
from app.datasets.errors import NoRows, TooManyRows, UnreadableFile, UploadTooLarge
from app.datasets.reader_faults import decoded_too_large
from app.datasets.reading import check_names, column_names
from app.errors import ServiceError
from app.settings import Limits

#: Formulas are looked for in so many rows; they usually fill a column.
_FORMULA_ROWS = 1_000
_MIDNIGHT = datetime.time()


@dataclass(frozen=True)
class Workbook:
    """Sheet that was read, and the names of all sheets.

    uncalculated: columns without values, because their formulas were saved without results.
    """

    reader: CellsReader
    sheet: str
    sheets: Sequence[str]
    uncalculated: Sequence[str]


def read_workbook(path: Path, target: Path, limits: Limits) -> Workbook:
    """Convert the first visible sheet to the new file `target`. Its first row that is not empty is the header.

    Raises:
        UploadTooLarge, DecodedTooLarge: the parts of the workbook are too large after decompression.
        UnreadableFile, NoRows, TooManyRows, TooManyColumns, InvalidColumnName, DuplicateColumn.
    """
    with _explained_errors():
        _check_sizes(path, limits)
        # An open file, because the library refuses names without the extension of a workbook.
        with path.open("rb") as source, closing(_load(source)) as book:
            sheet = _first_visible(book)
            header_line, names = _header(sheet)
            check_names(names, limits)
            columns = pa.schema(dict.fromkeys(names, pa.string()))
            reader = write_cells(target, columns, _rows(sheet, header_line, len(names), limits))
            if reader.n_rows == 0:
                detail = f"the sheet {sheet.title!r} has a header but no rows; save the table in the first sheet"
                raise NoRows.at("/file", detail)
            uncalculated = _uncalculated(source, sheet.title, header_line, reader)
            return Workbook(reader, sheet.title, book.sheetnames, uncalculated)


def _first_visible(book: Any) -> Any:
    """Return the sheet that is read. Raises NoRows."""
    visible = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    if not visible:
        raise NoRows.at("/file", "the workbook has no visible sheet with cells; save the table in its first sheet")
    # The size that a file declares for a sheet may be wrong.
    visible[0].reset_dimensions()
    return visible[0]


def _load(source: BinaryIO, formulas: bool = False) -> Any:
    """Return the workbook with the results of formulas, or with the formulas."""
    return openpyxl.load_workbook(source, read_only=True, data_only=not formulas, keep_links=False)


def _uncalculated(source: BinaryIO, title: str, header_line: int, reader: CellsReader) -> list[str]:
    """Return the columns without values that have formulas, as programs other than a spreadsheet save them."""
    names = reader.schema.names
    empty = {names.index(name) for name in reader.empty_columns()}
    if not empty:
        return []
    with closing(_load(source, formulas=True)) as book:
        sheet = book[title]
        sheet.reset_dimensions()
        rows = sheet.iter_rows(
            min_row=header_line + 1, max_row=header_line + _FORMULA_ROWS, min_col=1, max_col=len(names)
        )
        found = {
            position for cells in rows for position, cell in enumerate(cells) if position in empty and _is_formula(cell)
        }
    return [names[position] for position in sorted(found)]


def _is_formula(cell: Any) -> bool:
    return bool(cell.data_type == "f")


@contextmanager
def _explained_errors() -> Iterator[None]:
    try:
        yield
    except (ServiceError, MemoryError):
        raise
    except Exception as error:  # The library raises whatever the damaged part leads to.
        detail = "the workbook is damaged or protected by a password; save it again as .xlsx without one, or as CSV"
        raise UnreadableFile.at("/file", detail) from error


def _check_sizes(path: Path, limits: Limits) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
    if sum(part.file_size for part in parts) > limits.max_upload_bytes:
        limit = f"{limits.max_upload_bytes} bytes after decompression, the limit BRISTLECONE_MAX_UPLOAD_BYTES"
        raise UploadTooLarge.at("/file", f"the workbook has more than {limit}; upload fewer rows, or raise the limit")
    # Parts other than sheets, such as the texts of all cells, are read as a whole.
    whole = [part.file_size for part in parts if not part.filename.startswith("xl/worksheets/")]
    if whole and max(whole) > limits.max_decoded_bytes:
        raise decoded_too_large(limits)


def _header(sheet: Any) -> tuple[int, list[str]]:
    for line, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        names = [(_text(cell) or "").strip() for cell in cells]
        while names and not names[-1]:
            names.pop()
        if names:
            return line, column_names(names)
    raise NoRows.at("/file", f"the sheet {sheet.title!r} is empty; save the table in the first sheet")


def _rows(sheet: Any, header_line: int, n_columns: int, limits: Limits) -> Iterator[Row]:
    n_rows = 0
    # One column more than the header has, to notice what stands beside the table.
    rows = sheet.iter_rows(min_row=header_line + 1, max_col=n_columns + 1, values_only=True)
    for line, cells in enumerate(rows, header_line + 1):
        texts = [_text(cell) for cell in cells]
        if not any(texts):
            continue
        if len(texts) > n_columns and texts[n_columns]:
            detail = (
                f"line {line} has a value to the right of the header, which ends at column {n_columns}; "
                "name its column, or delete titles and notes around the table"
            )
            raise UnreadableFile.at("/file", detail)
        n_rows += 1
        if n_rows > limits.max_rows:
            limit = f"{limits.max_rows} rows, the limit BRISTLECONE_MAX_ROWS"
            raise TooManyRows.at("/file", f"the sheet has more than {limit}; upload a sample of it")
        yield line, (texts + [None] * n_columns)[:n_columns]


def _text(value: Any) -> str | None:
    """Return a cell as the text that a CSV file would have."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else Fraction(repr(value))
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == _MIDNIGHT else value.isoformat()
    if isinstance(value, datetime.timedelta):
        return Fraction(value.total_seconds())
    return str(value)
