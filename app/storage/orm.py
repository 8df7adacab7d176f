"""Declarative base and column types of all tables."""

import uuid
from dataclasses import fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from sqlalchemy import JSON, DateTime, Dialect, Enum, MetaData, TypeDecorator, Uuid, inspect
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.storage.json_text import serialized

#: All constraints have names, because Alembic can only alter constraints with names.
NAMING = {
    "ix": "ix_%(column_0_N_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

#: JSONB on PostgreSQL, which can be indexed and compared; text on SQLite. None is stored as NULL, not as JSON null.
Json = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


class UtcDateTime(TypeDecorator[datetime]):
    """Time in UTC. In Python it always has a time zone, although SQLite does not store one."""

    impl = DateTime(timezone=True)
    cache_ok = True

    @property
    def python_type(self) -> type[datetime]:
        return datetime

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def stored_enum(values: type[StrEnum], name: str) -> Enum:
    """Return a column type that stores the values of an enum as text with a check constraint."""
    return Enum(
        values,
        native_enum=False,
        create_constraint=True,
        length=20,
        name=name,
        values_callable=lambda members: [member.value for member in members],
    )


class Base(DeclarativeBase):
    """Base class of all tables."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012 (SQLAlchemy reads it as a class attribute)
        dict[str, Any]: Json,
        list[Any]: Json,
        datetime: UtcDateTime,
        uuid.UUID: Uuid,
    }


class IdMixin:
    """Mixin for a random id that the server makes."""

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)


class CreatedMixin:
    """Mixin for the time at which a row was inserted."""

    created_at: Mapped[datetime] = mapped_column(default=utc_now, index=True)


Record = TypeVar("Record")


def to_record(row: Base, record_type: type[Record]) -> Record:
    """Return a copy of `row` that needs no session. record_type: a dataclass whose fields are columns of the row."""
    values = {field.name: getattr(row, field.name) for field in fields(record_type)}  # type: ignore[arg-type]
    return record_type(**values)


def serialize_json(row: Base) -> None:
    """Convert the JSON columns of a new row to text now, so that the transaction which inserts it does not do it."""
    for attribute in inspect(type(row)).column_attrs:
        if isinstance(attribute.columns[0].type, JSON):
            setattr(row, attribute.key, serialized(getattr(row, attribute.key)))
