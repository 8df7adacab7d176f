"""Requests for sweeps, as clients send them, and their cells as workers read them."""

from pydantic import Field

from app.requests.dataset_reference import REFERENCE_FORMS, DatasetReference
from app.requests.estimator_specs import ModelSpec
from app.requests.evaluation_specs import TestFraction
from app.requests.job_spec import MAX_SEED, JobSpec
from app.requests.noise_specs import InjectionSpec

#: Every repeat costs a fit.
MAX_REPEATS = 100
#: Number of models times number of noise specifications; each cell is a job.
MAX_CELLS = 500
#: Every cell stores its own request, and `GET /sweeps/{id}` shows it twice.
MAX_BYTES_OF_CELLS = 8 * 2**20


class SweepSpec(JobSpec):
    """An experiment grid: every model is fitted under every noise, several times."""

    dataset_id: DatasetReference = Field(description=REFERENCE_FORMS)
    models: list[ModelSpec] = Field(
        min_length=1,
        max_length=MAX_CELLS,
        description="Models, each as in `POST /train`. The number of models times the number of entries of `noise` "
        f"must be at most {MAX_CELLS}.",
    )
    noise: list[InjectionSpec] = Field(
        min_length=1,
        max_length=MAX_CELLS,
        description="Noise, each as `noise.inject` of `POST /train`. A rate of 0 leaves the labels unchanged.",
    )
    repeats: int = Field(
        5,
        ge=1,
        le=MAX_REPEATS,
        strict=True,
        description="Number of fits per cell. Each has its own held-out rows and its own noise.",
    )
    test_fraction: TestFraction = Field(
        0.2, description="Share of the rows that is held out before noise is injected into the others."
    )
    seed: int = Field(
        0,
        ge=0,
        le=MAX_SEED,
        strict=True,
        description="Seed of all random choices; the same request with the same seed gives the same scores.",
    )

    def cells(self) -> "list[SweepCellSpec]":
        """Return the specifications of the cells, ordered by model and then by noise."""
        shared = {name: getattr(self, name) for name in ("dataset_id", "repeats", "test_fraction", "seed")}
        return [SweepCellSpec(model=model, noise=noise, **shared) for model in self.models for noise in self.noise]


class SweepCellSpec(JobSpec):
    """One model under one noise."""

    dataset_id: DatasetReference
    model: ModelSpec
    noise: InjectionSpec
    repeats: int
    test_fraction: float
    seed: int
