"""Queries on data sets."""

import uuid
from dataclasses import fields
from typing import Any

from sqlalchemy import Table, case, delete, func, select, update
from sqlalchemy.orm import Session, defer, with_expression

from app.datasets.records import MAX_LISTED, DatasetItemRecord, DatasetRecord
from app.datasets.tables import DatasetRow
from app.storage.json_columns import count_by, entries_without, json_length, json_part, json_without, stored_json_bytes
from app.storage.orm import Base, to_record
from app.storage.pages import Listed, PageQuery, contains, paginate

_SORTABLE = {"created_at": DatasetRow.created_at, "name": DatasetRow.name, "n_rows": DatasetRow.n_rows}

_N_CLASSES, _N_EXCLUDED = json_length(DatasetRow.classes), json_length(DatasetRow.roles, "exclude")
_FEW_ROLES = case(
    (_N_EXCLUDED > MAX_LISTED, json_without(DatasetRow.roles, ("exclude",))), else_=json_part(DatasetRow.roles)
)
_LARGE = (DatasetRow.roles, DatasetRow.reading, DatasetRow.warnings, DatasetRow.classes, DatasetRow.features)
_SLIM = (
    *(defer(column, raiseload=True) for column in _LARGE),
    with_expression(DatasetRow.few_classes, case((_N_CLASSES <= MAX_LISTED, json_part(DatasetRow.classes)))),
    with_expression(DatasetRow.few_roles, _FEW_ROLES),
    with_expression(DatasetRow.n_classes, _N_CLASSES),
    with_expression(DatasetRow.n_excluded, _N_EXCLUDED),
    with_expression(DatasetRow.n_features, count_by(DatasetRow.features, "kind")),
    with_expression(DatasetRow.n_warnings, json_length(DatasetRow.warnings)),
)

_WITHOUT_CATEGORIES = (
    defer(DatasetRow.features, raiseload=True),
    with_expression(DatasetRow.few_features, entries_without(DatasetRow.features, "categories")),
)


class DatasetRepository:
    """Data sets in the database."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, dataset_id: uuid.UUID) -> DatasetRecord | None:
        row = self._session.get(DatasetRow, dataset_id)
        return _record(row) if row else None

    def without_categories(self, dataset_id: uuid.UUID) -> DatasetRecord | None:
        """Return the data set; its features have no `categories`, which can be all but a few bytes of the row."""
        row = self._session.scalar(select(DatasetRow).where(DatasetRow.id == dataset_id).options(*_WITHOUT_CATEGORIES))
        if row is None:
            return None
        values = {field.name: getattr(row, field.name) for field in fields(DatasetRecord) if field.name != "features"}
        return DatasetRecord(**values, features=row.few_features or [])

    def id_of(self, reference: uuid.UUID | str) -> uuid.UUID | None:
        """Return the id that is given, or that of the newest data set with this name."""
        if isinstance(reference, uuid.UUID):
            return reference
        newest = select(DatasetRow.id).where(DatasetRow.name == reference)
        return self._session.scalar(newest.order_by(DatasetRow.created_at.desc(), DatasetRow.id.desc()).limit(1))

    def stored_bytes(self, dataset_id: uuid.UUID) -> int:
        return self._session.scalar(select(stored_json_bytes(DatasetRow)).where(DatasetRow.id == dataset_id)) or 0

    def n_features(self, dataset_id: uuid.UUID) -> int:
        return self._session.scalar(select(json_length(DatasetRow.features)).where(DatasetRow.id == dataset_id)) or 0

    def by_fingerprint(self, fingerprint: str) -> DatasetRecord | None:
        row = self._session.scalar(select(DatasetRow).where(DatasetRow.fingerprint == fingerprint))
        return _record(row) if row else None

    def add(self, row: DatasetRow) -> DatasetRecord:
        self._session.add(row)
        self._session.flush()
        return _record(row)

    def id_by_fingerprint(self, fingerprint: str) -> uuid.UUID | None:
        return self._session.scalar(select(DatasetRow.id).where(DatasetRow.fingerprint == fingerprint))

    def fingerprint(self, dataset_id: uuid.UUID) -> str | None:
        return self._session.scalar(select(DatasetRow.fingerprint).where(DatasetRow.id == dataset_id))

    def update(self, dataset_id: uuid.UUID, values: dict[str, Any]) -> bool:
        """Set columns of the row, which is not loaded. Return whether it exists."""
        # A request may change nothing; the statement must set something all the same.
        row = update(DatasetRow).where(DatasetRow.id == dataset_id)
        query = row.values(id=DatasetRow.id, **values).returning(DatasetRow.id)
        return self._session.scalar(query.execution_options(synchronize_session=False)) is not None

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

    def page(self, page: PageQuery, filters: dict[str, str], name_contains: str | None) -> Listed[DatasetItemRecord]:
        query = select(DatasetRow).filter_by(**filters).where(*contains(DatasetRow.name, name_contains))
        listed = paginate(self._session, query.options(*_SLIM), page, sortable=_SORTABLE, key=DatasetRow.id)
        return listed.map(lambda row: to_record(row, DatasetItemRecord))


def _record(row: DatasetRow) -> DatasetRecord:
    return to_record(row, DatasetRecord)


def _references(table: Table) -> list[Any]:
    target = Base.metadata.tables[DatasetRow.__tablename__].c.id
    return [column for column in table.columns if column.references(target)]
