"""Conversion of an uploaded file to its stored form: detect types, profile, encode, in passes over the file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from app.datasets.annotator_columns import annotator_warnings
from app.datasets.canonical import GROUP, TARGET, WEIGHT, Encoder, write_table
from app.datasets.column_roles import ColumnRoles, column_roles
from app.datasets.column_types import ColumnKind
from app.datasets.detection import DetectedColumns, detect_columns
from app.datasets.errors import NoFeatures, NoRows, TooManyRows
from app.datasets.formats import FileFormat, PlainFile
from app.datasets.ignoring import ignored_warnings
from app.datasets.label_warnings import target_warnings
from app.datasets.opening import OpenTable, open_table
from app.datasets.options import UploadOptions
from app.datasets.placeholders import placeholder_warnings
from app.datasets.profiling import FeatureProfile, FeatureRules, feature_profiler
from app.datasets.reading import TableReader
from app.datasets.repeated_rows import RepeatedRows
from app.datasets.role_profiling import GroupProfiler, WeightProfiler
from app.datasets.table_summary import TableSummary
from app.datasets.target_leakage import LeakageSearch
from app.datasets.target_profiling import TargetProfile, TargetProfiler
from app.datasets.upload_warnings import MAX_ROWS, UploadWarning
from app.settings import Limits
from app.storage.write_transactions import refuse_in_transaction


@dataclass(frozen=True)
class IngestedTable:
    """Profile of a table. reading: how the file was read, as the answer shows it."""

    n_rows: int
    features: list[FeatureProfile]
    target: TargetProfile
    reading: dict[str, Any]
    warnings: list[UploadWarning]

    def summary(self) -> TableSummary:
        """Return what the data set remembers of the table."""
        return TableSummary(
            n_rows=self.n_rows,
            n_labeled=self.target.n_labeled,
            classes=self.target.as_json(),
            features=[feature.as_json() for feature in self.features],
            reading=self.reading,
            warnings=[warning.as_json() for warning in self.warnings],
        )


def ingest(
    file: PlainFile, declared: FileFormat | None, options: UploadOptions, limits: Limits, canonical: Path
) -> IngestedTable:
    """Write the stored form of `file` to the new path `canonical` and return its profile.

    Raises:
        app.errors.Invalid: an error of `app.datasets.errors` that points at the field of the upload that has to change.
    """
    refuse_in_transaction("reading a table")
    with open_table(file.path, declared, options.reading, limits, canonical) as table:
        roles = column_roles(table.reader.schema.names, options)
        # What is longer than a category can be is free text, whatever follows.
        reader = table.reader.with_texts_cut(limits.max_text_bytes + 1)
        detected = detect_columns(reader, roles.names, options)
        profile = _Profiler(reader, roles, detected, options, limits).run()
        _require_features(profile.features, detected.warnings)
        columns = [detected.columns[name] for name in roles.names]
        encoder = Encoder(columns, profile.features, list(roles.others), profile.target)
        repeated = RepeatedRows(encoder.used_columns, TARGET)
        leakage = LeakageSearch(profile.features, len(profile.target.labels))
        encoded = leakage.watch(encoder.encode(batch) for batch in table.reader.batches(roles.names))
        write_table(canonical, encoder.schema, encoded if GROUP in roles.others else repeated.watch(encoded))
        found = [*profile.warnings, *leakage.warnings(), *repeated.warnings()]
        warnings = [*table.warnings, *detected.warnings, *found]
        reading = _reading(table, detected, options)
    return IngestedTable(profile.n_rows, profile.features, profile.target, reading, warnings)


def _require_features(features: list[FeatureProfile], warnings: Sequence[UploadWarning]) -> None:
    if all(feature.kind is ColumnKind.IGNORED for feature in features):
        listed = ", ".join(f"{feature.name[:80]!r} ({feature.reason})" for feature in features[:5])
        detail = (
            f"every column beside the target is left out: {listed}; bring columns back with `types`, or upload others"
        )
        found = [warning.detail for warning in warnings[:MAX_ROWS]]
        raise NoFeatures.at("/file", ". ".join([detail, *(text[0].upper() + text[1:] for text in found)]))


@dataclass(frozen=True)
class _TableProfile:
    n_rows: int
    features: list[FeatureProfile]
    target: TargetProfile
    warnings: list[UploadWarning]


class _Profiler:
    """Computes the profiles of all columns in one pass."""

    def __init__(
        self, reader: TableReader, roles: ColumnRoles, detected: DetectedColumns, options: UploadOptions, limits: Limits
    ) -> None:
        self._reader, self._roles, self._limits = reader, roles, limits
        self._columns = [detected.columns[name] for name in roles.names]
        n_columns = len(self._columns)
        features = zip(roles.features, self._columns, strict=False)
        rules = {
            name: FeatureRules(
                options.requested(name), name in detected.unread, pa.types.is_float32(reader.schema.field(name).type)
            )
            for name in roles.features
        }
        self._features = [
            feature_profiler(column, rules[name], n_columns, limits, reader.place) for name, column in features
        ]
        self._weight = WeightProfiler(roles.others[WEIGHT], reader.place) if WEIGHT in roles.others else None
        self._group = GroupProfiler(roles.others[GROUP], limits.max_text_bytes) if GROUP in roles.others else None
        self._target = TargetProfiler(self._columns[-1], limits, chosen=roles.target in options.types)

    def run(self) -> _TableProfile:
        others = [profiler for profiler in (self._weight, self._group) if profiler is not None]
        profilers = [*self._features, *others, self._target]
        n_rows = 0
        for batch in _bounded(self._reader.batches(self._roles.names), self._limits.max_rows):
            for profiler, column, array in zip(profilers, self._columns, batch.columns, strict=True):
                profiler.add(column.convert(array), n_rows)
            n_rows += batch.num_rows
        if n_rows == 0:
            raise NoRows.at("/file", "the file has no rows; upload at least one row of each of two classes")
        if self._target.n_unlabeled:
            for batch in self._reader.without_nulls().batches([self._roles.target]):
                self._target.add_missing_texts(batch.column(0))
        target = self._target.finish()
        if self._weight is not None:
            self._weight.finish()
        features = [profiler.finish() for profiler in self._features]
        return _TableProfile(n_rows, features, target, list(self._warnings(features, target)))

    def _warnings(self, features: list[FeatureProfile], target: TargetProfile) -> Iterator[UploadWarning]:
        yield from target_warnings(self._roles.target, target)
        if self._group is not None:
            yield from self._group.warnings()
        ignored = {name: feature.reason for name, feature in zip(self._roles.features, features, strict=True)}
        yield from ignored_warnings({name: reason for name, reason in ignored.items() if reason is not None})
        used = [feature for feature in features if feature.kind is ColumnKind.NUMERIC]
        yield from placeholder_warnings({feature.name: feature.placeholders for feature in used})
        seen = [feature.name for feature in features if feature.kind is not ColumnKind.IGNORED]
        yield from annotator_warnings(seen, has_groups=self._group is not None)


def _reading(table: OpenTable, detected: DetectedColumns, options: UploadOptions) -> dict[str, Any]:
    """Return how the file was read: what the upload said, and what was found."""
    used = [column.reading for column in detected.columns.values()]
    decimals = {reading.decimal for reading in used if reading.thousands or reading.decimal != "."}
    thousands = {reading.thousands for reading in used if reading.thousands}
    dates = {name: column.reading.dates for name, column in detected.columns.items() if column.reading.dates}
    return table.reading | {
        "decimal": options.reading.decimal or (decimals.pop() if len(decimals) == 1 else "."),
        "thousands": options.reading.thousands or (thousands.pop() if len(thousands) == 1 else ""),
        "nulls": list(options.reading.missing_texts),
        "dates": dates,
    }


def _bounded(batches: Iterator[pa.RecordBatch], max_rows: int) -> Iterator[pa.RecordBatch]:
    n_rows = 0
    for batch in batches:
        n_rows += batch.num_rows
        if n_rows > max_rows:
            detail = f"the file has more than {max_rows} rows, the limit BRISTLECONE_MAX_ROWS; upload a sample of it"
            raise TooManyRows.at("/file", detail)
        yield batch
