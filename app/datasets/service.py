"""Storing, reading and deleting data sets.

The file is stored before the row is committed, and deleted after the deletion of the row was committed: a file without
a row wastes space, but a row without a file is a loss.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.datasets.errors import DatasetFileMissing, DatasetInUse, DatasetNotFound, repoint
from app.datasets.formats import FileFormat, PlainFile
from app.datasets.ingestion import IngestedTable, UploadOptions, ingest
from app.datasets.inline import inline_pointer, write_columns
from app.datasets.records import DatasetRecord
from app.datasets.repository import DatasetRepository
from app.datasets.store import DatasetStore
from app.datasets.tables import DatasetRow
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


@dataclass(frozen=True)
class TableHead:
    """First rows of a data set. rows: category names, labels and numbers; None = missing. The target is last."""

    columns: list[str]
    rows: list[list[Any]]


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
    def storing_columns(self, columns: dict[str, list[Any]], target: str, name: str) -> Iterator[DatasetRecord]:
        """Store columns of JSON values as a data set. If the block raises, nothing is stored.

        Raises:
            app.errors.Invalid: the errors of an upload, with pointers below `/data`.
        """
        options = UploadOptions(target=target, name=name)
        with self._store.staged() as staged, self._store.staged() as canonical:
            try:
                file = write_columns(staged, columns)
                table = ingest(file, FileFormat.ARROW_STREAM, options, self._limits, canonical)
            except ServiceError as error:
                repoint(error, inline_pointer)
                raise
            with self._registering(file, options, table, canonical) as stored:
                yield stored.dataset

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
    with reading(sessions) as session:
        existing = DatasetService(session, store, limits).stored(options.fingerprint(file.sha256))
    if existing is not None:
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


def read_head(
    sessions: SessionFactory, store: DatasetStore, limits: Limits, dataset_id: uuid.UUID, limit: int
) -> TableHead:
    """Return the first rows as they were uploaded.

    Raises:
        DatasetNotFound, DatasetFileMissing, DatasetFileDamaged.
    """
    with reading(sessions) as session:
        dataset = DatasetService(session, store, limits).get(dataset_id)
    try:
        stored = store.head(dataset.fingerprint, limit)
    except DatasetFileMissing:
        # If the data set was deleted since its row was read, this raises DatasetNotFound. Otherwise the file is lost.
        with reading(sessions) as session:
            DatasetService(session, store, limits).get(dataset_id)
        raise
    labels = [entry["label"] for entry in dataset.classes]
    value_lists = [*(feature["categories"] for feature in dataset.features), labels]
    columns = [_decoded(values, names) for values, names in zip(stored, value_lists, strict=True)]
    names = [*(feature["name"] for feature in dataset.features), dataset.target]
    return TableHead(names, [list(values) for values in zip(*columns, strict=True)])


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
        target=options.target,
        classes=table.target.as_json(),
        features=[feature.as_json() for feature in table.features],
    )


def _decoded(values: list[Any], names: list[Any] | None) -> list[Any]:
    if names is None:
        return values
    return [None if value is None else names[value] for value in values]
