"""Queries on trained models."""

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, Float, delete, exists, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.storage.orm import to_record
from app.storage.pages import PageQuery, UnknownSort, paginate
from app.trained_models.records import NewTrainedModel, TrainedModelRecord
from app.trained_models.tables import ModelNameRow, TrainedModelRow
from core.service_api import SCORES

_SORTABLE = ("created_at", "name", "version", "fit_seconds", "size_bytes")
#: Metrics that a list can be sorted by although no model has been scored yet.
_USUAL_METRICS = frozenset(
    [f"metrics.{rows}.{score}" for rows in ("test", "train_noisy") for score in SCORES]
    + [f"metrics.test_corrected.{score}" for score in ("accuracy", "standard_error")]
)
#: Number of the newest models whose metrics an error lists.
_MODELS_LISTED = 100
_METRIC = re.compile(r"-?(metrics((?:\.[A-Za-z0-9_]{1,50}){1,5}))")


class number_at(FunctionElement[float]):
    """Number at a path in a JSON column; null if there is none, or if the value is not a number.

    path: object keys of letters, digits and underscores only, because they become part of the SQL statement.
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
    """Trained models in the database."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, new: NewTrainedModel) -> TrainedModelRecord:
        """Insert `new` as the next version of its name.

        Raises:
            sqlalchemy.exc.IntegrityError: its data set was deleted.
        """
        values = {field.name: getattr(new, field.name) for field in fields(new)}
        row = TrainedModelRow(version=self._next_version(new.name), **values)
        self._session.add(row)
        self._session.flush()
        return _record(row)

    def by_id(self, model_id: uuid.UUID) -> TrainedModelRecord | None:
        row = self._session.get(TrainedModelRow, model_id)
        return _record(row) if row else None

    def by_name(self, name: str, version: int | None) -> TrainedModelRecord | None:
        """Return the given version, or the latest one if `version` is None."""
        query = select(TrainedModelRow).where(TrainedModelRow.name == name)
        if version is not None:
            query = query.where(TrainedModelRow.version == version)
        row = self._session.scalar(query.order_by(TrainedModelRow.version.desc()).limit(1))
        return _record(row) if row else None

    def delete(self, model_id: uuid.UUID) -> None:
        self._session.execute(delete(TrainedModelRow).where(TrainedModelRow.id == model_id))

    def _next_version(self, name: str) -> int:
        """Return the next version of a name. Other transactions that need one wait until this transaction ends."""
        on_postgresql = self._session.get_bind().dialect.name == "postgresql"
        insert: Callable[..., Any] = postgresql.insert if on_postgresql else sqlite.insert
        statement = insert(ModelNameRow).values(name=name, last_version=1)
        upsert = statement.on_conflict_do_update(
            index_elements=[ModelNameRow.name], set_={"last_version": ModelNameRow.last_version + 1}
        )
        version: int | None = self._session.scalar(upsert.returning(ModelNameRow.last_version))
        assert version is not None, "INSERT … RETURNING returns a row"
        return version

    def page(self, page: PageQuery, filters: Mapping[str, Any]) -> tuple[list[TrainedModelRecord], str | None]:
        query = select(TrainedModelRow).filter_by(**filters)
        sortable = self._sortable(page.sort)
        rows, next_cursor = paginate(self._session, query, page, sortable=sortable, key=TrainedModelRow.id)
        return [_record(row) for row in rows], next_cursor

    def _sortable(self, sort: str) -> Mapping[str, ColumnElement[Any] | InstrumentedAttribute[Any]]:
        """Return the columns that a list can be sorted by, and the metric that `sort` names, if it names one."""
        columns: dict[str, ColumnElement[Any] | InstrumentedAttribute[Any]] = {
            name: getattr(TrainedModelRow, name) for name in _SORTABLE
        }
        metric = _METRIC.fullmatch(sort)
        if metric:
            columns[metric[1]] = self._metric(metric[1])
        return columns

    def _metric(self, name: str) -> ColumnElement[Any]:
        """Return the column of a metric. Raises UnknownSort if no model can have it."""
        number = number_at(TrainedModelRow.metrics, tuple(name.split(".")[1:]))
        if name not in _USUAL_METRICS and not self._session.scalar(select(exists().where(number.is_not(None)))):
            raise UnknownSort.at(
                "query/sort",
                f"no model has the metric {name!r}; the metrics to sort by are {', '.join(self._metric_names())}, and "
                f"the other fields are {', '.join(_SORTABLE)}",
            )
        return number

    def _metric_names(self) -> list[str]:
        """Return the usual metrics and those of the newest models, sorted."""
        newest = select(TrainedModelRow.metrics).order_by(TrainedModelRow.created_at.desc()).limit(_MODELS_LISTED)
        stored = {name for metrics in self._session.scalars(newest) for name in _numeric_paths(metrics, "metrics")}
        return sorted(stored | _USUAL_METRICS)


def _numeric_paths(values: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield the paths of the numbers in nested mappings, such as `metrics.test.accuracy`."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _numeric_paths(value, f"{prefix}.{name}")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}.{name}"


def _record(row: TrainedModelRow) -> TrainedModelRecord:
    return to_record(row, TrainedModelRecord)
