"""Trained models: registration, references, lists and deletion."""

import uuid
from collections.abc import Collection
from typing import Any, TypeVar

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.errors import some_of
from app.jobs.service import jobs_needing_model
from app.storage import garbage
from app.storage.content_store import StagedFile
from app.storage.database import SessionFactory, lock, reading, writing
from app.storage.pages import Listed, PageQuery
from app.storage.staging import ORPHAN_AFTER_SECONDS
from app.trained_models.errors import ArtifactMissing, ModelInUse, ModelNotFound
from app.trained_models.name_repository import NameRepository
from app.trained_models.names import parse_reference
from app.trained_models.pointer_repository import PointerRepository
from app.trained_models.records import (
    ModelIdentity,
    ModelVersion,
    NewTrainedModel,
    Pointers,
    TrainedModelItemRecord,
    TrainedModelRecord,
)
from app.trained_models.repository import TrainedModelRepository
from app.trained_models.store import ArtifactStore
from app.trained_models.tables import TrainedModelRow

T = TypeVar("T")


class TrainedModelService:
    """Trained models within one transaction."""

    def __init__(self, session: Session, store: ArtifactStore) -> None:
        self._session = session
        self._store = store
        self._models = TrainedModelRepository(session)

    def register(self, new: NewTrainedModel, artifact: StagedFile | None = None) -> TrainedModelRecord:
        """Insert `new` as the next version of its name. Numbers of deleted versions are not used again.

        artifact: its file, which the caller publishes at the end of the transaction; None if the store has it.

        Raises:
            ArtifactMissing: the store does not have the artifact.
        """
        lock(self._session, new.artifact_sha256)
        if artifact is None and not self._store.holds(new.artifact_sha256):
            raise ArtifactMissing(
                f"Artifact {new.artifact_sha256} is not in the store; put it there before registering the model."
            )
        return self._models.add(new)

    def get(self, model_id: uuid.UUID) -> TrainedModelRecord:
        """Return the model with this id. Raises ModelNotFound."""
        return self._found(self._models.by_id(model_id), str(model_id))

    def resolve(self, reference: str) -> TrainedModelRecord:
        """Return the model with this id, `name:version` or `@alias`, or the default or newest version of this name.

        Raises:
            ModelNotFound: there is no such model, or `reference` has another form.
        """
        parsed = parse_reference(reference)
        return self._found(self._models.by_reference(parsed) if parsed else None, reference)

    def identify(self, reference: str) -> ModelIdentity:
        """Return what names the model that `resolve` returns, without reading the rest of its row.

        Raises:
            ModelNotFound: there is no such model, or `reference` has another form.
        """
        parsed = parse_reference(reference)
        return self._found(self._models.identity(parsed) if parsed else None, reference)

    def stored_bytes(self, reference: str) -> int:
        """Return the bytes of JSON that the model is shown from; 0 if there is no such model."""
        parsed = parse_reference(reference)
        return self._models.stored_bytes(parsed) if parsed else 0

    def importances(self, model_id: uuid.UUID) -> dict[str, Any]:
        """Return the permutation importances of a model, or the reason why there are none."""
        return self._models.importances(model_id) or {"reason": "the model was trained by an earlier version"}

    def feature_schema(self, model_id: uuid.UUID) -> dict[str, Any]:
        """Return the features and classes of the model with this id. Raises ModelNotFound."""
        return self._found(self._models.feature_schema(model_id), str(model_id))

    def page(
        self,
        page: PageQuery,
        *,
        name: str | None,
        kind: str | None,
        dataset_id: uuid.UUID | None,
        name_contains: str | None = None,
    ) -> Listed[TrainedModelItemRecord]:
        """Return one page of the models with these values (None = any), whose name has this part."""
        filters = {"name": name, "kind": kind, "dataset_id": dataset_id}
        given = {field: value for field, value in filters.items() if value is not None}
        return self._models.page(page, given, name_contains)

    def parent(self, model: TrainedModelRecord) -> ModelVersion | None:
        """Return the version of the same name before this one, or None if it is the first that is left."""
        return self._models.before(model)

    def pointers(self, model_ids: Collection[uuid.UUID]) -> Pointers:
        """Return the aliases of these models, and which of them are default versions."""
        return PointerRepository(self._session).pointers(model_ids)

    def update(self, reference: str, values: dict[str, Any]) -> uuid.UUID:
        """Change description or tags of a model and return its id. Raises ModelNotFound."""
        model = self.identify(reference)
        if not self._models.update(model.id, values):
            raise not_found(reference)
        return model.id

    def delete(self, model: ModelIdentity) -> None:
        """Delete the row. Raises ModelNotFound, ModelInUse."""
        try:
            if not self._models.delete(model.id):
                raise not_found(str(model.id))
        except IntegrityError as error:
            raise self._in_use(model) from error

    def _in_use(self, model: ModelIdentity) -> ModelInUse:
        version = f"{model.name}:{model.version}"
        reasons = []
        if pointing := self._pointing_to(model):
            reasons.append(f"{version} is in use as {' and '.join(pointing)}; move or remove what points to it first")
        if jobs := jobs_needing_model(self._session, model.id):
            listed = some_of([str(job_id) for job_id in jobs])
            reasons.append(f"jobs that have not ended ({listed}) need {version}; cancel them, or wait for their end")
        detail = ". ".join(reasons) or f"an alias, a default version or a job needed {version}; try again"
        return ModelInUse.at("path/reference", detail)

    def _pointing_to(self, model: ModelIdentity) -> list[str]:
        pointers = self.pointers([model.id])
        aliases = pointers.aliases.get(model.id, [])
        pointing = [f"alias {some_of(aliases)}"] if aliases else []
        return pointing + ([f"the default version of {model.name!r}"] if pointers.defaults else [])

    def _found(self, found: T | None, reference: str) -> T:
        if found is None:
            raise not_found(reference)
        return found


