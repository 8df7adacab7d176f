"""Tables of trained models and of what points to them. The fitted estimators are artifact files in the store."""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, query_expression

from app.storage.orm import Base, CreatedMixin, IdMixin, stored_enum, utc_now
from app.trained_models.records import Pointer


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
    #: Permutation importances: {"accuracy", "n_rows", "n_repeats", "features": {"0": [mean, sd]}, "reason"}, or only
    #: "reason"; None in models of earlier versions.
    importances: Mapped[dict[str, Any] | None]
    #: `evaluation` of the request with defaults filled in, and "data_sha256" of a test data set; None in models of
    #: earlier versions.
    evaluation: Mapped[dict[str, Any] | None]
    description: Mapped[str | None] = mapped_column(Text)
    #: Texts by which users find the model again.
    tags: Mapped[list[Any]] = mapped_column(default=list)

    # Computed by the queries of lists; None elsewhere.
    slim_parameters: Mapped[dict[str, Any] | None] = query_expression()
    slim_metrics: Mapped[dict[str, Any] | None] = query_expression()
    slim_noise: Mapped[dict[str, Any] | None] = query_expression()
    slim_fitted: Mapped[dict[str, Any] | None] = query_expression()
    target: Mapped[str | None] = query_expression()
    n_classes: Mapped[int | None] = query_expression()
    n_features: Mapped[int | None] = query_expression()


class ModelNameRow(Base):
    """Last version of a name. It is kept after deletions, so that a version never refers to another model."""

    __tablename__ = "model_names"

    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    last_version: Mapped[int]
    #: The version that the bare name means; None = the newest. The foreign key keeps this model from being deleted.
    default_model_id: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("trained_models.id"), index=True)
    #: The name that all versions have now, until another model is registered under this one.
    renamed_to: Mapped[str | None] = mapped_column(String(200))


class ModelAliasRow(CreatedMixin, Base):
    """Name that points to one version of a model. The foreign key keeps this model from being deleted."""

    __tablename__ = "model_aliases"

    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    model_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("trained_models.id"), index=True)
    moved_at: Mapped[datetime] = mapped_column(default=utc_now)

    # Computed by queries.
    model_name: Mapped[str | None] = query_expression()
    model_version: Mapped[int | None] = query_expression()


class ModelMoveRow(CreatedMixin, Base):
    """Move of an alias or of a default version. Moves are never changed, and outlive what they are about."""

    __tablename__ = "model_moves"
    __table_args__ = (Index("ix_model_moves_pointer_name", "pointer", "name"),)

    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True
    )
    pointer: Mapped[Pointer] = mapped_column(stored_enum(Pointer, "pointer"))
    #: Name of the alias, or name of the models whose default version it is.
    name: Mapped[str] = mapped_column(String(200))
    #: Who moved it; None if the service does not ask its clients who they are.
    actor: Mapped[str | None] = mapped_column(Text)
    #: {"id", "name", "version"} at the time of the move; None = the pointer did not exist.
    from_model: Mapped[dict[str, Any] | None]
    to_model: Mapped[dict[str, Any] | None]
