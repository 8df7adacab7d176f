"""Queries on trained models."""

import re
import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, Float, ScalarSelect, Select, delete, exists, func, select, update
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.storage.json_columns import json_without, stored_json_bytes
from app.storage.orm import to_record
from app.storage.pages import Listed, PageQuery, UnknownSort, contains, paginate
from app.trained_models.list_columns import LARGE_METRICS, SLIM
from app.trained_models.name_repository import NameRepository
from app.trained_models.names import Reference
from app.trained_models.records import (
    ComparableModel,
    ModelIdentity,
    ModelVersion,
    NewTrainedModel,
    TrainedModelItemRecord,
    TrainedModelRecord,
)
from app.trained_models.registry_changes import DESCRIPTIVE, KEEPS_REFERENCES
from app.trained_models.tables import ModelAliasRow, ModelNameRow, TrainedModelRow
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

_COMPARED = (
    *(getattr(TrainedModelRow, field.name) for field in fields(ComparableModel) if field.name != "metrics"),
    json_without(TrainedModelRow.metrics, *LARGE_METRICS).label("metrics"),
)


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
        row = TrainedModelRow(version=NameRepository(self._session).next_version(new.name), **values)
        self._session.add(row)
        self._session.flush()
        return _record(row)

    def by_id(self, model_id: uuid.UUID) -> TrainedModelRecord | None:
        row = self._session.get(TrainedModelRow, model_id)
        return _record(row) if row else None

    def by_reference(self, reference: Reference) -> TrainedModelRecord | None:
        row = self._session.scalar(_referred(select(TrainedModelRow), reference))
        return _record(row) if row else None

    def before(self, model: TrainedModelRecord) -> ModelVersion | None:
        """Return the version of the same name before this one, or None if it is the first that is left."""
        columns = (TrainedModelRow.id, TrainedModelRow.name, TrainedModelRow.version)
        query = select(*columns).where(TrainedModelRow.name == model.name, TrainedModelRow.version < model.version)
        found = self._session.execute(query.order_by(TrainedModelRow.version.desc()).limit(1)).one_or_none()
        return ModelVersion(**found._mapping) if found else None

    def identity(self, reference: Reference) -> ModelIdentity | None:
        columns = {field.name: getattr(TrainedModelRow, field.name) for field in fields(ModelIdentity)}
        found = self._session.execute(_referred(select(*columns.values()), reference)).one_or_none()
        return ModelIdentity(**dict(zip(columns, found, strict=True))) if found else None

    def comparable(self, model_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, ComparableModel]:
        """Return what models are compared by, by their ids."""
        query = select(*_COMPARED).where(TrainedModelRow.id.in_(model_ids))
        return {row.id: ComparableModel(**row._mapping) for row in self._session.execute(query)}

    def stored_bytes(self, reference: Reference) -> int:
        return self._session.scalar(_referred(select(stored_json_bytes(TrainedModelRow)), reference)) or 0

    def importances(self, model_id: uuid.UUID) -> dict[str, Any] | None:
        return self._session.scalar(select(TrainedModelRow.importances).where(TrainedModelRow.id == model_id))

    def feature_schema(self, model_id: uuid.UUID) -> dict[str, Any] | None:
        return self._session.scalar(select(TrainedModelRow.feature_schema).where(TrainedModelRow.id == model_id))

    def update(self, model_id: uuid.UUID, values: dict[str, Any]) -> bool:
        """Set columns of the row, which is not loaded. Return whether it exists."""
        # A request may change nothing; the statement must set something all the same.
        row = update(TrainedModelRow).where(TrainedModelRow.id == model_id)
        query = row.values(id=TrainedModelRow.id, **values).returning(TrainedModelRow.id)
        options = {"synchronize_session": False, KEEPS_REFERENCES: values.keys() <= DESCRIPTIVE}
        return self._session.scalar(query.execution_options(**options)) is not None

    def delete(self, model_id: uuid.UUID) -> bool:
        """Delete the row. Return whether it existed.

        Raises:
            sqlalchemy.exc.IntegrityError: an alias, a default version or a job needs it; the transaction can continue.
        """
        with self._session.begin_nested():
            query = delete(TrainedModelRow).where(TrainedModelRow.id == model_id).returning(TrainedModelRow.id)
            return self._session.scalar(query) is not None

    def keep(self, model_id: uuid.UUID) -> bool:
        """Keep others from deleting the row until the transaction ends. Return whether it exists."""
        query = select(TrainedModelRow.id).where(TrainedModelRow.id == model_id)
        return self._session.scalar(query.with_for_update(read=True, key_share=True)) is not None

    def page(
        self, page: PageQuery, filters: Mapping[str, Any], name_contains: str | None
    ) -> Listed[TrainedModelItemRecord]:
        query = select(TrainedModelRow).filter_by(**filters).options(*SLIM)
        query = query.where(*contains(TrainedModelRow.name, name_contains))
        sortable = self._sortable(page.sort)
        listed = paginate(self._session, query, page, sortable=sortable, key=TrainedModelRow.id)
        return listed.map(lambda row: to_record(row, TrainedModelItemRecord))

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


def _referred(query: Select[Any], reference: Reference) -> Select[Any]:
    """Return the query for the one model that the reference means."""
    if reference.id is not None:
        return query.where(TrainedModelRow.id == reference.id)
    if reference.alias is not None:
        return query.where(TrainedModelRow.id == _id_of_alias(reference.alias))
    if reference.version is None:
        return query.where(TrainedModelRow.id == _id_of_name(reference.name))
    return query.where(TrainedModelRow.name == reference.name, TrainedModelRow.version == reference.version)


def _id_of_alias(alias: str) -> ScalarSelect[Any]:
    return select(ModelAliasRow.model_id).where(ModelAliasRow.name == alias).scalar_subquery()


def _id_of_name(name: str | None) -> ColumnElement[Any]:
    """Return the id of the model that a bare name means: the default version if one is set, else the newest."""
    default = select(ModelNameRow.default_model_id).where(ModelNameRow.name == name)
    newest = select(TrainedModelRow.id).where(TrainedModelRow.name == name)
    newest = newest.order_by(TrainedModelRow.version.desc()).limit(1)
    return func.coalesce(default.scalar_subquery(), newest.correlate(None).scalar_subquery())


def _numeric_paths(values: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield the paths of the numbers in nested mappings, such as `metrics.test.accuracy`."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _numeric_paths(value, f"{prefix}.{name}")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}.{name}"


def _record(row: TrainedModelRow) -> TrainedModelRecord:
    return to_record(row, TrainedModelRecord)
