"""Predictions of trained models that are loaded on first use."""

import hashlib
import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import core
from app.predictions.cache import LeastRecentlyUsed
from app.predictions.coercion import FeatureEncoder
from app.requests.label_text import label_text
from app.storage.database import SessionFactory, reading
from app.trained_models.errors import ArtifactDamaged, ArtifactMissing, ArtifactUnsupported
from app.trained_models.records import TrainedModelRecord
from app.trained_models.service import TrainedModelService
from app.trained_models.store import ArtifactStore
from core.service_api import winning_classes

log = logging.getLogger(__name__)

#: Size of the digests in ETags: 128 bits.
_DIGEST_BYTES = 16


@dataclass(frozen=True)
class ServedModel:
    """Trained model in memory. `labels[k]` is the class of column k of the estimator's probabilities."""

    id: str
    name: str
    version: int
    artifact_sha256: str
    estimator: Any
    encoder: FeatureEncoder
    labels: tuple[bool | int | float | str, ...]
    label_texts: tuple[str, ...]

    def reference(self) -> dict[str, Any]:
        """Return the id, name and version, as responses show them."""
        return {"id": self.id, "name": self.name, "version": self.version}

    def predictions(self, X: NDArray[np.float64]) -> list[dict[str, Any]]:
        """Return label and class probabilities of each row of X; ties go to the first class."""
        columns = self.estimator.columns_
        probabilities = self.estimator.predict_proba(X if columns is None else core.EncodedTable(X, columns))
        return [
            {"label": self.labels[k], "probabilities": dict(zip(self.label_texts, row, strict=True))}
            for k, row in zip(winning_classes(probabilities).tolist(), probabilities.tolist(), strict=True)
        ]

    def etag(self, X: NDArray[np.float64]) -> str:
        """Return the ETag of the predictions of X, equal for the same model and inputs however they are written."""
        digest = hashlib.blake2b(f"{self.id}:{self.artifact_sha256}:".encode(), digest_size=_DIGEST_BYTES)
        digest.update(np.where(np.isnan(X), np.nan, X + 0.0).tobytes())
        return f'"{digest.hexdigest()}"'


class PredictionService:
    def __init__(self, sessions: SessionFactory, store: ArtifactStore, cache: LeastRecentlyUsed[ServedModel]) -> None:
        self._sessions = sessions
        self._store = store
        self._cache = cache

    def open(self, reference: str) -> ServedModel:
        """Return the trained model, loaded into memory. The database connection is released before it is loaded.

        Raises:
            ModelNotFound, ArtifactMissing, ArtifactDamaged, ArtifactUnsupported.
        """
        row = self._row(reference)
        try:
            return self._opened(row)
        except ArtifactMissing:
            # If the model was deleted since it was looked up, the reference now means another version, or nothing.
            newest = self._row(reference)
            if newest.id == row.id:
                raise
            return self._opened(newest)

    def _row(self, reference: str) -> TrainedModelRecord:
        with reading(self._sessions) as session:
            return TrainedModelService(session, self._store).resolve(reference)

    def _opened(self, row: TrainedModelRecord) -> ServedModel:
        # The key is the id: models with files of the same digest may differ in the names of their categories.
        return self._cache.get(row.id, row.size_bytes, lambda: self._load(row))

    def _load(self, row: TrainedModelRecord) -> ServedModel:
        estimator = self._estimator(row)
        labels = tuple(row.feature_schema["classes"])
        return ServedModel(
            id=str(row.id),
            name=row.name,
            version=row.version,
            artifact_sha256=row.artifact_sha256,
            estimator=estimator,
            encoder=FeatureEncoder(_columns(estimator, row), estimator.left_out_),
            labels=labels,
            label_texts=tuple(map(label_text, labels)),
        )

    def _estimator(self, row: TrainedModelRecord) -> Any:
        try:
            return core.load(self._store.path(row.artifact_sha256))
        except core.ArtifactError as error:
            log.error("artifact %s of model %s cannot be read", row.artifact_sha256, row.id, exc_info=error)
            if isinstance(error, core.UnsupportedArtifact):
                raise ArtifactUnsupported(
                    f"The file of model {row.name}:{row.version} was written by a newer version of the service; "
                    "upgrade this service, or train the model again."
                ) from error
            raise ArtifactDamaged(
                f"The file of model {row.name}:{row.version} is damaged; restore it, or train the model again."
            ) from error


def _columns(estimator: Any, row: TrainedModelRecord) -> tuple[core.Column, ...]:
    """Return the columns of the fit. The files of earlier versions have none; those are in the row of the model."""
    if estimator.columns_ is not None:
        return tuple(estimator.columns_)
    return tuple(core.Column.from_json(entry) for entry in row.feature_schema["features"])
