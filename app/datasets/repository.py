"""Queries on data sets."""

import uuid
from typing import Any

from sqlalchemy import Table, delete, func, select
from sqlalchemy.orm import Session

from app.datasets.records import DatasetRecord
from app.datasets.tables import DatasetRow
from app.storage.orm import Base, to_record
from app.storage.pages import PageQuery, paginate

_SORTABLE = {"created_at": DatasetRow.created_at, "name": DatasetRow.name, "n_rows": DatasetRow.n_rows}


class DatasetRepository:
    """Data sets in the database."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, dataset_id: uuid.UUID) -> DatasetRecord | None:
        row = self._session.get(DatasetRow, dataset_id)
        return _record(row) if row else None

    def by_fingerprint(self, fingerprint: str) -> DatasetRecord | None:
        row = self._session.scalar(select(DatasetRow).where(DatasetRow.fingerprint == fingerprint))
        return _record(row) if row else None

    def add(self, row: DatasetRow) -> DatasetRecord:
        self._session.add(row)
        self._session.flush()
        return _record(row)

    def update(self, dataset_id: uuid.UUID, values: dict[str, Any]) -> DatasetRecord | None:
        row = self._session.get(DatasetRow, dataset_id)
        if row is None:
            return None
        for name, value in values.items():
            setattr(row, name, value)
        self._session.flush()
        return _record(row)

    def delete(self, dataset_id: uuid.UUID) -> bool:
        """Delete the row. Return whether it existed.

        Raises:
            sqlalchemy.exc.IntegrityError: another table refers to the row; the transaction can continue.
        """
        with self._session.begin_nested():
            query = delete(DatasetRow).where(DatasetRow.id == dataset_id).returning(DatasetRow.id)
            return self._session.scalar(query) is not None

    def references(self, dataset_id: uuid.UUID) -> dict[str, int]:
        """Return how many rows of each table refer to the data set, by the name of the table."""
        counts: dict[str, int] = {}
        for table in Base.metadata.sorted_tables:
            for column in _references(table):
                query = select(func.count()).select_from(table).where(column == dataset_id)
                counts[table.name] = counts.get(table.name, 0) + (self._session.scalar(query) or 0)
        return {name: count for name, count in counts.items() if count}

    def page(self, page: PageQuery, filters: dict[str, str]) -> tuple[list[DatasetRecord], str | None]:
        query = select(DatasetRow).filter_by(**filters)
        rows, next_cursor = paginate(self._session, query, page, sortable=_SORTABLE, key=DatasetRow.id)
        return [_record(row) for row in rows], next_cursor


def _record(row: DatasetRow) -> DatasetRecord:
    return to_record(row, DatasetRecord)


def _references(table: Table) -> list[Any]:
    target = Base.metadata.tables[DatasetRow.__tablename__].c.id
    return [column for column in table.columns if column.references(target)]
