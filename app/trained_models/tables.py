"""Tables of trained models. The fitted estimators are artifact files in the store."""

import uuid
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.storage.orm import Base, CreatedMixin, IdMixin


class TrainedModelRow(IdMixin, CreatedMixin, Base):
    """One version of a trained model."""

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
    #: SHA-256 of the artifact file, which is also its name in the store.
    artifact_sha256: Mapped[str] = mapped_column(String(64), index=True)
    #: {"test": {...} | absent, "train_noisy": {...}}, metrics of the fit such as "minimax_risk" and, with
    #: cross-validation, "test_sd", "train_noisy_sd" and "folds": [{"test", "train_noisy"}]
    metrics: Mapped[dict[str, Any]]
    #: {"target", "classes": [label], "features": [{"name", "kind", "categories"}]}
    feature_schema: Mapped[dict[str, Any]]
    #: {"injected": {...} | None, "correction": {...} | None,
    #: "estimated": {"rate", "standard_error", "transition"} | None}; older models have no "estimated"
    noise: Mapped[dict[str, Any]]
    #: Summary of the fit: chosen lambda, number of nodes, ...
    fitted: Mapped[dict[str, Any]]
    #: Bound on the error on unseen rows, term by term; None if the estimator computes none.
    certificate: Mapped[dict[str, Any] | None]


class ModelNameRow(Base):
    """Last version of a name. It is kept after deletions, so that a version never refers to another model."""

    __tablename__ = "model_names"

    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    last_version: Mapped[int]
