"""Answers about trained models."""

import uuid
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.trained_models.evaluation_schemas import EvaluationOut
from app.trained_models.records import ModelVersion, Pointers, TrainedModelItemRecord, TrainedModelRecord

#: Kinds of injected noise that have rates, not a matrix.
_KINDS_WITHOUT_MATRIX = ("uniform", "pairwise", "one_sided", "class_conditional", "adversarial")


class FeatureOut(BaseModel):
    """Feature of the training data."""

    name: str
    kind: Literal["numeric", "categorical", "datetime"]
    categories: list[str] | None = Field(None, description="in the order of their codes; null for a number or date")
    is_boolean: bool = Field(False, description="whether the categories are `false` and `true`, read in any case")
    reading: dict[str, Any] | None = Field(
        None,
        description="how text is read where it differs from the default: `decimal`, `thousands`, `percent`, `dates` "
        "(`strptime` form), `nulls`",
    )


class FeatureSchemaOut(BaseModel):
    """Features and classes of the training data, and so the inputs and outputs of predictions."""

    target: str
    classes: list[bool | int | float | str] = Field(description="labels with their JSON types, in class order")
    features: list[FeatureOut]
    left_out: list[str] = Field([], description="columns that rows to predict may have, and that the model ignores")


class CertificateOut(BaseModel):
    """Bound on the error of the randomized rule of a minimax booster on unseen rows, term by term."""

    minimax_risk: float = Field(description="minimized worst-case error, as in `metrics`")
    optimization: float | None = Field(description="how far unseen rows can violate the margin constraints")
    estimation: float | None = Field(description="deviation of averages over the training rows from their expectations")
    noise: float = Field(description="effect of wrong training labels; 0 if `noise_rate` is null")
    regularization: float = Field(description="penalty on the weights of the rules; part of the risk only")
    bound: float | None = Field(description="sum of the terms; null = infinite, also for a term")
    delta: float = Field(description="`safe_bound` holds with probability 1 - 2 delta")
    noise_rate: float | None = Field(description="expected share of wrong training labels from the injected noise")
    is_vacuous: bool = Field(description="whether the bound is 1 or more and so holds for any rule; more rows lower it")
    safe_bound: float | None = Field(description="`bound` with twice its deviation term")


class EstimatedNoiseOut(BaseModel):
    """Noise in the training labels, estimated from the out-of-bag votes of a forest."""

    rate: float = Field(description="estimated share of wrong training labels")
    standard_error: float = Field(description="standard error of `rate`")
    transition: list[list[float]] | None = Field(
        None,
        description="transition[a][b] = share of class a that is labeled b; a class with too few rows for an estimate "
        "is assumed to keep its labels; null in lists of models",
    )


class NoiseOut(BaseModel):
    """Injected, corrected and estimated noise of the training labels. In lists of models all matrices are null."""

    injected: dict[str, Any] | None = Field(None, description="the requested noise, `flipped_rows` and `observed_rate`")
    correction: dict[str, Any] | None = Field(None, description="the requested correction")
    estimated: EstimatedNoiseOut | None = Field(
        None,
        description="estimate for the stored model if it is `auto`, or if the `transition` of the correction is "
        "`estimate`; else null",
    )


class ModelVersionOut(BaseModel):
    """Version of a trained model."""

    model_config = ConfigDict(from_attributes=True)

    id: uuid.UUID
    name: str
    version: int


_ALIASES = Field(description="names that point to this version and can be used as `@NAME`")
_EVALUATION = Field(
    description="which rows `metrics` are about, as the request asked; null for models of earlier versions"
)
_IS_DEFAULT = Field(description="whether the bare name means this version although newer ones may exist")


