"""SQL of trained models."""

import uuid
from collections.abc import Callable
from typing import Any

from sqlalchemy import Float, Select, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.trained_models.tables import ModelNameRow, TrainedModelRow


class number_at(FunctionElement[float]):
    """The number at `path` inside a JSON column; null when there is none, or when something else is there.

    path: object keys, each of letters, digits and underscores only, as they become part of the statement.
    """

    type = Float()
    inherit_cache = False
    name = "number_at"

    def __init__(self, column: InstrumentedAttribute[dict[str, Any]], path: tuple[str, ...]) -> None:
        super().__init__(column)
        self.path = path


@compiles(number_at, "postgresql")
def _number_at_postgresql(element: number_at, compiler: SQLCompiler, **kw: Any) -> str:
    column, path = compiler.process(element.clauses, **kw), "{" + ",".join(element.path) + "}"
    return f"(CASE jsonb_typeof({column} #> '{path}') WHEN 'number' THEN ({column} #>> '{path}')::double precision END)"


@compiles(number_at, "sqlite")
def _number_at_sqlite(element: number_at, compiler: SQLCompiler, **kw: Any) -> str:
    column, path = compiler.process(element.clauses, **kw), "$." + ".".join(f'"{key}"' for key in element.path)
    return f"(CASE WHEN json_type({column}, '{path}') IN ('integer', 'real') THEN json_extract({column}, '{path}') END)"


class TrainedModelRepository:
    def __init__(self, session: Session) -> None:
        self._session = session

    def by_id(self, model_id: uuid.UUID) -> TrainedModelRow | None:
        return self._session.get(TrainedModelRow, model_id)

    def by_name(self, name: str, version: int | None) -> TrainedModelRow | None:
        """The given version, or the latest when `version` is None."""
        query = select(TrainedModelRow).where(TrainedModelRow.name == name)
        if version is not None:
            query = query.where(TrainedModelRow.version == version)
        return self._session.scalar(query.order_by(TrainedModelRow.version.desc()).limit(1))

    def next_version(self, name: str) -> int:
        """Count the name's versions up; others who want one of the same name wait until this transaction ends."""
        on_postgresql = self._session.get_bind().dialect.name == "postgresql"
        insert: Callable[..., Any] = postgresql.insert if on_postgresql else sqlite.insert
        first = insert(ModelNameRow).values(name=name, last_version=1)
        counted = first.on_conflict_do_update(
            index_elements=[ModelNameRow.name], set_={"last_version": ModelNameRow.last_version + 1}
        )
        version: int | None = self._session.scalar(counted.returning(ModelNameRow.last_version))
        assert version is not None, "INSERT … RETURNING gives a row"
        return version

    def listed(self, *, name: str | None, kind: str | None, dataset_id: uuid.UUID | None) -> Select[TrainedModelRow]:
        given = {"name": name, "kind": kind, "dataset_id": dataset_id}
        return select(TrainedModelRow).filter_by(**{key: value for key, value in given.items() if value is not None})
