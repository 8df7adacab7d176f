"""Conversion of an uploaded file to its stored form: detect types, profile, encode, in three passes over the file."""

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from app.datasets.canonical import Encoder, write_table
from app.datasets.column_types import Column, ColumnKind, resolve_columns
from app.datasets.errors import (
    NoFeatures,
    NoRows,
    TargetExcluded,
    TooManyRows,
    UnknownExclude,
    UnknownTarget,
    UnknownTypedColumn,
    column_pointer,
)
from app.datasets.formats import FileFormat, PlainFile, detect_format
from app.datasets.profiling import FeatureProfile, TargetProfile, TargetProfiler, feature_profiler
from app.datasets.reading import TableReader, open_table
from app.settings import Limits


@dataclass(frozen=True)
class UploadOptions:
    """Fields of `POST /datasets` beside the file."""

    target: str
    name: str
    exclude: Sequence[str] = ()
    types: Mapping[str, ColumnKind] = field(default_factory=dict)

    def fingerprint(self, content_sha256: str) -> str:
        """Return the identity of the data set: its content and the roles and types of its columns, but not its name."""
        identity = [content_sha256, self.target, sorted(set(self.exclude)), sorted(self.types.items())]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


@dataclass(frozen=True)
class IngestedTable:
    """Profile of a table."""

    n_rows: int
    features: list[FeatureProfile]
    target: TargetProfile


def ingest(
    file: PlainFile, declared: FileFormat | None, options: UploadOptions, limits: Limits, canonical: Path
) -> IngestedTable:
    """Write the stored form of `file` to the new path `canonical` and return its profile.

    Raises:
        app.errors.Invalid: an error of `app.datasets.errors` that points at the field of the upload that has to change.
    """
    reader = open_table(file.path, detect_format(file.path, declared), limits)
    names = _used_columns(reader.schema.names, options)
    resolved = resolve_columns(reader, names, options.types)
    columns = [resolved[name] for name in names]
    table = _profile(reader, columns, limits)
    write_table(canonical, Encoder(columns, table.features, table.target), reader.batches(names))
    return table


def _used_columns(names: Sequence[str], options: UploadOptions) -> list[str]:
    """Return the names of the features in file order, and then of the target."""
    if options.target not in names:
        raise UnknownTarget.at("/target", _unknown(options.target, names))
    for index, name in enumerate(options.exclude):
        if name not in names:
            raise UnknownExclude.at(f"/exclude/{index}", _unknown(name, names))
        if name == options.target:
            detail = f"{name!r} is the target and cannot be excluded; choose another target or keep the column"
            raise TargetExcluded.at(f"/exclude/{index}", detail)
    for name in options.types:
        if name not in names:
            raise UnknownTypedColumn.at(column_pointer("types", name), _unknown(name, names))
    features = [name for name in names if name != options.target and name not in set(options.exclude)]
    if not features:
        detail = "there is no column beside the target; upload features as well, or exclude fewer columns"
        raise NoFeatures.at("/exclude" if options.exclude else "/file", detail)
    return [*features, options.target]


def _unknown(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    folded = [other for other in names if other.casefold() == name.strip().casefold()]
    shown = list(dict.fromkeys([*folded, *near])) or list(names[:5])
    listed = ", ".join(repr(other[:80]) for other in shown)
    return f"the file has no column {name[:80]!r}; {'did you mean' if near or folded else 'its columns begin'} {listed}"


def _profile(reader: TableReader, columns: Sequence[Column], limits: Limits) -> IngestedTable:
    target = TargetProfiler(columns[-1], limits.max_classes)
    features = [feature_profiler(column, len(columns), limits) for column in columns[:-1]]
    profilers = [*features, target]
    n_rows = 0
    for batch in _bounded(reader.batches([column.name for column in columns]), limits.max_rows):
        for profiler, column, array in zip(profilers, columns, batch.columns, strict=True):
            profiler.add(column.convert(array), n_rows + 1)
        n_rows += batch.num_rows
    if n_rows == 0:
        raise NoRows.at("/file", "the file has no rows; upload at least one row of each of two classes")
    return IngestedTable(n_rows, [profiler.finish() for profiler in features], target.finish())


def _bounded(batches: Iterator[pa.RecordBatch], max_rows: int) -> Iterator[pa.RecordBatch]:
    n_rows = 0
    for batch in batches:
        n_rows += batch.num_rows
        if n_rows > max_rows:
            detail = f"the file has more than {max_rows} rows, the limit BRISTLECONE_MAX_ROWS; upload a sample of it"
            raise TooManyRows.at("/file", detail)
        yield batch
