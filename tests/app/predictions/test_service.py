"""Models that are opened for predictions: what is read, and what happens if they are deleted meanwhile."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, event

from app.context import ServiceContext
from app.predictions.service import PredictionService
from app.trained_models.errors import ArtifactMissing, ModelNotFound
from app.trained_models.service import change_model, delete_model
from app.trained_models.store import ArtifactStore
from app.trained_models.tables import TrainedModelRow
from tests.app.trained_models.made import make_trained_model
from tests.stored_files import remove


class _DeletingStore(ArtifactStore):
    """Store that deletes a model, row and file, just before its file is opened for the first time."""

    def __init__(self, context: ServiceContext, doomed: TrainedModelRow) -> None:
        super().__init__(context.settings.artifacts_folder, context.settings.staging_folder)
        self._context = context
        self._doomed: TrainedModelRow | None = doomed

    def path(self, sha256: str) -> Path:
        doomed = self._doomed
        if doomed is not None and sha256 == doomed.artifact_sha256:
            self._doomed = None
            delete_model(self._context.sessions, self, str(doomed.id))
        return super().path(sha256)


def _service(context: ServiceContext, doomed: TrainedModelRow) -> PredictionService:
    return PredictionService(
        context.sessions, _DeletingStore(context, doomed), context.served_models, context.instruments
    )


def test_is_not_found(context: ServiceContext) -> None:
    doomed = make_trained_model(context)
    with pytest.raises(ModelNotFound):
        _service(context, doomed).open(str(doomed.id))


def test_its_name_resolves_to_the_previous_version(context: ServiceContext) -> None:
    kept, doomed = make_trained_model(context, seed=1), make_trained_model(context, seed=2)
    assert _service(context, doomed).open(doomed.name).id == str(kept.id)


def test_its_name_resolves_to_the_previous_version_although_both_have_one_file(context: ServiceContext) -> None:
    kept, doomed = make_trained_model(context), make_trained_model(context)
    assert kept.artifact_sha256 == doomed.artifact_sha256
    assert _service(context, doomed).open(doomed.name).id == str(kept.id)


@pytest.mark.parametrize("by", ["id", "name", "name:version"])
def test_a_model_in_memory_is_found_without_its_large_columns(context: ServiceContext, by: str) -> None:
    row = make_trained_model(context)
    reference = {"id": str(row.id), "name": row.name, "name:version": f"{row.name}:{row.version}"}[by]
    service = PredictionService(context.sessions, context.artifact_store, context.served_models, context.instruments)
    first, again = _selects(context, service, reference), _selects(context, service, reference)
    # The first time, the features and classes are read as well. Then nothing is, until the registry changes.
    assert [_large_columns(statement) for statement in first] == [set(), {"feature_schema"}]
    assert again == []
    change_model(context.sessions, context.artifact_store, reference, {"description": "changed"})
    assert _selects(context, service, reference) == []
    make_trained_model(context, name="another")
    change_model(context.sessions, context.artifact_store, "another", {"name": "renamed"})
    assert [_large_columns(statement) for statement in _selects(context, service, reference)] == [set()]


def _selects(context: ServiceContext, service: PredictionService, reference: str) -> list[str]:
    """Return the queries that opening a model takes."""
    seen: list[str] = []

    def see(connection: Any, cursor: Any, statement: str, *others: Any) -> None:
        seen.append(statement)

    event.listen(context.engine, "before_cursor_execute", see)
    try:
        service.open(reference)
    finally:
        event.remove(context.engine, "before_cursor_execute", see)
    return [statement for statement in seen if statement.startswith("SELECT")]


def _large_columns(statement: str) -> set[str]:
    selected = statement.partition("FROM")[0]
    documents = [column.name for column in TrainedModelRow.__table__.columns if isinstance(column.type, JSON)]
    assert "metrics" in documents
    return {name for name in documents if f".{name}" in selected}


def test_a_lost_file_is_reported_as_missing(context: ServiceContext) -> None:
    row = make_trained_model(context)
    remove(context.artifact_store, row.artifact_sha256)
    service = PredictionService(context.sessions, context.artifact_store, context.served_models, context.instruments)
    with pytest.raises(ArtifactMissing):
        service.open(row.name)
