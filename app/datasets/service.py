"""Storing, reading and deleting data sets.

The file is stored before the row is committed, and deleted after the deletion of the row was committed: a file without
a row wastes space, but a row without a file is a loss.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.datasets.column_profiles import ColumnSelection, TableProfile, profile_columns
from app.datasets.column_types import ColumnKind
from app.datasets.errors import DatasetFileMissing, DatasetInUse, DatasetNotFound, repoint
from app.datasets.formats import FileFormat, PlainFile, detect_format
from app.datasets.ingestion import IngestedTable, ingest
from app.datasets.inline import INLINE_FORMAT, inline_pointer, write_columns
from app.datasets.options import UploadOptions
from app.datasets.records import DatasetRecord
from app.datasets.repository import DatasetRepository
from app.datasets.row_texts import RowSelection, UploadedRows, uploaded_rows
from app.datasets.store import DatasetStore
from app.datasets.tables import DatasetRow
from app.datasets.upload_warnings import UploadWarning
from app.errors import ServiceError
from app.settings import Limits
from app.storage import garbage
from app.storage.database import SessionFactory, lock, reading, writing
from app.storage.garbage import delete_if_unreferenced
from app.storage.pages import PageQuery
from app.storage.staging import ORPHAN_AFTER_SECONDS


@dataclass(frozen=True)
class StoredDataset:
    """Data set, and whether this upload created it."""

    dataset: DatasetRecord
    created: bool

    def under_name(self, name: str | None) -> DatasetRecord:
        """Return the data set, with a warning if the upload gave another name than the one that it has."""
        if self.created or name in (None, self.dataset.name):
            return self.dataset
        detail = (
            f"the same content is stored as {self.dataset.name!r}, and keeps this name instead of {name!r}; "
            f"PATCH /datasets/{self.dataset.id} renames it"
        )
        warning = UploadWarning(None, "known_content", detail).as_json()
        return replace(self.dataset, warnings=[*self.dataset.warnings, warning])


class DatasetService:
    """Data sets within one transaction."""

    def __init__(self, session: Session, store: DatasetStore, limits: Limits) -> None:
        self._session = session
        self._repository = DatasetRepository(session)
        self._store = store
        self._limits = limits

    def get(self, dataset_id: uuid.UUID) -> DatasetRecord:
        """Return the data set. Raises DatasetNotFound."""
        dataset = self._repository.get(dataset_id)
        if dataset is None:
            raise _not_found(dataset_id)
        return dataset

    def named_at(self, pointer: str, dataset_id: uuid.UUID) -> DatasetRecord:
        """Return the data set that a request names at `pointer`. Raises DatasetNotFound, which has that pointer."""
        try:
            return self.get(dataset_id)
        except DatasetNotFound as error:
            raise DatasetNotFound.at(pointer, error.detail) from error

    def page(self, page: PageQuery, filters: dict[str, str]) -> tuple[list[DatasetRecord], str | None]:
        """Return one page of the data sets with these values, and the cursor of the next page."""
        return self._repository.page(page, filters)

    def stored(self, fingerprint: str) -> DatasetRecord | None:
        """Return the data set with this fingerprint, or None if its row or its file does not exist."""
        return self._repository.by_fingerprint(fingerprint) if self._store.holds(fingerprint) else None

    def register(self, file: PlainFile, options: UploadOptions, table: IngestedTable, canonical: Path) -> StoredDataset:
        """Move the file into the store and insert its row, unless another upload has stored the data set already."""
        with self._registering(file, options, table, canonical) as stored:
            return stored

    @contextmanager
    def _registering(
        self, file: PlainFile, options: UploadOptions, table: IngestedTable, canonical: Path
    ) -> Iterator[StoredDataset]:
        """Insert the row before the block, and store the file after the block unless it raises."""
        fingerprint = options.fingerprint(file.sha256)
        lock(self._session, fingerprint)
        dataset, created = self._repository.by_fingerprint(fingerprint), False
        if dataset is None:
            dataset, created = self._repository.add(_row(file, fingerprint, options, table)), True
        yield StoredDataset(dataset, created)
        if created or not self._store.holds(fingerprint):
            self._store.publish(canonical, fingerprint)

    @contextmanager
    def storing_columns(
        self,
        columns: Mapping[str, list[Any]],
        target: str,
        name: str,
        types: Mapping[str, str] = MappingProxyType({}),
        weight: str | None = None,
        group: str | None = None,
    ) -> Iterator[DatasetRecord]:
        """Store columns of JSON values as a data set. If the block raises, nothing is stored.

        types: names of a `ColumnKind` that replace detected ones.

        Raises:
            app.errors.Invalid: the errors of an upload, with pointers below `/data`.
        """
        kinds = {column: ColumnKind(kind) for column, kind in types.items()}
        options = UploadOptions(target=target, name=name, types=kinds, weight=weight, group=group)
        with self._store.staged() as staged, self._store.staged() as canonical:
            try:
                file = write_columns(staged, columns)
                read = ingest(file, FileFormat.ARROW_STREAM, options, self._limits, canonical)
            except ServiceError as error:
                repoint(error, inline_pointer)
                raise
            table = replace(read, reading=read.reading | {"format": INLINE_FORMAT})
            with self._registering(file, options, table, canonical) as stored:
                yield stored.dataset

    def update(self, dataset_id: uuid.UUID, values: dict[str, Any]) -> DatasetRecord:
        """Change name, description or tags, and return the data set. Raises DatasetNotFound."""
        dataset = self._repository.update(dataset_id, values)
        if dataset is None:
            raise _not_found(dataset_id)
        return dataset

    def delete(self, dataset_id: uuid.UUID) -> str:
        """Delete the row and return its fingerprint. Raises DatasetNotFound, DatasetInUse."""
        dataset = self.get(dataset_id)
        lock(self._session, dataset.fingerprint)
        try:
            if not self._repository.delete(dataset_id):
                raise _not_found(dataset_id)
        except IntegrityError as error:
            raise self._in_use(dataset_id) from error
        return dataset.fingerprint

    def _in_use(self, dataset_id: uuid.UUID) -> DatasetInUse:
        references = self._repository.references(dataset_id)
        listed = ", ".join(f"{name.replace('_', ' ')} ({count})" for name, count in references.items())
        way_out = "cancel its jobs or wait until they have ended, and delete its models first"
        detail = f"the data set {dataset_id} is used by {listed or 'other records'}; {way_out}"
        return DatasetInUse.at("path/dataset_id", detail)


def store_upload(
    sessions: SessionFactory,
    store: DatasetStore,
    limits: Limits,
    file: PlainFile,
    declared: FileFormat | None,
    options: UploadOptions,
) -> StoredDataset:
    """Store a decompressed upload and commit it. No transaction is open while the file is read."""
    # Checked before the fingerprint, so that a wrong name is refused whether or not the content is known.
    file_format = detect_format(file.path, declared, options.reading.encoding)
    with reading(sessions) as session:
        existing = DatasetService(session, store, limits).stored(options.fingerprint(file.sha256))
    # Text that was stored as another format is read again, so that its errors do not depend on what is known.
    if existing is not None and existing.reading.get("format") == file_format:
        return StoredDataset(existing, created=False)
    with store.staged() as canonical:
        table = ingest(file, declared, options, limits, canonical)
        with writing(sessions) as session:
            return DatasetService(session, store, limits).register(file, options, table, canonical)


def delete_dataset(sessions: SessionFactory, store: DatasetStore, limits: Limits, dataset_id: uuid.UUID) -> None:
    """Delete a data set and its file. Raises DatasetNotFound, DatasetInUse."""
    with writing(sessions) as session:
        fingerprint = DatasetService(session, store, limits).delete(dataset_id)
    with writing(sessions) as session:
        delete_if_unreferenced(session, store, DatasetRow.fingerprint, fingerprint)


def remove_unreferenced(
    sessions: SessionFactory, store: DatasetStore, older_than_seconds: float = ORPHAN_AFTER_SECONDS
) -> int:
    """Delete files of data sets that no row refers to and that are that old. Return how many were deleted."""
    return garbage.remove_unreferenced(sessions, store, DatasetRow.fingerprint, older_than_seconds)


def read_rows(
    sessions: SessionFactory, store: DatasetStore, limits: Limits, dataset_id: uuid.UUID, selection: RowSelection
) -> UploadedRows:
    """Return rows as they were uploaded.

    Raises:
        DatasetNotFound, DatasetFileMissing, DatasetFileDamaged, UnknownRow.
    """
    with reading(sessions) as session:
        dataset = DatasetService(session, store, limits).get(dataset_id)
    rows = selection.rows(dataset.n_rows)
    try:
        return uploaded_rows(dataset, store.rows(dataset.fingerprint, rows), rows)
    except DatasetFileMissing:
        # If the data set was deleted since its row was read, this raises DatasetNotFound. Otherwise the file is lost.
        with reading(sessions) as session:
            DatasetService(session, store, limits).get(dataset_id)
        raise


def profile(
    sessions: SessionFactory, store: DatasetStore, limits: Limits, dataset_id: uuid.UUID, selection: ColumnSelection
) -> tuple[DatasetRecord, TableProfile]:
    """Return a data set and the profiles of some of its columns.

    Raises:
        DatasetNotFound, DatasetFileMissing, DatasetFileDamaged, UnknownColumn.
    """
    with reading(sessions) as session:
        dataset = DatasetService(session, store, limits).get(dataset_id)
    return dataset, profile_columns(dataset, store, selection.positions(dataset))


def _not_found(dataset_id: uuid.UUID) -> DatasetNotFound:
    detail = f"there is no data set {dataset_id}; GET /datasets lists all data sets"
    return DatasetNotFound.at("path/dataset_id", detail)


def _row(file: PlainFile, fingerprint: str, options: UploadOptions, table: IngestedTable) -> DatasetRow:
    return DatasetRow(
        name=options.name,
        sha256=file.sha256,
        fingerprint=fingerprint,
        n_rows=table.n_rows,
        n_bytes=file.n_bytes,
        n_labeled=table.target.n_labeled,
        target=options.target,
        roles=options.roles | {"exclude": list(dict.fromkeys(options.exclude))},
        reading=table.reading,
        warnings=[warning.as_json() for warning in table.warnings],
        classes=table.target.as_json(),
        features=[feature.as_json() for feature in table.features],
    )
