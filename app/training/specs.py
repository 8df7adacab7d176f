"""Requests for training jobs, as clients send them and as workers read them."""

import uuid
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from app.requests.dataset_reference import REFERENCE_FORMS, DatasetReference
from app.requests.estimator_specs import ModelSpec
from app.requests.evaluation_specs import EvaluationSpec, Holdout
from app.requests.job_spec import MAX_SEED, JobSpec
from app.requests.noise_specs import NoiseSpec
from app.requests.request_model import RequestModel
from app.trained_models.names import ModelName


class InlineData(RequestModel):
    """A small table in the request itself. It is stored as a data set like any other."""

    columns: dict[str, list[Any]] = Field(min_length=1, examples=[{"x1": [0.5, None, 1.5], "y": ["a", "b", "a"]}])
    target: str = Field(examples=["y"])
    types: dict[str, Literal["numeric", "categorical", "datetime", "ignored"]] = Field(
        {}, description="types of columns that replace detected ones", examples=[{"x1": "numeric"}]
    )
    weight: str | None = Field(None, min_length=1, description="column with the sample weights")
    group: str | None = Field(None, min_length=1, description="column that says which rows belong together")


class TrainRequest(RequestModel):
    name: ModelName | None = Field(
        None, description="Name of the trained model. Default: the name of the data set and the kind of the model."
    )
    dataset_id: DatasetReference | None = Field(None, description=f"{REFERENCE_FORMS} Give either this or `data`.")
    data: InlineData | None = None
    model: ModelSpec = Field(
        {"kind": "auto"},
        validate_default=True,
        description=(
            "Kind and parameters of the model, or the kind alone. Default: `auto`, which chooses forests by their "
            "accuracy on the data."
        ),
    )
    noise: NoiseSpec = NoiseSpec(inject=None, correction=None)
    evaluation: EvaluationSpec = Holdout(kind="holdout")
    seed: int = Field(
        0,
        ge=0,
        le=MAX_SEED,
        strict=True,
        description=(
            "Seed of all random choices; the same request with the same seed gives the same model file, unless the "
            "model has a `time_budget`."
        ),
    )

    @model_validator(mode="after")
    def _check_one_table(self) -> Self:
        if (self.dataset_id is None) == (self.data is None):
            both = "neither is" if self.data is None else "both are"
            raise ValueError(f"{both} given; give either dataset_id, of an uploaded data set, or data")
        return self


class TrainSpec(JobSpec):
    """Specification of a training job."""

    name: ModelName
    dataset_id: uuid.UUID
    model: ModelSpec
    noise: NoiseSpec
    evaluation: EvaluationSpec
    seed: int
