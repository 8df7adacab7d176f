"""Storing, reading and deleting data sets.

The file is stored before the row is committed, and deleted after the deletion of the row was committed: a file without
a row wastes space, but a row without a file is a loss.
"""

import threading
import uuid
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.datasets.column_profiles import ColumnSelection, TableProfile, profile_columns
from app.datasets.errors import DatasetFileMissing, DatasetInUse, DatasetNotFound
from app.datasets.formats import FileFormat, PlainFile
from app.datasets.options import UploadOptions
from app.datasets.records import DatasetItemRecord, DatasetRecord
from app.datasets.registration import StagedDataset, StoredDataset, known_dataset
from app.datasets.remote_reader import remote_reader
from app.datasets.repository import DatasetRepository
from app.datasets.row_texts import (
    MAX_SHOWN_CHARACTERS,
    RowSelection,
    UploadedRows,
    check_size,
    shown_bytes,
    uploaded_rows,
)
from app.datasets.store import DatasetStore
from app.datasets.tables import DatasetRow
from app.datasets.text_limits import require_short_options
from app.requests.dataset_reference import DatasetReference
from app.settings import Limits
from app.storage import garbage
from app.storage.database import SessionFactory, lock, reading, writing
from app.storage.pages import Listed, PageQuery
from app.storage.staging import ORPHAN_AFTER_SECONDS

#: SQLite, which runs in this process, takes several times the memory of a row to leave a part of it out.
_leaving_out = threading.Lock()


class DatasetService:
    """Data sets within one transaction."""

    def __init__(self, session: Session, store: DatasetStore) -> None:
        self._session = session
        self._repository = DatasetRepository(session)
        self._store = store

    def get(self, reference: DatasetReference) -> DatasetRecord:
        """Return the data set. Raises DatasetNotFound."""
        dataset_id = self._repository.id_of(reference)
        dataset = None if dataset_id is None else self._repository.get(dataset_id)
        if dataset is None:
            raise _not_found(reference)
        return dataset

    def stored_bytes(self, dataset_id: uuid.UUID) -> int:
        """Return the bytes of JSON that a data set is shown from; 0 if there is no such data set."""
        return self._repository.stored_bytes(dataset_id)

    def shown_bytes(self, dataset_id: uuid.UUID, n_rows: int) -> int:
        """Return about how many bytes so many of its rows are shown from; 0 if there is no such data set."""
        return self.stored_bytes(dataset_id) + shown_bytes(n_rows, self._repository.n_features(dataset_id) + 1)

    def page(self, page: PageQuery, filters: dict[str, str], name_contains: str | None) -> Listed[DatasetItemRecord]:
        """Return one page of the data sets with these values, whose name has this part (None = any)."""
        return self._repository.page(page, filters, name_contains)

    def stored(self, fingerprint: str) -> StoredDataset | None:
        """Return the data set with this fingerprint, or None if its row or its file does not exist."""
        dataset = self._repository.by_fingerprint(fingerprint) if self._store.holds(fingerprint) else None
        return None if dataset is None else known_dataset(self._repository, dataset)

    def update(self, dataset_id: uuid.UUID, values: dict[str, Any]) -> None:
        """Change name, description or tags. Raises DatasetNotFound."""
        if not self._repository.update(dataset_id, values):
            raise _not_found(dataset_id)

    def delete(self, dataset_id: uuid.UUID) -> str:
        """Delete the row and return its fingerprint. Raises DatasetNotFound, DatasetInUse."""
        fingerprint = self._repository.fingerprint(dataset_id)
        if fingerprint is None:
            raise _not_found(dataset_id)
        lock(self._session, fingerprint)
        try:
            if not self._repository.delete(dataset_id):
                raise _not_found(dataset_id)
        except IntegrityError as error:
            raise self._in_use(dataset_id) from error
        return fingerprint

    def _in_use(self, dataset_id: uuid.UUID) -> DatasetInUse:
        references = self._repository.references(dataset_id)
        listed = ", ".join(f"{name.replace('_', ' ')} ({count})" for name, count in references.items())
        way_out = (
            "cancel its jobs or wait until they have ended, and delete its models first. Ended audits do not keep "
            "it, and are deleted with it"
        )
        detail = f"the data set {dataset_id} is used by {listed or 'other records'}; {way_out}"
        return DatasetInUse.at("path/dataset_id", detail)


def id_of(sessions: SessionFactory, reference: DatasetReference, pointer: str) -> uuid.UUID:
    """Return the id that is given, or that of the newest data set with this name.

    Raises:
        DatasetNotFound: no data set has the name, which a request names at `pointer`.
    """
    if isinstance(reference, uuid.UUID):
        return reference
    with reading(sessions) as session:
        dataset_id = DatasetRepository(session).id_of(reference)
    if dataset_id is None:
        raise DatasetNotFound.at(pointer, _no_dataset(reference))
    return dataset_id


