"""The body of POST /train."""

import uuid
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.requests.estimator_specs import ModelSpec
from app.requests.job_specs import MAX_SEED, EvaluationSpec, Holdout
from app.requests.noise_specs import NoiseSpec
from app.trained_models.names import ModelName


class InlineData(BaseModel):
    """A small table in the request itself; it is stored as a data set like any other."""

    model_config = ConfigDict(extra="forbid")

    columns: dict[str, list[Any]] = Field(min_length=1, examples=[{"x1": [0.5, None, 1.5], "y": ["a", "b", "a"]}])
    target: str = Field(examples=["y"])


class TrainRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: ModelName | None = Field(None, description="of the trained model; default: data set and kind of model")
    dataset_id: uuid.UUID | None = Field(None, description="either this or `data`")
    data: InlineData | None = None
    model: ModelSpec
    noise: NoiseSpec = NoiseSpec(inject=None, correction=None)
    evaluation: EvaluationSpec = Holdout(kind="holdout")
    seed: int = Field(0, ge=0, le=MAX_SEED, strict=True, description="the same seed gives the same bytes")

    @model_validator(mode="after")
    def _one_table(self) -> Self:
        if (self.dataset_id is None) == (self.data is None):
            raise ValueError("give either dataset_id, of an uploaded data set, or data, not both")
        return self


EXAMPLES = {
    "forest": {
        "summary": "a forest with a robust loss",
        "value": {
            "name": "credit-risk",
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "model": {"kind": "forest", "n_estimators": 100, "loss": {"kind": "ne", "lambda": 0.5}},
            "evaluation": {"kind": "holdout", "test_fraction": 0.2},
            "seed": 0,
        },
    },
    "experiment": {
        "summary": "how much 30 % wrong labels hurt, lambda chosen from the data",
        "value": {
            "name": "credit-risk-noisy",
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "model": {"kind": "forest", "loss": "adaptive_ne"},
            "noise": {"inject": {"kind": "uniform", "rate": 0.3}},
        },
    },
    "cross_validation": {
        "summary": "scores as mean and spread over ten folds, the model itself trained on all rows",
        "value": {
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "model": {"kind": "extra_trees", "n_estimators": 50},
            "noise": {"inject": {"kind": "uniform", "rate": 0.2}},
            "evaluation": {"kind": "cross_validation", "folds": 10},
        },
    },
    "correction": {
        "summary": "a forest that is told how its labels went wrong: [clean class][observed class]",
        "value": {
            "name": "credit-risk-corrected",
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "model": {"kind": "forest"},
            "noise": {"correction": {"kind": "forward", "transition": [[0.9, 0.1], [0.3, 0.7]]}},
        },
    },
    "booster": {
        "summary": "minimax boosting, whose model comes with a certificate",
        "value": {
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "model": {"kind": "rmboost", "n_rounds": 100},
        },
    },
    "tree": {
        "summary": "a single tree",
        "value": {
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "model": {"kind": "tree", "loss": "misclassification", "max_depth": 12},
        },
    },
}
