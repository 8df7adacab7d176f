"""Audits as clients see them; what they ask for is `app.requests.job_specs.AuditSpec`."""

import uuid
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from app.audits.service import Audit
from app.audits.store import JudgedRows

Label = bool | int | float | str


EXAMPLES = {
    "usual": {
        "summary": "a forest, out-of-bag",
        "value": {"dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11"},
    },
    "own model": {
        "summary": "a model of your own, ten folds",
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
}


class ClassCounts(BaseModel):
    label: Label
    given: int = Field(description="rows with this label")
    issues: int = Field(description="of them, labels that are probably wrong")
    share: float = Field(description="estimated share of the rows whose right label this is")
    share_error: float | None


class ConfusedPairOut(BaseModel):
    clean: Label = Field(description="what these rows should probably be")
    given: Label
    n_rows: float = Field(description="how many such rows are to be expected")
    n_rows_error: float | None


class AuditOut(BaseModel):
    """What an audit found. Errors are standard errors, null where none could be computed."""

    model_config = ConfigDict(json_schema_extra={"examples": [_AUDIT]})

    id: uuid.UUID
    dataset_id: uuid.UUID
    n_rows: int
    n_issues: int = Field(description="labels that are more probably wrong than right")
    n_wrong: float = Field(description="how many labels are probably wrong, those nobody can point at included")
    n_wrong_error: float | None
    n_judged: int = Field(
        description="rows judged by models that never saw them: all, unless a forest has few trees. The others are no "
        "issues, and count in `n_wrong` as wrong as often"
    )
    noise_rate: float = Field(description="share of the labels that are probably wrong")
    noise_rate_error: float | None
    classes: list[ClassCounts] = Field(description="in class order")
    transition: list[list[float]] = Field(description="transition[a][b] = share of class a that is observed as class b")
    transition_error: list[list[float | None]]
    confused: list[ConfusedPairOut] = Field(
        description="pairs with one expected row or more, most rows first; the first 1,000"
    )
    method: Literal["out_of_bag", "folds"] = Field(description="how rows were judged by models that never saw them")

    @classmethod
    def of(cls, audit: Audit) -> Self:
        row = audit.row
        return cls(id=row.job_id, dataset_id=audit.dataset_id, n_rows=row.n_rows, n_issues=row.n_issues, **row.report)


class JudgedRow(BaseModel):
    row: int = Field(description="in the order of the file, from 0")
    given_label: Label
    suggested_label: Label = Field(description="the most probable label, often the one given")
    quality: float = Field(ge=0, le=1, description="least for the labels most probably wrong")
    is_issue: bool = Field(description="whether the given label is more probably wrong than right")

    @classmethod
    def each_of(cls, rows: JudgedRows, classes: list[Label]) -> list[Self]:
        columns = [values.tolist() for values in (rows.row, rows.given, rows.suggested, rows.quality, rows.is_issue)]
        return [
            cls(row=row, given_label=classes[given], suggested_label=classes[best], quality=quality, is_issue=is_issue)
            for row, given, best, quality, is_issue in zip(*columns, strict=True)
        ]
