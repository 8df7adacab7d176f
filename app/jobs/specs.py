"""What jobs are asked to do. Stored in the job's row as JSON and read back by the worker."""

import uuid
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.jobs.estimator_specs import ModelSpec
from app.jobs.noise_specs import NoiseSpec
from app.trained_models.names import ModelName

#: Larger integers lose digits in JSON readers that have only doubles.
MAX_SEED = 2**53 - 1
#: A fold costs a fit.
MAX_FOLDS = 100


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


class CrossValidation(_Spec):
    """Fit once for each fold on the other ones, noise injected there alone, and measure on the fold; then train the
    model that is kept on all rows.
    """

    kind: Literal["cross_validation"]
    folds: int = Field(5, ge=2, le=MAX_FOLDS, strict=True, description="parts with equal shares of every class")


class TestDataset(_Spec):
    """Measure on a data set of its own, with clean labels. It needs the features of the training data, of the same
    kinds, and no class that they lack; other columns are passed over, and a category unknown to training is missing.
    """

    __test__ = False  # not a test class, whatever pytest makes of the name

    kind: Literal["dataset"]
    dataset_id: uuid.UUID


EvaluationSpec = Annotated[NoEvaluation | Holdout | CrossValidation | TestDataset, Field(discriminator="kind")]


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
