"""Predictions of trained models that are loaded on first use."""

import hashlib
import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import core
from app.predictions.answer_cost import AnswerCost, bytes_per_row, check
from app.predictions.cache import LeastRecentlyUsed
from app.predictions.coercion import FeatureEncoder
from app.predictions.held_memory import held_bytes
from app.predictions.one_row_text import OneRowText
from app.predictions.plain_query import PlainRows
from app.predictions.predicted_rows import PredictedRows
from app.requests.label_text import label_text
from app.settings import Limits
from app.storage.database import SessionFactory, reading
from app.telemetry.counts import Cell
from app.telemetry.instruments import CacheCounts, Instruments
from app.trained_models.errors import ArtifactDamaged, ArtifactMissing, ArtifactUnsupported, ModelNotFound
from app.trained_models.records import ModelIdentity
from app.trained_models.reference_cache import ReferenceCache
from app.trained_models.service import TrainedModelService
from app.trained_models.store import ArtifactStore
from core.service_api import RowPredictor, prediction_layouts, row_predictor

log = logging.getLogger(__name__)

#: Size of the digests in ETags: 128 bits.
_DIGEST_BYTES = 16
#: Predictions that are timed when a model is loaded; the fastest counts, because the others may have been interrupted.
_TIMED_ROWS = 3


@dataclass(frozen=True)
class ServedModel:
    """Trained model in memory. `labels[k]` is the class of column k of the estimator's probabilities.

    bytes_per_row: a bound on the JSON text of one prediction.
    row_seconds: time that the estimator took for one row when it was loaded.
    """

    id: str
    name: str
    version: int
    artifact_sha256: str
    estimator: Any
    encoder: FeatureEncoder
    labels: tuple[bool | int | float | str, ...]
    label_texts: tuple[str, ...]
    bytes_per_row: int
    row_seconds: float
    #: Probabilities of a row, without the checks of the estimator.
    predict_row: RowPredictor
    #: Counter of predicted rows.
    n_predicted: Cell

    @cached_property
    def plain_rows(self) -> PlainRows:
        return PlainRows(self.encoder.columns)

    @cached_property
    def has_distinct_labels(self) -> bool:
        return len(set(self.label_texts)) == len(self.label_texts)

    @cached_property
    def one_row_text(self) -> OneRowText:
        return OneRowText(self.reference(), self.labels, self.label_texts)

    def reference(self) -> dict[str, Any]:
        """Return the id, name and version, as responses show them."""
        return {"id": self.id, "name": self.name, "version": self.version}

    def cost(self, n_rows: int, limits: Limits) -> AnswerCost:
        """Return the cost of an answer to so many rows.

        Raises:
            TooManyCells, AnswerTooLarge: it exceeds a limit.
        """
        n_features, n_classes = len(self.encoder.columns), len(self.labels)
        cost = AnswerCost(n_rows * (n_features + n_classes), n_rows * self.bytes_per_row)
        check(cost, n_rows, f"{n_features} features and {n_classes} classes", limits)
        return cost

    def predict(self, X: NDArray[np.float64]) -> PredictedRows:
        """Return the class probabilities of each row of X."""
        self.n_predicted.add(len(X))
        return PredictedRows(self.labels, self.label_texts, self.bytes_per_row, _probabilities(self.estimator, X))

    def etag(self, X: NDArray[np.float64]) -> str:
        """Return the ETag of the predictions of X, equal for the same model and inputs however they are written."""
        canonical = X + 0.0
        canonical[np.isnan(canonical)] = np.nan
        digest = self._model_digest.copy()
        digest.update(canonical.tobytes())
        return f'"{digest.hexdigest()}"'

    @cached_property
    def _model_digest(self) -> "hashlib.blake2b":
        return hashlib.blake2b(f"{self.id}:{self.artifact_sha256}:".encode(), digest_size=_DIGEST_BYTES)


class ServedModels:
    """Models of one process that are in memory, and what references mean. Takes no time if both are known."""

    def __init__(self, references: ReferenceCache, max_bytes: int, counts: CacheCounts) -> None:
        self.references = references
        self._cache = LeastRecentlyUsed[ServedModel](max_bytes, counts, _held_bytes)

    def get(self, model: ModelIdentity, load: Callable[[], ServedModel]) -> ServedModel:
        """Return the model, which `load` loads if it is not in memory."""
        return self._cache.get(_key(model), model.size_bytes, load)

    def warm(self, reference: str) -> ServedModel | None:
        """Return the model of a reference, or None if it must be looked up or loaded, which takes time."""
        model = self.references.known(reference)
        return None if model is None else self._cache.loaded(_key(model))


