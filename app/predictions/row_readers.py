"""Readers of the bodies that rows to predict arrive in.

They run in a child of `app.reader_process`: bodies are as hostile as uploads, and are read by the same readers.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.datasets.errors import EmptyFile
from app.datasets.errors import NoRows as NoRowsInFile
from app.datasets.formats import FileFormat, detect_format
from app.datasets.json_rows import json_objects
from app.datasets.opening import open_table
from app.datasets.options import ReadingOptions
from app.predictions.coercion import FeatureEncoder
from app.predictions.errors import Faults
from app.predictions.forms import IN_ROWS, Table, from_batch, from_columns, from_rows
from app.predictions.tensors import from_tensors
from app.settings import Limits

_CELLS_OF_LINES = 250_000


def tables_of_document(document: Mapping[str, Any] | list[Any], encoder: FeatureEncoder) -> Iterator[Table]:
    """Yield the rows of a parsed JSON document, whose `rows`, `columns` or `inputs` were not checked yet.

    document: an array is the rows alone.
    """
    if isinstance(document, list):
        yield from _tables_of_rows(document, encoder, within=())
        return
    if document.get("inputs") is not None:
        yield from_tensors(document["inputs"], encoder.known)
        return
    if document.get("columns") is not None:
        yield from_columns(document["columns"], encoder.known, Faults())
        return
    yield from _tables_of_rows(document["rows"], encoder, IN_ROWS)


def _tables_of_rows(rows: list[Any], encoder: FeatureEncoder, within: tuple[str, ...]) -> Iterator[Table]:
    most_rows = max(1, _CELLS_OF_LINES // max(1, len(encoder.names)))
    for start in range(0, max(1, len(rows)), most_rows):
        yield from_rows(rows[start : start + most_rows], encoder.names, Faults(), start, within)


def tables_of_file(
    path: Path, declared: FileFormat, encoding: str | None, encoder: FeatureEncoder, limits: Limits
) -> Iterator[Table]:
    """Yield the rows of a body in this format. Raises the errors of an unreadable upload."""
    try:
        if declared is FileFormat.NDJSON:
            yield from _tables_of_lines(path, encoder)
        else:
            yield from _tables_of_batches(path, declared, encoding, encoder, limits)
    except (EmptyFile, NoRowsInFile):
        return  # As for a table without rows.


def _tables_of_lines(path: Path, encoder: FeatureEncoder) -> Iterator[Table]:
    detect_format(path, FileFormat.NDJSON)
    pending: list[dict[str, Any]] = []
    first = n_cells = 0
    for _, item in json_objects(path):
        pending.append(item)
        n_cells += len(item) + len(encoder.names)
        if n_cells > _CELLS_OF_LINES:
            yield from_rows(pending, encoder.names, Faults(), first)
            first, n_cells, pending = first + len(pending), 0, []
    if pending:
        yield from_rows(pending, encoder.names, Faults(), first)


def _tables_of_batches(
    path: Path, declared: FileFormat, encoding: str | None, encoder: FeatureEncoder, limits: Limits
) -> Iterator[Table]:
    # Missing values are recognized by the rules of each column.
    options = ReadingOptions(nulls=(), encoding=encoding)
    with open_table(path, declared, options, limits, path.with_suffix(".scratch")) as table:
        names = table.reader.schema.names
        # A table without any known column has rows all the same.
        wanted = [name for name in names if name in encoder.known] or names[:1]
        first = 0
        for batch in table.reader.with_texts_cut(limits.max_text_bytes + 1).batches(wanted):
            yield from_batch(batch, names, encoder.known, first)
            first += batch.num_rows
