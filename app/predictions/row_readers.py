"""Readers of the bodies that rows to predict arrive in, by media type, and of stored data sets.

They run in a child of `app.reader_process`: bodies are as hostile as uploads, and are read by the same readers.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from app.datasets.canonical import feature_column
from app.datasets.errors import EmptyFile
from app.datasets.errors import NoRows as NoRowsInFile
from app.datasets.formats import FORMATS_BY_MEDIA_TYPE, FileFormat, detect_format
from app.datasets.json_lines import json_objects
from app.datasets.opening import open_table
from app.datasets.options import ReadingOptions
from app.datasets.store import explained_errors
from app.predictions.coercion import FeatureEncoder
from app.predictions.errors import Faults
from app.predictions.forms import Table, from_batch, from_columns, from_rows
from app.predictions.tensors import from_tensors
from app.settings import Limits
from core import ColumnKind

JSON = "application/json"
#: Formats of tabular bodies by media type. All of these are read, and those of `app.predictions.writers` are written.
FORMATS: Mapping[str, FileFormat] = {
    media_type: file_format
    for media_type, file_format in FORMATS_BY_MEDIA_TYPE.items()
    if file_format is not FileFormat.XLSX
}
READABLE = (JSON, *FORMATS)

_CELLS_OF_LINES = 250_000
_ROWS_PER_BATCH = 65_536


def tables_of_document(document: Mapping[str, Any], encoder: FeatureEncoder) -> Iterator[Table]:
    """Yield the rows of a parsed JSON document, whose `rows`, `columns` or `inputs` were not checked yet."""
    if document.get("inputs") is not None:
        yield from_tensors(document["inputs"], encoder.known)
        return
    if document.get("columns") is not None:
        yield from_columns(document["columns"], encoder.known, Faults())
        return
    rows = document["rows"]
    most_rows = max(1, _CELLS_OF_LINES // max(1, len(encoder.names)))
    for start in range(0, max(1, len(rows)), most_rows):
        yield from_rows(rows[start : start + most_rows], encoder.names, Faults(), start)


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


def tables_of_dataset(path: Path, features: list[dict[str, Any]], encoder: FeatureEncoder) -> Iterator[Table]:
    """Yield the rows of the stored form of a data set with these features."""
    stored = {
        feature["name"]: (feature_column(index), feature)
        for index, feature in enumerate(features)
        if feature["name"] in encoder.known
    }
    used = [feature["name"] for feature in features if feature["kind"] != "ignored"]
    with explained_errors(), pq.ParquetFile(path, page_checksum_verification=True) as file:
        names = [column for column, _ in stored.values()]
        first = 0
        for batch in file.iter_batches(_ROWS_PER_BATCH, columns=names, use_threads=False):
            arrays = [_as_uploaded(batch.column(column), feature) for column, feature in stored.values()]
            part = pa.record_batch(arrays, names=list(stored)) if stored else batch
            yield from_batch(part, used, encoder.known, first)
            first += batch.num_rows


def _as_uploaded(cells: pa.Array, feature: Mapping[str, Any]) -> pa.Array:
    """Return stored cells as values: categories as text, and dates as timestamps."""
    if feature["kind"] == ColumnKind.CATEGORICAL:
        return pa.DictionaryArray.from_arrays(cells.cast(pa.int32()), pa.array(feature["categories"], pa.string()))
    if feature["kind"] == ColumnKind.DATETIME:
        microseconds = pc.round(pc.multiply(cells.cast(pa.float64()), 1e6))
        return microseconds.cast(pa.int64()).cast(pa.timestamp("us", "UTC"))
    return cells
