"""Trained models as clients see them."""

import uuid
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.trained_models.records import TrainedModelRecord


class FeatureOut(BaseModel):
    name: str
    kind: Literal["numeric", "categorical"]
    categories: list[str] | None = Field(None, description="seen in training, in code order; null for a number")


class FeatureSchemaOut(BaseModel):
    """What the model was trained on, and so what it must be asked with."""

    target: str
    classes: list[bool | int | float | str] = Field(description="labels with their JSON types, in class order")
    features: list[FeatureOut]


class CertificateOut(BaseModel):
    """Bound on the error of the randomised rule of a minimax booster on rows that it has not seen, term by term."""

    minimax_risk: float = Field(description="least worst-case error, as in `metrics`")
    optimization: float | None = Field(description="how far unseen rows may break the margin constraints")
    estimation: float | None = Field(description="averages over the training rows against expectations")
    noise: float = Field(description="what wrong training labels may cost; 0 where `noise_rate` is null")
    regularization: float = Field(description="the price of the rules' weights, which the risk holds and the bound not")
    bound: float | None = Field(description="the sum of the terms; null = infinite, as is a term that is null")
    delta: float = Field(description="`safe_bound` holds with probability 1 - 2 delta")
    noise_rate: float | None = Field(description="share of wrong training labels to expect of the injected noise")
    is_vacuous: bool = Field(description="the bound is 1 or more, so that it says nothing; more rows lower it")
    safe_bound: float | None = Field(description="`bound`, as printed, with its deviation term twice as large")


class EstimatedNoiseOut(BaseModel):
    """What the training labels say of their own noise, by out-of-bag votes of a forest on them."""

    rate: float = Field(description="share of the training labels that are probably wrong")
    standard_error: float = Field(description="of `rate`")
    transition: list[list[float]] | None = Field(
        None, description="transition[a][b] = share of class a that is labelled b; null in lists of models"
    )


class NoiseOut(BaseModel):
    """What was done to the training labels, and what was found in them. In lists of models every matrix is null."""

    injected: dict[str, Any] | None = Field(None, description="the request, `flipped_rows` and `observed_rate`")
    correction: dict[str, Any] | None = Field(None, description="the request")
    estimated: EstimatedNoiseOut | None = Field(
        None, description="where the correction's `transition` is `estimate`, of the model that is kept; else null"
    )


class TrainedModelOut(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "5b0e1a5e-6a55-4b8e-9f0c-3f5f3f2d9f10",
                    "name": "credit-risk",
                    "version": 3,
                    "aliases": [],
                    "kind": "forest",
                    "parameters": {"n_estimators": 100, "loss": {"kind": "adaptive_ne"}},
                    "seed": 0,
                    "dataset_id": "0f3b7c7e-1b43-4a0a-8f5c-6d7c1c0b7d11",
                    "data_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                    "code_version": "0.1.0",
                    "created_at": "2026-11-21T09:00:05Z",
                    "fit_seconds": 4.2,
                    "size_bytes": 183200,
                    "metrics": {"test": {"accuracy": 0.91}, "train_noisy": {"accuracy": 0.78}},
                    "schema": {
                        "target": "defaulted",
                        "classes": [False, True],
                        "features": [
                            {"name": "age", "kind": "numeric", "categories": None},
                            {"name": "job", "kind": "categorical", "categories": ["skilled", "unskilled"]},
                        ],
                    },
                    "noise": {
                        "injected": {"kind": "uniform", "rate": 0.2, "flipped_rows": 160, "observed_rate": 0.2},
                        "correction": {"kind": "forward", "transition": "estimate"},
                        "estimated": {
                            "rate": 0.19,
                            "standard_error": 0.02,
                            "transition": [[0.82, 0.18], [0.2, 0.8]],
                        },
                    },
                    "fitted": {"lambda": 0.5, "node_count": 2210},
                    "certificate": None,
                }
            ]
        }
    )

    id: uuid.UUID
    name: str
    version: int = Field(description="counts up from 1 within the name")
    aliases: list[str]
    kind: str = Field(examples=["forest"])
    parameters: dict[str, Any]
    seed: int
    dataset_id: uuid.UUID
    data_sha256: str
    code_version: str
    created_at: datetime
    fit_seconds: float
    size_bytes: int = Field(description="size of the artefact")
    metrics: dict[str, Any] = Field(
        description="scores on the parts, with cross-validation as mean, standard deviation (`test_sd`) and by fold, "
        "and what the fit says of itself; `roc_auc` is null where a class is missing; in lists of models numbers alone"
    )
    feature_schema: FeatureSchemaOut = Field(serialization_alias="schema")
    noise: NoiseOut
    fitted: dict[str, Any] = Field(
        description="what the fit found out: the chosen `lambda`, the `oob_score` asked for, why boosting stopped"
    )
    certificate: CertificateOut | None = Field(
        description="of `rmboost` with two classes and no `class_weight`; null for all others"
    )

    @classmethod
    def of(cls, model: TrainedModelRecord) -> "TrainedModelOut":
        values = {name: getattr(model, name) for name in cls.model_fields if name != "aliases"}
        return cls.model_validate({**values, "aliases": []})

    @classmethod
    def listed(cls, model: TrainedModelRecord) -> "TrainedModelOut":
        """Without what is found that grows with classes or rounds, which would make a page of a list megabytes long."""
        shown = cls.of(model)
        noise = {name: _without_matrix(part) for name, part in shown.noise.model_dump().items()}
        update = {"metrics": _numbers(model.metrics), "noise": NoiseOut.model_validate(noise)}
        return shown.model_copy(update=update)


def _without_matrix(noise: dict[str, Any] | None) -> dict[str, Any] | None:
    if noise is None or not isinstance(noise.get("transition"), list):
        return noise
    return {**noise, "transition": None}


def _numbers(metrics: dict[str, Any]) -> dict[str, Any]:
    """What a list can be sorted by: numbers, also those inside of objects."""
    return {
        name: _numbers(value) if isinstance(value, dict) else value
        for name, value in metrics.items()
        if not isinstance(value, list)
    }
