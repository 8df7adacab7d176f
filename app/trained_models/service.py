"""Rules of trained models: versions, references, and when an artefact file may go."""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.http.pagination import PageQuery, paginate
from app.storage.content_store import drop_unless_named, remove_unnamed
from app.storage.database import SessionFactory, lock
from app.storage.staging import ORPHAN_AFTER_SECONDS
from app.trained_models.errors import ArtifactMissing, ModelNotFound
from app.trained_models.names import Reference, parse_reference
from app.trained_models.repository import TrainedModelRepository, number_at
from app.trained_models.store import ArtifactStore
from app.trained_models.tables import TrainedModelRow

_METRIC = re.compile(r"-?(metrics((?:\.[A-Za-z0-9_]{1,50}){1,5}))")


@dataclass(frozen=True, kw_only=True)
class NewTrainedModel:
    """What a worker knows about the estimator it has fitted and put into the store; see `TrainedModelRow`."""

    name: str
    kind: str
    parameters: dict[str, Any]
    seed: int
    dataset_id: uuid.UUID
    data_sha256: str
    code_version: str
    fit_seconds: float
    size_bytes: int
    artifact_sha256: str
    metrics: dict[str, Any]
    feature_schema: dict[str, Any]
    noise: dict[str, Any]
    fitted: dict[str, Any]
    certificate: dict[str, Any] | None = None


class TrainedModelService:
    def __init__(self, session: Session, store: ArtifactStore) -> None:
        self._session = session
        self._store = store
        self._models = TrainedModelRepository(session)

    def register(self, new: NewTrainedModel) -> TrainedModelRow:
        """Add `new` as the next version of its name; the number of a deleted version is not given again.

        Its artefact must be in the store already.

        Raises:
            ArtifactMissing: the artefact is not there, or somebody deleted the last other model with the very same
                bytes after `put`. Put it again, then register in a new transaction.
        """
        lock(self._session, new.artifact_sha256)
        if not self._store.holds(new.artifact_sha256):
            raise ArtifactMissing(f"Artefact {new.artifact_sha256} is not in the store; put it before registering.")
        values = {field.name: getattr(new, field.name) for field in fields(new)}
        row = TrainedModelRow(version=self._models.next_version(new.name), **values)
        self._session.add(row)
        self._session.flush()
        return row

    def get(self, model_id: uuid.UUID) -> TrainedModelRow:
        """Raises ModelNotFound."""
        return self._found(self._models.by_id(model_id), str(model_id))

    def resolve(self, reference: str) -> TrainedModelRow:
        """The model with this id, the latest version of this name, or exactly `name:version`.

        Raises:
            ModelNotFound: there is none, or `reference` is none of these forms.
        """
        parsed = parse_reference(reference)
        return self._found(self._lookup(parsed) if parsed else None, reference)

    def page(
        self, page: PageQuery, *, name: str | None, kind: str | None, dataset_id: uuid.UUID | None
    ) -> tuple[list[TrainedModelRow], str | None]:
        query = self._models.listed(name=name, kind=kind, dataset_id=dataset_id)
        return paginate(self._session, query, page, sortable=_sortable(page.sort), key=TrainedModelRow.id)

    def delete(self, row: TrainedModelRow) -> None:
        """Remove the row. Its file stays until `drop_artifact`, which belongs into a later transaction."""
        self._session.delete(row)
        self._session.flush()

    def drop_artifact(self, sha256: str) -> bool:
        """Remove the file unless a model needs it; whether none does. Call it after a row's deletion is committed."""
        return drop_unless_named(self._session, self._store, TrainedModelRow.artifact_sha256, sha256)

    def _lookup(self, reference: Reference) -> TrainedModelRow | None:
        if reference.id is not None:
            return self._models.by_id(reference.id)
        assert reference.name is not None
        return self._models.by_name(reference.name, reference.version)

    def _found(self, row: TrainedModelRow | None, reference: str) -> TrainedModelRow:
        if row is None:
            raise ModelNotFound(
                f"There is no trained model {reference!r:.200}. Name one by its id, by its name for the latest version "
                "or as name:version; GET /models lists them."
            )
        return row


def remove_unreferenced(
    sessions: SessionFactory, store: ArtifactStore, older_than_seconds: float = ORPHAN_AFTER_SECONDS
) -> int:
    """Delete the artefacts that a crash left without a row and that are that old; how many went."""
    return remove_unnamed(sessions, store, TrainedModelRow.artifact_sha256, older_than_seconds)


def _sortable(sort: str) -> Mapping[str, ColumnElement[Any] | InstrumentedAttribute[Any]]:
    """The columns that a list may be sorted by, and the metric that `sort` names, if it does."""
    columns: dict[str, ColumnElement[Any] | InstrumentedAttribute[Any]] = {
        name: getattr(TrainedModelRow, name) for name in ("created_at", "name", "version", "fit_seconds", "size_bytes")
    }
    metric = _METRIC.fullmatch(sort)
    if metric:
        columns[metric[1]] = number_at(TrainedModelRow.metrics, tuple(metric[2].split(".")[1:]))
    return columns
