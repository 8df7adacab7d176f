"""What jobs are asked to do. Stored in the job's row as JSON and read back by the worker."""

import uuid
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.jobs.estimator_specs import ModelSpec
from app.jobs.noise_specs import NoiseSpec
from app.trained_models.names import ModelName

#: Larger integers lose digits in JSON readers that have only doubles.
MAX_SEED = 2**53 - 1


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NoEvaluation(_Spec):
    """Train on all rows and measure nothing but the training rows."""

    kind: Literal["none"]


class Holdout(_Spec):
    """Measure on rows that were set aside before noise was injected."""

    kind: Literal["holdout"]
    test_fraction: float = Field(0.2, gt=0, lt=1, strict=True, allow_inf_nan=False)
    stratify: bool = Field(True, strict=True, description="keep the classes' shares equal in both parts")


class TestDataset(_Spec):
    """Measure on a data set of its own, with clean labels."""

    __test__ = False  # not a test class, whatever pytest makes of the name

    kind: Literal["dataset"]
    dataset_id: uuid.UUID


EvaluationSpec = Annotated[NoEvaluation | Holdout | TestDataset, Field(discriminator="kind")]


class TrainSpec(_Spec):
    """A training job as it is stored: complete, with every default filled in."""

    name: ModelName
    dataset_id: uuid.UUID
    model: ModelSpec
    noise: NoiseSpec
    evaluation: EvaluationSpec
    seed: int

    def stored(self) -> dict[str, Any]:
        return self.model_dump(mode="json")
