"""Request fields of the ways to score a model."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from app.requests.dataset_reference import REFERENCE_FORMS, DatasetReference
from app.requests.request_model import RequestModel

#: Every fold costs a fit.
MAX_FOLDS = 100
#: Scores are corrected for up to this many classes: the time of the estimate grows with the square of their number.
MAX_CORRECTED_CLASSES = 50

TestFraction = Annotated[float, Field(gt=0, lt=1, strict=True, allow_inf_nan=False)]


class _EvaluationKind(RequestModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NoEvaluation(_EvaluationKind):
    """Train on all rows. Only the training rows are scored."""

    kind: Literal["none"]


class Holdout(_EvaluationKind):
    """Score on rows that are held out before noise is injected into the others."""

    kind: Literal["holdout"]
    test_fraction: TestFraction = Field(0.2, description="Share of the rows that is held out.")
    stratify: bool = Field(
        True, strict=True, description="Whether the training and test rows have the same shares of the classes."
    )


class CrossValidation(_EvaluationKind):
    """Score each fold with a model that is fitted, with noise injected, on the other folds.

    The model that is stored is then trained on all rows.
    """

    kind: Literal["cross_validation"]
    folds: int = Field(
        5, ge=2, le=MAX_FOLDS, strict=True, description="Number of folds, which have equal shares of every class."
    )


class TestDataset(_EvaluationKind):
    """Score on a separate data set, with its labels as they are.

    It must have the features of the training data, of the same kinds, and no class that the training data lacks. Its
    other columns are ignored, and categories that do not occur in the training data are treated as missing.
    """

    __test__ = False  # Keeps pytest from collecting the class as a test.

    kind: Literal["dataset"]
    dataset_id: DatasetReference = Field(description=f"The data set to score on. {REFERENCE_FORMS}")


EvaluationSpec = Annotated[NoEvaluation | Holdout | CrossValidation | TestDataset, Field(discriminator="kind")]
