"""Registration of data sets: a table is read into the staging folder, then its row is inserted and its file published.

Reading takes as long as the table is large, so it happens before the transaction. The transaction only inserts the row
and moves the finished file into place.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlalchemy.orm import Session

from app.datasets.column_types import ColumnKind
from app.datasets.errors import repoint
from app.datasets.formats import FileFormat, PlainFile
from app.datasets.inline import INLINE_FORMAT, inline_pointer, write_columns
from app.datasets.options import UploadOptions
from app.datasets.records import DatasetRecord
from app.datasets.remote_reader import remote_reader
from app.datasets.repository import DatasetRepository
from app.datasets.store import DatasetStore
from app.datasets.table_summary import TableSummary
from app.datasets.tables import DatasetRow
from app.datasets.upload_warnings import UploadWarning
from app.errors import ServiceError
from app.settings import Limits
from app.storage.database import SessionFactory, lock, reading
from app.storage.orm import serialize_json, to_record, utc_now


@dataclass(frozen=True)
class StoredDataset:
    """Data set, whether this upload created it, and whether its name means a newer one."""

    dataset: DatasetRecord
    created: bool
    is_shadowed: bool = False

    def under_name(self, name: str | None) -> DatasetRecord:
        """Return the data set, with a warning if its name is not the one that the upload gave, or means a newer one."""
        has_other_name = name not in (None, self.dataset.name)
        if self.created or not (has_other_name or self.is_shadowed):
            return self.dataset
        difference = "but a newer data set has this name, which means that one; use the id, or"
        if has_other_name:
            difference = f"and keeps this name instead of {name!r};"
        stored = f"the same content is stored as {self.dataset.name!r}"
        detail = f"{stored}, {difference} PATCH /datasets/{self.dataset.id} renames it"
        warning = UploadWarning(None, "known_content", detail).as_json()
        return replace(self.dataset, warnings=[*self.dataset.warnings, warning])


def known_dataset(repository: DatasetRepository, dataset: DatasetRecord) -> StoredDataset:
    """Return a data set that was stored before."""
    return StoredDataset(dataset, created=False, is_shadowed=repository.id_of(dataset.name) != dataset.id)


class StagedDataset:
    """Data set whose file is complete in the staging folder and whose row has yet to be inserted."""

    def __init__(
        self, sessions: SessionFactory, file: PlainFile, options: UploadOptions, table: TableSummary, canonical: Path
    ) -> None:
        self._row = _row(file, options, table)
        self._canonical = canonical
        with reading(sessions) as session:
            self._existing = DatasetRepository(session).by_fingerprint(self._row.fingerprint)

    @property
    def record(self) -> DatasetRecord:
        """The stored data set with this content, or else the one that will be stored."""
        return self._existing or to_record(self._row, DatasetRecord)

    @contextmanager
    def registered(self, session: Session, store: DatasetStore) -> Iterator[StoredDataset]:
        """Insert the row, unless the data set exists, and publish the file at the end of the block.

        If the block raises, the file is not published. The block is the last part of its transaction, so that the file
        is on disk before a committed row refers to it.
        """
        fingerprint = self._row.fingerprint
        lock(session, fingerprint)
        stored = self._stored(DatasetRepository(session))
        yield stored
        if stored.created or not store.holds(fingerprint):
            store.publish(self._canonical, fingerprint)

    def _stored(self, repository: DatasetRepository) -> StoredDataset:
        stored_id = repository.id_by_fingerprint(self._row.fingerprint)
        if stored_id is None:
            return StoredDataset(repository.add(self._row), created=True)
        dataset = self._existing
        if dataset is None or dataset.id != stored_id:
            # Another upload of the same content was registered since this one was read.
            dataset = repository.get(stored_id)
            assert dataset is not None, "it was found in this transaction"
        return known_dataset(repository, dataset)


@contextmanager
def staged_columns(
    sessions: SessionFactory,
    store: DatasetStore,
    limits: Limits,
    columns: Mapping[str, list[Any]],
    target: str,
    name: str,
    types: Mapping[str, str] = MappingProxyType({}),
    weight: str | None = None,
    group: str | None = None,
) -> Iterator[StagedDataset]:
    """Read columns of JSON values, and yield the data set that they make. Its file is removed unless it is published.

    types: names of a `ColumnKind` that replace detected ones.

    Raises:
        app.errors.Invalid: the errors of an upload, with pointers below `/data`.
    """
    kinds = {column: ColumnKind(kind) for column, kind in types.items()}
    options = UploadOptions(target=target, name=name, types=kinds, weight=weight, group=group)
    with store.staged() as staged, store.staged() as canonical:
        try:
            file = write_columns(staged, columns)
            with remote_reader(limits) as reader:
                read = reader.ingest(file, FileFormat.ARROW_STREAM, options, canonical)
        except ServiceError as error:
            repoint(error, inline_pointer)
            raise
        table = replace(read, reading=read.reading | {"format": INLINE_FORMAT})
        yield StagedDataset(sessions, file, options, table, canonical)


def _row(file: PlainFile, options: UploadOptions, table: TableSummary) -> DatasetRow:
    row = DatasetRow(
        id=uuid.uuid4(),
        created_at=utc_now(),
        name=options.name,
        description=None,
        tags=[],
        sha256=file.sha256,
        fingerprint=options.fingerprint(file.sha256),
        n_rows=table.n_rows,
        n_bytes=file.n_bytes,
        n_labeled=table.n_labeled,
        target=options.target,
        roles=options.roles | {"exclude": list(dict.fromkeys(options.exclude))},
        reading=table.reading,
        warnings=table.warnings,
        classes=table.classes,
        features=table.features,
    )
    serialize_json(row)
    return row