def dataset_named_at(sessions: SessionFactory, pointer: str, reference: DatasetReference) -> DatasetRecord:
    """Return the data set that a request names at `pointer`, without the categories of its features.

    Raises:
        DatasetNotFound: with that pointer.
    """
    with reading(sessions) as session:
        datasets = DatasetRepository(session)
        # Before the lock, so that nobody waits for it while its holder waits for a connection.
        dataset_id = datasets.id_of(reference)
        session.connection()
        with _leaving_out:
            dataset = None if dataset_id is None else datasets.without_categories(dataset_id)
    if dataset is None:
        raise DatasetNotFound.at(pointer, _no_dataset(reference))
    return dataset


def change_dataset(
    sessions: SessionFactory, store: DatasetStore, dataset_id: uuid.UUID, values: dict[str, Any]
) -> None:
    """Change name, description or tags. Raises DatasetNotFound."""
    with writing(sessions) as session:
        DatasetService(session, store).update(dataset_id, values)


def store_upload(
    sessions: SessionFactory,
    store: DatasetStore,
    limits: Limits,
    received: PlainFile,
    declared: FileFormat | None,
    options: UploadOptions,
) -> StoredDataset:
    """Store an upload, which may be compressed, and commit it. No transaction is open while the file is read.

    Raises:
        app.errors.ServiceError: the errors of an upload in `app.datasets.errors`.
    """
    require_short_options(options, limits.max_text_bytes)
    with store.staged() as plain, store.staged() as canonical:
        with remote_reader(limits) as reader:
            # Checked before the fingerprint, so that a wrong name is refused whether or not the content is known.
            prepared = reader.prepare(received, plain, declared, options.reading.encoding)
            file = prepared.file
            with reading(sessions) as session:
                known = DatasetService(session, store).stored(options.fingerprint(file.sha256))
            # Text that was stored as another format is read again, so that its errors do not depend on what is known.
            if known is not None and known.dataset.reading.get("format") == prepared.file_format:
                return known
            table = reader.ingest(file, declared, options, canonical)
        staged = StagedDataset(sessions, file, options, table, canonical)
        with writing(sessions) as session, staged.registered(session, store) as stored:
            return stored


def delete_dataset(sessions: SessionFactory, store: DatasetStore, dataset_id: uuid.UUID) -> None:
    """Delete a data set and then its file. Raises DatasetNotFound, DatasetInUse."""
    with writing(sessions) as session:
        fingerprint = DatasetService(session, store).delete(dataset_id)
    garbage.drop_file(sessions, store, DatasetRow.fingerprint, fingerprint)


def remove_unreferenced(
    sessions: SessionFactory, store: DatasetStore, older_than_seconds: float = ORPHAN_AFTER_SECONDS
) -> int:
    """Delete files of data sets that no row refers to and that are that old. Return how many were deleted."""
    return garbage.remove_unreferenced(sessions, store, DatasetRow.fingerprint, older_than_seconds)


def read_rows(
    sessions: SessionFactory, store: DatasetStore, dataset_id: uuid.UUID, selection: RowSelection
) -> UploadedRows:
    """Return rows as they were uploaded.

    Raises:
        DatasetNotFound, DatasetFileMissing, DatasetFileDamaged, UnknownRow.
    """
    with reading(sessions) as session:
        dataset = DatasetService(session, store).get(dataset_id)
    rows = selection.rows(dataset.n_rows)
    check_size(len(rows), len(dataset.features) + 1)
    try:
        return uploaded_rows(dataset, store.rows(dataset.fingerprint, rows, MAX_SHOWN_CHARACTERS), rows)
    except DatasetFileMissing:
        # If the data set was deleted since its row was read, this raises DatasetNotFound. Otherwise the file is lost.
        with reading(sessions) as session:
            DatasetService(session, store).get(dataset_id)
        raise


def profile(
    sessions: SessionFactory, store: DatasetStore, dataset_id: uuid.UUID, selection: ColumnSelection
) -> tuple[DatasetRecord, TableProfile]:
    """Return a data set and the profiles of some of its columns.

    Raises:
        DatasetNotFound, DatasetFileMissing, DatasetFileDamaged, UnknownColumn.
    """
    with reading(sessions) as session:
        dataset = DatasetService(session, store).get(dataset_id)
    return dataset, profile_columns(dataset, store, selection.positions(dataset))


def _not_found(dataset_id: DatasetReference) -> DatasetNotFound:
    return DatasetNotFound.at("path/dataset_id", _no_dataset(dataset_id))


def _no_dataset(reference: DatasetReference) -> str:
    named = f"with the id {reference}" if isinstance(reference, uuid.UUID) else f"named {reference!r:.200}"
    return f"there is no data set {named}; GET /datasets lists all data sets"
