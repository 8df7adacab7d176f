"""Queries on parts of JSON columns: compiled once, and not taken for each other."""

from typing import Any

from sqlalchemy import event, select
from sqlalchemy.engine.default import DefaultExecutionContext

from app.context import ServiceContext
from app.datasets.service import DatasetService, dataset_named_at
from app.datasets.tables import DatasetRow
from app.storage.database import reading
from app.storage.json_columns import json_part, json_without
from app.storage.pages import PageQuery
from app.trained_models.service import TrainedModelService
from tests.app.trained_models.made import make_trained_model
from tests.factories import make_dataset


def test_what_requests_ask_for_often_is_compiled_once(context: ServiceContext) -> None:
    dataset_id = make_dataset(context)
    make_trained_model(context)
    _ask(context, dataset_id)
    compiled: list[str] = []

    def note(_: Any, __: Any, statement: str, ___: Any, execution: DefaultExecutionContext, ____: Any) -> None:
        if execution.compiled is not None and execution.cache_hit.name != "CACHE_HIT":
            compiled.append(statement)

    event.listen(context.engine, "before_cursor_execute", note)
    _ask(context, dataset_id)
    assert compiled == []


def _ask(context: ServiceContext, dataset_id: Any) -> None:
    page = PageQuery(limit=5, cursor=None, sort="-created_at")
    with reading(context.sessions) as session:
        assert DatasetService(session, context.dataset_store).page(page, {}, None).items
        models = TrainedModelService(session, context.artifact_store)
        assert models.page(page, name=None, kind=None, dataset_id=None).items
        assert models.stored_bytes("credit-risk") > 0
    assert dataset_named_at(context.sessions, "/dataset_id", dataset_id).features


def test_parts_with_other_names_are_other_statements(context: ServiceContext) -> None:
    make_dataset(context)
    with reading(context.sessions) as session:
        roles = session.scalar(select(json_part(DatasetRow.roles)))
        assert len(roles) > 1
        for name in roles:
            assert session.scalar(select(json_part(DatasetRow.roles, name))) == roles[name]
            rest = session.scalar(select(json_without(DatasetRow.roles, (name,))))
            assert rest == {key: value for key, value in roles.items() if key != name}
