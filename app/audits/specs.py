"""Requests for audits, as clients send them and as workers read them."""

from typing import Annotated

from pydantic import Field

from app.requests.dataset_reference import REFERENCE_FORMS, DatasetReference
from app.requests.estimator_specs import ModelSpec
from app.requests.evaluation_specs import MAX_FOLDS
from app.requests.job_spec import MAX_SEED, JobSpec
from core.service_api import DEFAULT_AUDIT_PARAMETERS


class AuditSpec(JobSpec):
    """An audit of the labels of a data set."""

    dataset_id: DatasetReference = Field(description=REFERENCE_FORMS)
    model: ModelSpec = Field(
        default={"kind": "forest", **DEFAULT_AUDIT_PARAMETERS},
        validate_default=True,
        description="Kind and parameters, or the kind alone, of the model whose out-of-sample votes the labels are "
        "compared with.",
    )
    folds: Annotated[int, Field(ge=2, le=MAX_FOLDS, strict=True)] | None = Field(
        None,
        description="Number of folds; the rows of each are predicted by a model fitted on the others. Null: out-of-bag "
        "votes for forests with bootstrap, 5 folds for other models.",
    )
    seed: int = Field(
        0,
        ge=0,
        le=MAX_SEED,
        strict=True,
        description="Seed of all random choices; the same request with the same seed gives the same result.",
    )