def _key(model: ModelIdentity) -> tuple[uuid.UUID, str]:
    # The id, because models with files of the same digest may differ in the names of their categories. The name,
    # because answers contain it, and all versions of a name can be renamed.
    return model.id, model.name


def _held_bytes(served: ServedModel) -> int:
    return held_bytes(served, *prediction_layouts(served.estimator))


class PredictionService:
    def __init__(
        self, sessions: SessionFactory, store: ArtifactStore, models: ServedModels, instruments: Instruments
    ) -> None:
        self._sessions = sessions
        self.store = store
        self._instruments = instruments
        self._models = models

    def open(self, reference: str) -> ServedModel:
        """Return the trained model, loaded into memory. The database connection is released before it is loaded.

        Raises:
            ModelNotFound, ArtifactMissing, ArtifactDamaged, ArtifactUnsupported.
        """
        references = self._models.references
        model = references.resolve(reference, self._identity)
        try:
            return self._opened(model)
        except (ArtifactMissing, ModelNotFound):
            # If the model was deleted since it was looked up, the reference now means another version, or nothing.
            newest = references.looked_up(reference, self._identity)
            if newest.id == model.id:
                raise
            return self._opened(newest)

    def _identity(self, reference: str) -> ModelIdentity:
        with reading(self._sessions) as session:
            return TrainedModelService(session, self.store).identify(reference)

    def _feature_schema(self, model: ModelIdentity) -> dict[str, Any]:
        with reading(self._sessions) as session:
            return TrainedModelService(session, self.store).feature_schema(model.id)

    def _opened(self, model: ModelIdentity) -> ServedModel:
        return self._models.get(model, lambda: self._load(model))

    def _load(self, model: ModelIdentity) -> ServedModel:
        estimator, schema = self._estimator(model), self._feature_schema(model)
        labels, predict_row = tuple(schema["classes"]), row_predictor(estimator)
        label_texts = tuple(map(label_text, labels))
        return ServedModel(
            id=str(model.id),
            name=model.name,
            version=model.version,
            artifact_sha256=model.artifact_sha256,
            estimator=estimator,
            encoder=FeatureEncoder(_columns(estimator, schema), estimator.left_out_),
            labels=labels,
            label_texts=label_texts,
            bytes_per_row=bytes_per_row(labels, label_texts),
            n_predicted=self._instruments.predicted_rows(model.name),
            row_seconds=_row_seconds(estimator, predict_row),
            predict_row=predict_row,
        )

    def _estimator(self, model: ModelIdentity) -> Any:
        try:
            return core.load(self.store.path(model.artifact_sha256))
        except core.ArtifactError as error:
            log.error("artifact %s of model %s cannot be read", model.artifact_sha256, model.id, exc_info=error)
            if isinstance(error, core.UnsupportedArtifact):
                raise ArtifactUnsupported(
                    f"The file of model {model.name}:{model.version} was written by a newer version of the service; "
                    "upgrade this service, or train the model again."
                ) from error
            raise ArtifactDamaged(
                f"The file of model {model.name}:{model.version} is damaged; restore it, or train the model again."
            ) from error


def _probabilities(estimator: Any, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the class probabilities (row, class) of encoded rows."""
    columns = estimator.columns_
    probabilities: NDArray[np.float64] = estimator.predict_proba(
        X if columns is None else core.EncodedTable(X, columns)
    )
    return probabilities


def _row_seconds(estimator: Any, predict_row: RowPredictor) -> float:
    """Return the time that one row takes, after making everything that later predictions need."""
    X = np.zeros((1, estimator.n_features_in_))
    # Zeros are exact in float32, which has a layout of its own for the trees.
    _probabilities(estimator, X)
    predict_row(X)
    times = []
    for _ in range(_TIMED_ROWS):
        began = time.perf_counter()
        predict_row(X)
        times.append(time.perf_counter() - began)
    return min(times)


def _columns(estimator: Any, schema: dict[str, Any]) -> tuple[core.Column, ...]:
    """Return the columns of the fit. The files of earlier versions have none; those are in the schema of the model."""
    if estimator.columns_ is not None:
        return tuple(estimator.columns_)
    return tuple(core.Column.from_json(entry) for entry in schema["features"])
