"""What jobs are asked to do. Stored in the job's row as JSON and read back by the worker."""

import uuid
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.requests.estimator_specs import ModelSpec
from app.requests.noise_specs import InjectionSpec, NoiseSpec
from app.trained_models.names import ModelName
from core.service_api import DEFAULT_AUDIT_PARAMETERS

#: Larger integers lose digits in JSON readers that have only doubles.
MAX_SEED = 2**53 - 1
#: A fold costs a fit, and so does a repeat.
MAX_FOLDS = 100
MAX_REPEATS = 100
#: Models times noises of one sweep; each is a job.
MAX_CELLS = 500
#: Every cell keeps what it is asked for, and a sweep shows it twice.
MAX_BYTES_OF_CELLS = 8 * 2**20

TestFraction = Annotated[float, Field(gt=0, lt=1, strict=True, allow_inf_nan=False)]


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _JobSpec(_Spec):
    def stored(self) -> dict[str, Any]:
        """As it stands in the job's row."""
        return self.model_dump(mode="json")


class NoEvaluation(_Spec):
    """Train on all rows and measure nothing but the training rows."""

    kind: Literal["none"]


class Holdout(_Spec):
    """Measure on rows that were set aside before noise was injected."""

    kind: Literal["holdout"]
    test_fraction: TestFraction = 0.2
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


class TrainSpec(_JobSpec):
    """A training job as it is stored: complete, with every default filled in."""

    name: ModelName
    dataset_id: uuid.UUID
    model: ModelSpec
    noise: NoiseSpec
    evaluation: EvaluationSpec
    seed: int


class AuditSpec(_JobSpec):
    """An audit of labels."""

    dataset_id: uuid.UUID
    model: ModelSpec = Field(
        default={"kind": "forest", **DEFAULT_AUDIT_PARAMETERS},
        validate_default=True,
        description="what judges the labels; forests with bootstrap need no folds",
    )
    folds: Annotated[int, Field(ge=2, le=MAX_FOLDS, strict=True)] | None = Field(
        None,
        description="parts that are each judged by a model of the others; null: out-of-bag votes of a forest with "
        "bootstrap, 5 folds of anything else",
    )
    seed: int = Field(0, ge=0, le=MAX_SEED, strict=True, description="the same seed gives the same audit")


class SweepSpec(_JobSpec):
    """Every model under every noise, each fitted several times."""

    dataset_id: uuid.UUID
    models: list[ModelSpec] = Field(
        min_length=1, max_length=MAX_CELLS, description=f"each as in `POST /train`; times `noise` at most {MAX_CELLS}"
    )
    noise: list[InjectionSpec] = Field(
        min_length=1,
        max_length=MAX_CELLS,
        description="each as `noise.inject` of `POST /train`; a rate of 0 leaves the labels as they are",
    )
    repeats: int = Field(
        5, ge=1, le=MAX_REPEATS, strict=True, description="fits of a cell; each has rows held out and noise of its own"
    )
    test_fraction: TestFraction = Field(0.2, description="of the rows, held out before noise is put into the others")
    seed: int = Field(0, ge=0, le=MAX_SEED, strict=True, description="the same seed gives the same numbers")

    def cells(self) -> "list[SweepCellSpec]":
        """One for each model and noise: by model, then by noise."""
        shared = {name: getattr(self, name) for name in ("dataset_id", "repeats", "test_fraction", "seed")}
        return [SweepCellSpec(model=model, noise=noise, **shared) for model in self.models for noise in self.noise]


class SweepCellSpec(_JobSpec):
    """One model under one noise, as it is stored."""

    dataset_id: uuid.UUID
    model: ModelSpec
    noise: InjectionSpec
    repeats: int
    test_fraction: float
    seed: int