class TrainedModelOut(BaseModel):
    """Metadata of a trained model."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "5b0e1a5e-6a55-4b8e-9f0c-3f5f3f2d9f10",
                    "name": "credit-risk",
                    "version": 3,
                    "description": "Weekly training on the cleaned table",
                    "tags": ["credit"],
                    "aliases": ["production"],
                    "is_default": False,
                    "parent": {"id": "8d1f5c52-1f0e-4f39-b0a7-0f4f8f3a3d11", "name": "credit-risk", "version": 2},
                    "kind": "forest",
                    "parameters": {"n_estimators": 100, "loss": {"kind": "adaptive_ne"}},
                    "seed": 0,
                    "dataset_id": "0f3b7c7e-1b43-4a0a-8f5c-6d7c1c0b7d11",
                    "data_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                    "code_version": "0.1.0",
                    "created_at": "2026-11-21T09:00:05Z",
                    "fit_seconds": 4.2,
                    "size_bytes": 183200,
                    "evaluation": {"kind": "holdout", "test_fraction": 0.2, "stratify": True},
                    "metrics": {
                        "test": {"accuracy": 0.76},
                        "test_corrected": {"accuracy": 0.93, "standard_error": 0.03, "reason": None},
                        "train_noisy": {"accuracy": 0.78},
                    },
                    "schema": {
                        "target": "defaulted",
                        "classes": [False, True],
                        "features": [
                            {
                                "name": "age",
                                "kind": "numeric",
                                "categories": None,
                                "is_boolean": False,
                                "reading": None,
                            },
                            {
                                "name": "job",
                                "kind": "categorical",
                                "categories": ["skilled", "unskilled"],
                                "is_boolean": False,
                                "reading": None,
                            },
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
    version: int = Field(description="number within the name, from 1")
    description: str | None
    tags: list[str]
    aliases: list[str] = _ALIASES
    is_default: bool = _IS_DEFAULT
    parent: ModelVersionOut | None = Field(
        description="version of the same name before this one; null if there is none, or if all were deleted"
    )
    kind: str = Field(examples=["forest"])
    parameters: dict[str, Any]
    seed: int
    dataset_id: uuid.UUID
    data_sha256: str
    code_version: str
    created_at: datetime
    fit_seconds: float
    size_bytes: int = Field(description="size of the artifact")
    evaluation: EvaluationOut | None = _EVALUATION
    metrics: dict[str, Any] = Field(
        description="scores on the training rows (`train_noisy`) and on the test rows (`test`), both as labeled; "
        "with a test data set also `n_unknown_cells`, its cells whose category the training data does not have; "
        "`test_corrected`, the estimated accuracy and error per class on the true labels with standard errors, or null "
        "with a `reason`, and a `warning` if the labels hardly identify their noise; and metrics of the fit. With "
        "cross-validation the mean, the standard deviation (`test_sd`) and the scores of each fold. `roc_auc` is null "
        "if a class has no rows. Lists of models only have the metrics that are numbers"
    )
    feature_schema: FeatureSchemaOut = Field(serialization_alias="schema")
    noise: NoiseOut
    fitted: dict[str, Any] = Field(
        description="summary of the fit, such as the chosen `lambda`, the `oob_score` or why boosting stopped"
    )
    certificate: CertificateOut | None = Field(
        description="certificate of `rmboost` with two classes and no `class_weight`; null for all other models"
    )

    @classmethod
    def from_record(
        cls, model: TrainedModelRecord, pointers: Pointers, parent: ModelVersion | None
    ) -> "TrainedModelOut":
        values = {name: getattr(model, name) for name in cls.model_fields if hasattr(model, name)}
        return cls.model_validate({**values, **pointers.values(model.id), "parent": parent})


class TrainedModelItem(BaseModel):
    """Trained model in a list: what does not grow with the number of classes, columns or folds."""

    id: uuid.UUID
    name: str
    version: int = Field(description="number within the name, from 1")
    description: str | None
    tags: list[str]
    aliases: list[str] = _ALIASES
    is_default: bool = _IS_DEFAULT
    kind: str = Field(examples=["forest"])
    parameters: dict[str, Any] = Field(description="without `class_weight`")
    seed: int
    dataset_id: uuid.UUID
    data_sha256: str
    code_version: str
    created_at: datetime
    fit_seconds: float
    size_bytes: int = Field(description="size of the artifact")
    evaluation: EvaluationOut | None = _EVALUATION
    metrics: dict[str, Any] = Field(description="the metrics that are numbers, by which the list can be sorted")
    target: str
    n_classes: int
    n_features: int
    noise: NoiseOut = Field(description="without matrices")
    fitted: dict[str, Any]
    certificate: CertificateOut | None

    @classmethod
    def from_record(cls, model: TrainedModelItemRecord, pointers: Pointers) -> "TrainedModelItem":
        values = {name: getattr(model, name) for name in cls.model_fields if hasattr(model, name)}
        noise = {name: part and _with_null_matrix(part) for name, part in model.slim_noise.items()}
        return cls.model_validate(
            {
                **values,
                **pointers.values(model.id),
                "parameters": model.slim_parameters,
                "metrics": _numbers(model.slim_metrics),
                "noise": noise,
                "fitted": model.slim_fitted,
            }
        )


def _with_null_matrix(noise: dict[str, Any]) -> dict[str, Any]:
    has_matrix = noise.get("kind") not in _KINDS_WITHOUT_MATRIX
    return {"transition": None, **noise} if has_matrix else noise


def _numbers(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics that a list can be sorted by: numbers, including those inside objects."""
    return {
        name: _numbers(value) if isinstance(value, dict) else value
        for name, value in metrics.items()
        if not isinstance(value, list | str)
    }
