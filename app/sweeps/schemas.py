"""Sweeps in responses. Requests are in `app.sweeps.specs`."""

import uuid
from collections.abc import Sequence
from datetime import datetime
from statistics import fmean, stdev
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from app.jobs.schemas import JobError, ListedResult, Progress
from app.jobs.states import JobState
from app.sweeps.records import METRICS, Sweep, SweepCell

EXAMPLES = {
    "curves": {
        "summary": "Two losses at increasing rates of label noise",
        "value": {
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "models": [
                {"kind": "forest", "n_estimators": 50, "loss": "gini"},
                {"kind": "forest", "n_estimators": 50, "loss": {"kind": "ne", "lambda": 0.5}},
            ],
            "noise": [{"kind": "uniform", "rate": rate} for rate in (0.0, 0.1, 0.2, 0.3, 0.4)],
            "repeats": 5,
            "test_fraction": 0.2,
            "seed": 0,
        },
    },
    "kinds": {
        "summary": "One model under different kinds of label noise",
        "value": {
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "models": [{"kind": "rmboost", "n_rounds": 100}],
            "noise": [{"kind": "uniform", "rate": 0.2}, {"kind": "adversarial", "rate": 0.2}],
            "repeats": 10,
        },
    },
}

_CELL: dict[str, JsonValue] = {
    "job_id": "5cf0a3a8-24b6-4f43-8d86-3c0f5e1b8f5a",
    "model": {"kind": "tree", "loss": {"kind": "gini"}},
    "noise": {"kind": "uniform", "rate": 0.2},
    "state": "succeeded",
    "metric": "accuracy",
    "mean": 0.82,
    "sd": 0.02,
    "values": [0.8, 0.82, 0.84],
    "error": None,
}


class SweepCellOut(BaseModel):
    """One metric of one model under one noise."""

    model_config = ConfigDict(json_schema_extra={"examples": [_CELL]})

    job_id: uuid.UUID
    model: dict[str, Any] = Field(description="The model of the request, with defaults filled in.")
    noise: dict[str, Any]
    state: JobState
    metric: Literal["accuracy", "weighted_f1"] = Field(
        description="Metric on the held-out rows, whose labels are clean."
    )
    mean: float | None = Field(description="Mean over the repeats; null until the cell has succeeded.")
    sd: float | None = Field(
        description="Standard deviation over the repeats, with n - 1 in the denominator; null for a single repeat."
    )
    values: list[float] = Field(
        description="Value of each repeat; `values[i]` of all cells is measured on the same held-out rows."
    )
    error: JobError | None = Field(description="Why the cell failed; null if it did not.")

    @classmethod
    def by_metric(cls, cell: SweepCell) -> "list[SweepCellOut]":
        """Return one entry for each metric of the cell."""
        return [cls._from_values(cell, metric, (cell.scores or {}).get(metric, [])) for metric in METRICS]

    @classmethod
    def _from_values(cls, cell: SweepCell, metric: str, values: Sequence[float]) -> "SweepCellOut":
        job = cell.job
        return cls.model_validate(
            {
                "job_id": job.id,
                "model": job.request["model"],
                "noise": job.request["noise"],
                "state": job.state,
                "metric": metric,
                "mean": fmean(values) if values else None,
                "sd": stdev(values) if len(values) > 1 else None,
                "values": values,
                "error": JobError.from_record(job),
            }
        )


class SweepItem(ListedResult):
    """Sweep in a list, without its cells; `progress` tells how many of them have ended."""


class SweepOut(BaseModel):
    id: uuid.UUID
    dataset_id: uuid.UUID
    state: JobState
    progress: Progress
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    repeats: int
    test_fraction: float
    seed: int
    error: JobError | None = Field(
        description="Why the sweep failed; null if it did not. Cells that succeeded have their scores in either case."
    )
    cells: list[SweepCellOut] = Field(
        description="Ordered by model, noise and metric, models and noise in the order of the request."
    )

    @classmethod
    def from_sweep(cls, sweep: Sweep) -> "SweepOut":
        job = sweep.job
        return cls(
            id=job.id,
            dataset_id=job.dataset_id,
            state=job.state,
            progress=Progress.from_record(job),
            created_at=job.created_at,
            started_at=job.started_at,
            finished_at=job.finished_at,
            repeats=job.request["repeats"],
            test_fraction=job.request["test_fraction"],
            seed=job.request["seed"],
            error=JobError.from_record(job),
            cells=[entry for cell in sweep.cells for entry in SweepCellOut.by_metric(cell)],
        )
