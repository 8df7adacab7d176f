"""A model that is deleted while it is loaded for the first time."""

from pathlib import Path

import pytest

from app.context import ServiceContext
from app.predictions.cache import LeastRecentlyUsed
from app.predictions.service import PredictionService
from app.storage.database import writing
from app.trained_models.errors import ArtifactMissing, ModelNotFound
from app.trained_models.service import TrainedModelService
from app.trained_models.store import ArtifactStore
from app.trained_models.tables import TrainedModelRow
from tests.app.trained_models.made import make_trained_model


class _DeletingStore(ArtifactStore):
    """Store that deletes a model, row and file, just before its file is opened."""

    def __init__(self, context: ServiceContext, doomed: TrainedModelRow) -> None:
        super().__init__(context.settings.artifacts_folder, context.settings.staging_folder)
        self._context, self._doomed = context, doomed

    def path(self, sha256: str) -> Path:
        if sha256 == self._doomed.artifact_sha256:
            with writing(self._context.sessions) as session:
                models = TrainedModelService(session, self)
                models.delete(models.get(self._doomed.id))
            with writing(self._context.sessions) as session:
                TrainedModelService(session, self).drop_artifact(sha256)
        return super().path(sha256)


def _service(context: ServiceContext, doomed: TrainedModelRow) -> PredictionService:
    return PredictionService(context.sessions, _DeletingStore(context, doomed), LeastRecentlyUsed())


def test_is_not_found(context: ServiceContext) -> None:
    doomed = make_trained_model(context)
    with pytest.raises(ModelNotFound):
        _service(context, doomed).open(str(doomed.id))


def test_its_name_resolves_to_the_previous_version(context: ServiceContext) -> None:
    kept, doomed = make_trained_model(context, seed=1), make_trained_model(context, seed=2)
    assert _service(context, doomed).open(doomed.name).id == str(kept.id)


def test_a_lost_file_is_reported_as_missing(context: ServiceContext) -> None:
    row = make_trained_model(context)
    context.artifact_store.delete(row.artifact_sha256)
    service = PredictionService(context.sessions, context.artifact_store, LeastRecentlyUsed())
    with pytest.raises(ArtifactMissing):
        service.open(row.name)
