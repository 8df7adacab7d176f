"""Audits in responses. Requests are in `app.audits.specs`."""

import uuid
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from app.audits.records import UNLABELED, Audit, AuditedRows
from app.jobs.schemas import ListedResult

Label = bool | int | float | str


EXAMPLES = {
    "usual": {
        "summary": "The default forest with out-of-bag votes",
        "value": {"dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11"},
    },
    "own model": {
        "summary": "Another model with ten folds",
        "value": {
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "model": {"kind": "extra_trees", "n_estimators": 300, "min_samples_leaf": 3},
            "folds": 10,
        },
    },
}


_AUDIT: dict[str, JsonValue] = {
    "id": "0b9f4c38-7a0e-4c3c-9b53-0d3f1d1a2e6f",
    "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
    "n_rows": 1000,
    "n_issues": 61,
    "n_wrong": 74.2,
    "n_wrong_error": 9.1,
    "n_judged": 1000,
    "noise_rate": 0.0742,
    "noise_rate_error": 0.0091,
    "classes": [
        {"label": "bad", "given": 310, "issues": 18, "share": 0.33, "share_error": 0.01},
        {"label": "good", "given": 690, "issues": 43, "share": 0.67, "share_error": 0.01},
    ],
    "transition": [[0.85, 0.15], [0.04, 0.96]],
    "transition_error": [[0.02, 0.02], [0.01, 0.01]],
    "confused": [{"clean": "bad", "given": "good", "n_rows": 48.9, "n_rows_error": 7.0}],
    "method": "out_of_bag",
    "n_unlabeled": 0,
    "misfit": {"dispersion": 0.8, "excess": 0.0},
    "assumption": "Within a true class, which labels are wrong does not depend on the features.",
    "warning": None,
}


class ClassCounts(BaseModel):
    label: Label
    given: int = Field(description="Number of rows with this label.")
    issues: int = Field(description="Number of these rows whose label is probably wrong.")
    share: float = Field(description="Estimated share of the rows whose true class this is.")
    share_error: float | None


class ConfusedPairOut(BaseModel):
    clean: Label = Field(description="Probable true class of these rows.")
    given: Label
    n_rows: float = Field(description="Expected number of such rows.")
    n_rows_error: float | None


class MisfitOut(BaseModel):
    """Difference between the labels and the model of their noise."""

    dispersion: float = Field(
        description="Pearson statistic of the numbers of labels by quality, divided by its degrees of freedom; about 1 "
        "if the model holds."
    )
    excess: float = Field(
        ge=0,
        lt=1,
        description="Share of the statistic that sampling does not explain; 0 if the model may hold. If it is above 0, "
        "errors are multiplied by the root of `dispersion` and qualities are shrunk toward their mean.",
    )


class AuditOut(BaseModel):
    """Result of an audit. Errors are standard errors; they are null if they could not be computed."""

    model_config = ConfigDict(json_schema_extra={"examples": [_AUDIT]})

    id: uuid.UUID
    dataset_id: uuid.UUID
    n_rows: int = Field(description="Number of rows with a label.")
    n_unlabeled: int = Field(0, description="Number of rows without a label, for which only a label is suggested.")
    n_issues: int = Field(description="Number of labels that are more likely wrong than right.")
    n_wrong: float = Field(
        description="Estimated number of wrong labels, including those that cannot be identified individually."
    )
    n_wrong_error: float | None
    n_judged: int = Field(
        description="Number of rows with an out-of-sample vote. With few trees, some rows have no out-of-bag vote; "
        "such rows are never flagged, and `n_wrong` assumes that they are wrong at the same rate as the rest."
    )
    noise_rate: float = Field(description="Estimated share of wrong labels.")
    noise_rate_error: float | None
    classes: list[ClassCounts] = Field(description="Counts by class, in class order.")
    transition: list[list[float]] = Field(
        description="Estimated transition matrix: `transition[a][b]` is the share of class a that is labeled as b."
    )
    transition_error: list[list[float | None]]
    confused: list[ConfusedPairOut] = Field(
        description="Pairs of classes with at least one expected row, most rows first; at most 1,000 pairs."
    )
    method: Literal["out_of_bag", "folds"] = Field(description="How the out-of-sample votes were computed.")
    misfit: MisfitOut | None = Field(None, description="Null in audits of earlier versions.")
    assumption: str | None = Field(
        None, description="What errors and qualities rest on, and how human errors differ from it."
    )
    warning: str | None = Field(
        None,
        description="Why the figures must not be trusted, for example because the features do not predict the labels, "
        "else null. If the labels do not identify the noise at all, errors are 0.5 and no row is flagged.",
    )

    @classmethod
    def from_audit(cls, audit: Audit) -> Self:
        row = audit.row
        return cls(id=row.job_id, dataset_id=audit.dataset_id, n_rows=row.n_rows, n_issues=row.n_issues, **row.report)


class AuditItem(ListedResult):
    """Audit in a list. The figures are null until it has succeeded, and once its data set was deleted."""

    n_rows: int | None = None
    n_issues: int | None = None
    noise_rate: float | None = None
    noise_rate_error: float | None = None


class JudgedRow(BaseModel):
    row: int = Field(description="Number of the row in file order, starting at 0.")
    given_label: Label | None = Field(description="Label in the file; null for a row without one.")
    suggested_label: Label = Field(description="Most probable label, which is the given one for most rows.")
    quality: float | None = Field(
        ge=0,
        le=1,
        description="Estimated probability that the given label is right, under the `assumption` of the audit; null "
        "for a row without a label.",
    )
    is_issue: bool = Field(
        description="Whether the given label is more likely wrong than right, and another class is more likely."
    )

    @classmethod
    def from_rows(cls, rows: AuditedRows, classes: list[Label]) -> list[Self]:
        columns = [values.tolist() for values in (rows.row, rows.given, rows.suggested, rows.quality, rows.is_issue)]
        return [
            cls(
                row=row,
                given_label=None if given == UNLABELED else classes[given],
                suggested_label=classes[best],
                quality=None if given == UNLABELED else quality,
                is_issue=is_issue,
            )
            for row, given, best, quality, is_issue in zip(*columns, strict=True)
        ]
