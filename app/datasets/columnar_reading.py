"""Readers of Parquet and Arrow files, which have typed columns."""

import base64
from collections.abc import Iterator, Mapping, Sequence, Set
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from app.datasets.batch_slices import MAX_SLICE_TEXT_BYTES, bounded_slices, rows_per_batch
from app.datasets.read_errors import explained_errors
from core.service_api import is_text

#: Row groups in which the size of rows is looked up.
_SAMPLED_GROUPS = 4
#: Text with fewer bytes per row in the file consists of repeated values.
_REPEATED_TEXT_BYTES = 8.0
#: Encodings of levels, of dictionaries, and of indices into them.
_DICTIONARY_ENCODINGS = {"BIT_PACKED", "PLAIN", "PLAIN_DICTIONARY", "RLE", "RLE_DICTIONARY"}


class _ColumnarReader:
    """Reader of a file that declares the types of its columns and has no lines."""

    is_text = False
    delimiter = None
    fractions: Set[str] = frozenset()
    schema: pa.Schema
    _max_characters: int | None = None

    def with_texts_cut(self, max_characters: int) -> Self:
        reader = copy(self)
        reader._max_characters = max_characters
        return reader

    def without_nulls(self) -> Self:
        return self

    def place(self, row: int) -> str:
        return f"row {row}"


class ParquetReader(_ColumnarReader):
    """Reader of a Parquet file. Text that repeats stays a dictionary, so that its batches are as small as the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with explained_errors(has_encoding=False), self._open() as file:
            self.schema = _with_categories(_named(file.schema_arrow), file.metadata.metadata or {})

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        size = self._rows_per_batch(names)
        repeated = [name for name in names if name in self._repeated]
        with explained_errors(has_encoding=False), self._open(read_dictionary=repeated) as file:
            for batch in file.iter_batches(batch_size=size, columns=list(names), use_threads=False):
                yield from bounded_slices(batch.select(list(names)), size, self._max_characters)

    def _open(self, **options: Any) -> pq.ParquetFile:
        # Pages of a mapped file do not count as memory of the process; the system takes them back when it needs to.
        return pq.ParquetFile(self._path, memory_map=True, page_checksum_verification=True, **options)

    def _rows_per_batch(self, names: Sequence[str]) -> int:
        row_bytes = sum(self._row_bytes.get(name, 0.0) for name in names)
        return max(1, min(rows_per_batch(len(names)), int(MAX_SLICE_TEXT_BYTES / max(1.0, row_bytes))))

    @cached_property
    def _repeated(self) -> Set[str]:
        """Columns of text that repeats, which the file has as dictionaries."""
        texts = {field.name for field in self.schema if is_text(field.type)}
        candidates = {name for name in texts if self._row_bytes.get(name, 0.0) < _REPEATED_TEXT_BYTES}
        with explained_errors(has_encoding=False), self._open() as file:
            groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
            return {
                column.path
                for index, column in enumerate(file.schema)
                if column.path in candidates and all(_is_dictionary(group.column(index)) for group in groups)
            }

    @cached_property
    def _row_bytes(self) -> Mapping[str, float]:
        """Bytes per row of each column in the file, before compression."""
        with explained_errors(has_encoding=False), self._open() as file:
            n_groups = file.metadata.num_row_groups
            sampled = {number * n_groups // _SAMPLED_GROUPS for number in range(_SAMPLED_GROUPS)} if n_groups else ()
            groups = [file.metadata.row_group(number) for number in sampled]
            n_rows = max(1, sum(group.num_rows for group in groups))
            return {
                column.path: sum(group.column(index).total_uncompressed_size for group in groups) / n_rows
                for index, column in enumerate(file.schema)
            }


def _with_categories(schema: pa.Schema, metadata: Mapping[bytes, bytes]) -> pa.Schema:
    """Return the schema with the types of categories that are no text, which Arrow only keeps in the metadata."""
    written = {field.name: field.type for field in _written_schema(metadata.get(b"ARROW:schema", b""))}
    categories = {name: stored for name, stored in written.items() if pa.types.is_dictionary(stored)}
    return pa.schema([_with_category(field, categories.get(field.name)) for field in schema]) if categories else schema


def _with_category(field: pa.Field, declared: pa.DataType | None) -> pa.Field:
    return field if declared is None or declared.value_type != field.type else field.with_type(declared)


def _written_schema(encoded: bytes) -> pa.Schema:
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(encoded)))
    except (ValueError, OSError, pa.ArrowException):  # Other programs may write anything there.
        return pa.schema([])


def _is_dictionary(chunk: pq.ColumnChunkMetaData) -> bool:
    # Other encodings cannot be read as dictionaries.
    return bool(chunk.has_dictionary_page) and set(chunk.encodings) <= _DICTIONARY_ENCODINGS


class ArrowReader(_ColumnarReader):
    """Reader of an Arrow IPC file, or of a stream, which has no footer."""

    def __init__(self, path: Path, has_footer: bool) -> None:
        self._path, self._has_footer = path, has_footer
        with explained_errors(has_encoding=False), pa.memory_map(str(path)) as source:
            self.schema = _named(self._open(source).schema)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        size = rows_per_batch(len(names))
        positions = [self.schema.get_field_index(name) for name in names]
        with explained_errors(has_encoding=False), pa.memory_map(str(self._path)) as source:
            for batch in self._stored_batches(source, positions):
                # In the order of the file, which is that of `included_fields` as well.
                chosen = batch.select(list(names))
                # Arrow trusts the offsets in the file; a manipulated one would make it read outside of its buffers.
                chosen.validate(full=True)
                yield from bounded_slices(chosen, size, self._max_characters)

    def _stored_batches(self, source: pa.MemoryMappedFile, positions: Sequence[int]) -> Iterator[pa.RecordBatch]:
        reader = self._open(source, pa.ipc.IpcReadOptions(included_fields=list(positions)))
        if self._has_footer:
            return (reader.get_batch(index) for index in range(reader.num_record_batches))
        return iter(reader)

    def _open(self, source: pa.MemoryMappedFile, options: Any = None) -> Any:
        open_source = pa.ipc.open_file if self._has_footer else pa.ipc.open_stream
        return open_source(source, options=options)


def _named(schema: pa.Schema) -> pa.Schema:
    """Return the schema, whose names are text. Raises UnicodeDecodeError if one is not."""
    assert isinstance(schema.names, list)
    return schema
