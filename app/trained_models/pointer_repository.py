"""Queries on aliases, and on the log of the moves of aliases and default versions."""

import uuid
from collections.abc import Collection
from typing import Any

from sqlalchemy import ScalarSelect, delete, select
from sqlalchemy.orm import InstrumentedAttribute, Session, with_expression

from app.storage.orm import to_record, utc_now
from app.storage.pages import Listed, PageQuery, SliceQuery, contains, paginate
from app.trained_models.records import AliasRecord, ModelVersion, MoveRecord, Pointer, Pointers
from app.trained_models.tables import ModelAliasRow, ModelMoveRow, ModelNameRow, TrainedModelRow

_SORTABLE = {
    "name": ModelAliasRow.name,
    "moved_at": ModelAliasRow.moved_at,
    "created_at": ModelAliasRow.created_at,
}


def _of_model(column: InstrumentedAttribute[Any]) -> ScalarSelect[Any]:
    return select(column).where(TrainedModelRow.id == ModelAliasRow.model_id).scalar_subquery()


_ALIASES = select(ModelAliasRow).options(
    with_expression(ModelAliasRow.model_name, _of_model(TrainedModelRow.name)),
    with_expression(ModelAliasRow.model_version, _of_model(TrainedModelRow.version)),
)


class PointerRepository:
    """Aliases and the log of moves in the database."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def alias(self, name: str) -> AliasRecord | None:
        row = self._session.scalar(_ALIASES.where(ModelAliasRow.name == name))
        return _record(row) if row else None

    def page(self, page: PageQuery, name_contains: str | None) -> Listed[AliasRecord]:
        query = _ALIASES.where(*contains(ModelAliasRow.name, name_contains))
        listed = paginate(self._session, query, page, sortable=_SORTABLE, key=ModelAliasRow.name)
        return listed.map(_record)

    def point(self, name: str, model_id: uuid.UUID) -> None:
        """Make the alias point to a model.

        Raises:
            sqlalchemy.exc.IntegrityError: the model was deleted; the transaction can continue.
        """
        with self._session.begin_nested():
            now = utc_now()
            row = self._session.get(ModelAliasRow, name) or ModelAliasRow(name=name, created_at=now)
            row.model_id, row.moved_at = model_id, now
            self._session.add(row)

    def delete(self, name: str) -> None:
        self._session.execute(delete(ModelAliasRow).where(ModelAliasRow.name == name))

    def pointers(self, model_ids: Collection[uuid.UUID]) -> Pointers:
        """Return what points to these models."""
        query = select(ModelAliasRow.model_id, ModelAliasRow.name).where(ModelAliasRow.model_id.in_(model_ids))
        aliases: dict[uuid.UUID, list[str]] = {}
        for model_id, name in self._session.execute(query.order_by(ModelAliasRow.name)):
            aliases.setdefault(model_id, []).append(name)
        defaults = select(ModelNameRow.default_model_id).where(ModelNameRow.default_model_id.in_(model_ids))
        return Pointers(aliases=aliases, defaults=frozenset(one for one in self._session.scalars(defaults) if one))

    def log(
        self, pointer: Pointer, name: str, actor: str | None, before: ModelVersion | None, after: ModelVersion | None
    ) -> None:
        """Record a move."""
        from_model, to_model = (model and model.to_json() for model in (before, after))
        self._session.add(
            ModelMoveRow(pointer=pointer, name=name, actor=actor, from_model=from_model, to_model=to_model)
        )

    def moves(self, pointer: Pointer, name: str, page: SliceQuery) -> tuple[list[MoveRecord], str | None]:
        """Return the moves, newest first, and the cursor of the next ones."""
        list_name = f"{pointer} {name}"
        query = select(ModelMoveRow).where(ModelMoveRow.pointer == pointer, ModelMoveRow.name == name)
        query = query.order_by(ModelMoveRow.id.desc()).offset(page.offset(list_name)).limit(page.limit + 1)
        rows = self._session.scalars(query).all()
        return [to_record(row, MoveRecord) for row in rows[: page.limit]], page.next_cursor(list_name, len(rows))


def _record(row: ModelAliasRow) -> AliasRecord:
    assert row.model_name is not None, "the query loads what the alias points to"
    assert row.model_version is not None
    model = ModelVersion(id=row.model_id, name=row.model_name, version=row.model_version)
    return AliasRecord(name=row.name, model=model, moved_at=row.moved_at, created_at=row.created_at)