def keep_model(session: Session, model_id: uuid.UUID) -> None:
    """Keep others from deleting a model until the transaction ends. Raises ModelNotFound."""
    if not TrainedModelRepository(session).keep(model_id):
        raise not_found(str(model_id))


def versions_of(sessions: SessionFactory, name: str) -> list[int]:
    """Return the numbers of all versions of a name, ascending."""
    with reading(sessions) as session:
        return NameRepository(session).versions(name)


def change_model(sessions: SessionFactory, store: ArtifactStore, reference: str, values: dict[str, Any]) -> uuid.UUID:
    """Change description or tags of a model and return its id. Raises ModelNotFound."""
    with writing(sessions) as session:
        return TrainedModelService(session, store).update(reference, values)


def delete_model(sessions: SessionFactory, store: ArtifactStore, reference: str) -> None:
    """Delete one version of a model, and then its file unless another model needs it.

    Raises:
        ModelNotFound, ModelInUse.
    """
    with reading(sessions) as session:
        model = TrainedModelService(session, store).identify(reference)
    with writing(sessions) as session:
        TrainedModelService(session, store).delete(model)
    garbage.drop_file(sessions, store, TrainedModelRow.artifact_sha256, model.artifact_sha256)


def not_found(reference: str) -> ModelNotFound:
    lists = "GET /aliases lists all aliases" if reference.startswith("@") else "GET /models lists all models"
    return ModelNotFound(
        f"There is no trained model {reference!r:.200}. Refer to a model by its id, by its name (default version, or "
        f"the newest), by name:version or by @alias; {lists}."
    )


def remove_unreferenced(
    sessions: SessionFactory, store: ArtifactStore, older_than_seconds: float = ORPHAN_AFTER_SECONDS
) -> int:
    """Delete artifacts that no row refers to and that are that old. Return how many were deleted."""
    return garbage.remove_unreferenced(sessions, store, TrainedModelRow.artifact_sha256, older_than_seconds)
