"""Trained models as other packages see them: what a worker registers, and read-only copies of rows."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, kw_only=True)
class NewTrainedModel:
    """Fitted estimator whose artifact is in the store; `TrainedModelRow` explains the fields."""

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
    importances: dict[str, Any] | None = None
    evaluation: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class TrainedModelItemRecord:
    """Model in a list, without values that grow with the number of classes, columns or folds."""

    id: uuid.UUID
    created_at: datetime
    name: str
    version: int
    kind: str
    seed: int
    dataset_id: uuid.UUID
    data_sha256: str
    code_version: str
    fit_seconds: float
    size_bytes: int
    certificate: dict[str, Any] | None
    evaluation: dict[str, Any] | None
    description: str | None
    tags: list[str]
    slim_parameters: dict[str, Any]
    slim_metrics: dict[str, Any]
    slim_noise: dict[str, Any]
    slim_fitted: dict[str, Any]
    target: str
    n_classes: int
    n_features: int


@dataclass(frozen=True, kw_only=True)
class TrainedModelRecord(NewTrainedModel):
    """Registered model."""

    id: uuid.UUID
    version: int
    created_at: datetime
    description: str | None
    tags: list[str]


@dataclass(frozen=True, kw_only=True)
class ModelIdentity:
    """Names of a model and of its file, without values that grow with the number of classes, columns or folds."""

    id: uuid.UUID
    name: str
    version: int
    artifact_sha256: str
    size_bytes: int


class Pointer(StrEnum):
    """Kinds of pointers to one version of a model that can be moved to another."""

    ALIAS = "alias"  #: a name of its own, used as `@NAME`
    DEFAULT = "default"  #: the version that a bare name means


@dataclass(frozen=True, kw_only=True)
class ModelVersion:
    """Version of a model as logs and references show it."""

    id: uuid.UUID
    name: str
    version: int

    def to_json(self) -> dict[str, Any]:
        return {"id": str(self.id), "name": self.name, "version": self.version}


@dataclass(frozen=True, kw_only=True)
class Pointers:
    """Pointers to some models: sorted aliases by id, and the ids of default versions."""

    aliases: dict[uuid.UUID, list[str]]
    defaults: frozenset[uuid.UUID]

    def values(self, model_id: uuid.UUID) -> dict[str, Any]:
        """Return the fields of a model that show what points to it."""
        return {"aliases": self.aliases.get(model_id, []), "is_default": model_id in self.defaults}


@dataclass(frozen=True, kw_only=True)
class AliasRecord:
    """Alias and the model that it points to."""

    name: str
    model: ModelVersion
    moved_at: datetime
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class DefaultRecord:
    """Model that a bare name means. default_version: None if no default version is set, so that it is the newest."""

    name: str
    model: ModelVersion
    default_version: int | None


@dataclass(frozen=True, kw_only=True)
class MoveRecord:
    """Move of an alias or of a default version."""

    created_at: datetime
    actor: str | None
    from_model: dict[str, Any] | None
    to_model: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class ComparableModel:
    """Fields of a model that are compared. Metrics have no confusion matrices and no folds."""

    id: uuid.UUID
    name: str
    version: int
    kind: str
    created_at: datetime
    seed: int
    dataset_id: uuid.UUID
    data_sha256: str
    code_version: str
    fit_seconds: float
    size_bytes: int
    parameters: dict[str, Any]
    evaluation: dict[str, Any] | None
    metrics: dict[str, Any]
    noise: dict[str, Any]
