"""Queries on names of trained models: version numbers, default versions and renaming."""

import uuid
from collections.abc import Callable
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from app.trained_models.records import ModelVersion, Pointer
from app.trained_models.tables import ModelMoveRow, ModelNameRow, TrainedModelRow


class NameRepository:
    """Names of trained models in the database."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def next_version(self, name: str) -> int:
        """Return the next version of a name. Other transactions that need one wait until this transaction ends."""
        upsert = self._insert(name=name, last_version=1).on_conflict_do_update(
            index_elements=[ModelNameRow.name],
            set_={"last_version": ModelNameRow.last_version + 1, "renamed_to": None},
        )
        version: int | None = self._session.scalar(upsert.returning(ModelNameRow.last_version))
        assert version is not None, "INSERT … RETURNING returns a row"
        return version

    def locked(self, *names: str) -> dict[str, ModelNameRow]:
        """Return the rows of these names, new ones with version 0, locked until the transaction ends."""
        for name in sorted(names):
            self._session.execute(self._insert(name=name, last_version=0).on_conflict_do_nothing())
        query = select(ModelNameRow).where(ModelNameRow.name.in_(names)).order_by(ModelNameRow.name).with_for_update()
        return {row.name: row for row in self._session.scalars(query)}

    def lock(self, name: str) -> ModelNameRow | None:
        """Return the row of a name, locked until the transaction ends, or None if no model had the name."""
        return self._session.get(ModelNameRow, name, with_for_update=True)

    def is_used(self, name: str) -> bool:
        """Return whether a model has the name now."""
        return self._session.scalar(select(TrainedModelRow.id).where(TrainedModelRow.name == name).limit(1)) is not None

    def versions(self, name: str) -> list[int]:
        """Return the numbers of all versions of a name, ascending."""
        query = select(TrainedModelRow.version).where(TrainedModelRow.name == name).order_by(TrainedModelRow.version)
        return list(self._session.scalars(query))

    def version(self, name: str, number: int) -> ModelVersion | None:
        query = select(TrainedModelRow.id).where(TrainedModelRow.name == name, TrainedModelRow.version == number)
        model_id: uuid.UUID | None = self._session.scalar(query)
        return None if model_id is None else ModelVersion(id=model_id, name=name, version=number)

    def default(self, name: str) -> ModelVersion | None:
        """Return the default version of a name, or None if none is set."""
        columns = (TrainedModelRow.id, TrainedModelRow.name, TrainedModelRow.version)
        joined = select(*columns).join(ModelNameRow, ModelNameRow.default_model_id == TrainedModelRow.id)
        found = self._session.execute(joined.where(ModelNameRow.name == name)).one_or_none()
        return ModelVersion(**found._mapping) if found else None

    def rename(self, old: ModelNameRow, new: ModelNameRow) -> None:
        """Give all versions, the default version and its log to the new name, which has no models. Both are locked."""
        models = update(TrainedModelRow).where(TrainedModelRow.name == old.name).values(name=new.name)
        moves = (
            update(ModelMoveRow)
            .where(ModelMoveRow.pointer == Pointer.DEFAULT, ModelMoveRow.name == old.name)
            .values(name=new.name)
        )
        earlier = update(ModelNameRow).where(ModelNameRow.renamed_to == old.name).values(renamed_to=new.name)
        for statement in (models, moves, earlier):
            self._session.execute(statement.execution_options(synchronize_session=False))
        new.last_version, new.default_model_id, new.renamed_to = old.last_version, old.default_model_id, None
        old.default_model_id, old.renamed_to = None, new.name

    def _insert(self, **values: Any) -> Any:
        """Return the statement of the dialect, which can say what happens if the name exists."""
        on_postgresql = self._session.get_bind().dialect.name == "postgresql"
        insert: Callable[..., Any] = postgresql.insert if on_postgresql else sqlite.insert
        return insert(ModelNameRow).values(**values)
