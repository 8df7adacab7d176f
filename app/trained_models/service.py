"""Trained models: registration, references, lists and deletion."""

import uuid

from sqlalchemy.orm import Session

from app.storage import garbage
from app.storage.database import SessionFactory, lock
from app.storage.pages import PageQuery
from app.storage.staging import ORPHAN_AFTER_SECONDS
from app.trained_models.errors import ArtifactMissing, ModelNotFound
from app.trained_models.names import Reference, parse_reference
from app.trained_models.records import NewTrainedModel, TrainedModelRecord
from app.trained_models.repository import TrainedModelRepository
from app.trained_models.store import ArtifactStore
from app.trained_models.tables import TrainedModelRow


class TrainedModelService:
    """Trained models within one transaction."""

    def __init__(self, session: Session, store: ArtifactStore) -> None:
        self._session = session
        self._store = store
        self._models = TrainedModelRepository(session)

    def register(self, new: NewTrainedModel) -> TrainedModelRecord:
        """Insert `new` as the next version of its name. Numbers of deleted versions are not used again.

        The artifact must be in the store already.

        Raises:
            ArtifactMissing: the artifact is not in the store. It may have been deleted after it was put there, with the
                last other model that has the same bytes. Put it again and register the model in a new transaction.
        """
        lock(self._session, new.artifact_sha256)
        if not self._store.holds(new.artifact_sha256):
            raise ArtifactMissing(
                f"Artifact {new.artifact_sha256} is not in the store; put it there before registering the model."
            )
        return self._models.add(new)

    def get(self, model_id: uuid.UUID) -> TrainedModelRecord:
        """Return the model with this id. Raises ModelNotFound."""
        return self._found(self._models.by_id(model_id), str(model_id))

    def resolve(self, reference: str) -> TrainedModelRecord:
        """Return the model with this id, the latest version of this name, or the model `name:version`.

        Raises:
            ModelNotFound: there is no such model, or `reference` has another form.
        """
        parsed = parse_reference(reference)
        return self._found(self._lookup(parsed) if parsed else None, reference)

    def page(
        self, page: PageQuery, *, name: str | None, kind: str | None, dataset_id: uuid.UUID | None
    ) -> tuple[list[TrainedModelRecord], str | None]:
        """Return one page of the models with these values (None = any), and the cursor of the next page."""
        filters = {"name": name, "kind": kind, "dataset_id": dataset_id}
        return self._models.page(page, {field: value for field, value in filters.items() if value is not None})

    def delete(self, model: TrainedModelRecord) -> None:
        """Delete the row. The file stays until `drop_artifact`, to be called in a later transaction."""
        self._models.delete(model.id)

    def drop_artifact(self, sha256: str) -> bool:
        """Delete the file unless another model needs it. Call this after the deletion of the row was committed.

        Return whether the file is gone.
        """
        return garbage.delete_if_unreferenced(self._session, self._store, TrainedModelRow.artifact_sha256, sha256)

    def _lookup(self, reference: Reference) -> TrainedModelRecord | None:
        if reference.id is not None:
            return self._models.by_id(reference.id)
        assert reference.name is not None
        return self._models.by_name(reference.name, reference.version)

    def _found(self, model: TrainedModelRecord | None, reference: str) -> TrainedModelRecord:
        if model is None:
            raise ModelNotFound(
                f"There is no trained model {reference!r:.200}. Refer to a model by its id, by its name (latest "
                "version) or by name:version; GET /models lists all models."
            )
        return model


def remove_unreferenced(
    sessions: SessionFactory, store: ArtifactStore, older_than_seconds: float = ORPHAN_AFTER_SECONDS
) -> int:
    """Delete artifacts that no row refers to and that are that old. Return how many were deleted."""
    return garbage.remove_unreferenced(sessions, store, TrainedModelRow.artifact_sha256, older_than_seconds)
