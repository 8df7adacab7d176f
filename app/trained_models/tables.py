"""Fitted estimators: what they are, what they were fitted on and how good they are. Their bytes are in the store."""

import uuid
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.orm import Base, CreatedMixin, IdMixin


class TrainedModelRow(IdMixin, CreatedMixin, Base):
    __tablename__ = "trained_models"
    __table_args__ = (UniqueConstraint("name", "version"),)

    name: Mapped[str] = mapped_column(String(200))
    version: Mapped[int]
    kind: Mapped[str] = mapped_column(String(50), index=True)
    parameters: Mapped[dict[str, Any]]
    seed: Mapped[int] = mapped_column(BigInteger)
    dataset_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("datasets.id"), index=True)
    data_sha256: Mapped[str] = mapped_column(String(64))
    code_version: Mapped[str] = mapped_column(String(50))
    fit_seconds: Mapped[float]
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    #: SHA-256 of the artefact file, which is also its name in the store.
    artifact_sha256: Mapped[str] = mapped_column(String(64), index=True)
    #: {"test": {...} | absent, "train_noisy": {...}}, with cross-validation also "test_sd", "train_noisy_sd" and
    #: "folds": [{"test", "train_noisy"}], and what the fit says of itself, as minimax_risk
    metrics: Mapped[dict[str, Any]]
    #: {"target", "classes": [label], "features": [{"name", "kind", "categories"}]}
    feature_schema: Mapped[dict[str, Any]]
    #: {"injected": {...} | None, "correction": {...} | None,
    #: "estimated": {"rate", "standard_error", "transition"} | None}; older models lack the last
    noise: Mapped[dict[str, Any]]
    #: What the fit found out: chosen lambda, number of nodes, ...
    fitted: Mapped[dict[str, Any]]
    #: Bound on the error of unseen rows, term by term; only where the fit gives one.
    certificate: Mapped[dict[str, Any] | None]


class ModelNameRow(Base):
    """The last version that a name was given, so that a version never means another model, even after deletions."""

    __tablename__ = "model_names"

    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    last_version: Mapped[int]
