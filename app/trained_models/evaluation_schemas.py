"""Answers about how trained models were evaluated."""

import uuid
from typing import Annotated, Literal

from pydantic import BaseModel, Field


class NoEvaluationOut(BaseModel):
    """Only the training rows were scored."""

    kind: Literal["none"]


class HoldoutOut(BaseModel):
    """Rows that the training left out were scored."""

    kind: Literal["holdout"]
    test_fraction: float = Field(description="share of the rows that were held out")
    stratify: bool = Field(description="whether the training and test rows have the same shares of the classes")


class CrossValidationOut(BaseModel):
    """Each fold was scored by a model that was trained on the other folds."""

    kind: Literal["cross_validation"]
    folds: int


class TestDatasetOut(BaseModel):
    """The rows of another data set were scored."""

    __test__ = False  # Keeps pytest from collecting the class as a test.

    kind: Literal["dataset"]
    dataset_id: uuid.UUID = Field(description="the test data set, which may have been deleted since")
    data_sha256: str = Field(description="`sha256` of the test data set, by which its data can be recognized")


EvaluationOut = Annotated[
    NoEvaluationOut | HoldoutOut | CrossValidationOut | TestDatasetOut, Field(discriminator="kind")
]
