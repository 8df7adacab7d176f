"""Requests for predictions and their responses."""

import uuid
from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainValidator, WithJsonSchema

from app.errors import Invalid
from app.http.json_body import validated
from app.predictions.coercion import Leniency
from app.requests.dataset_reference import REFERENCE_FORMS as DATASET_DESCRIPTION
from app.requests.dataset_reference import DatasetReference
from app.requests.request_model import RequestModel
from app.trained_models.names import REFERENCE_FORMS


def _check_object(value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError("columns must be an object {feature: [value, ...]}")
    return value


_CELL: dict[str, Any] = {"type": ["number", "string", "boolean", "null"]}

# Cells stay as the parser returned them: they are checked against the model's features later and are never copied.
Rows = Annotated[
    list[Any],
    WithJsonSchema({"type": "array", "minItems": 1, "items": {"type": "object", "additionalProperties": _CELL}}),
]
Columns = Annotated[
    Any,
    PlainValidator(_check_object),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "array", "minItems": 1, "items": _CELL}}),
]
OnUnknown = Annotated[
    Literal["error", "missing"],
    Query(description="How to handle a category that did not occur in training: refuse it, or treat it as missing."),
]
OnMissing = Annotated[
    Literal["error", "missing"],
    Query(description="How to handle a feature that is not named: refuse the row, or treat the feature as missing."),
]
Extra = Annotated[
    Literal["error", "ignore"],
    Query(description="How to handle a name that is not a feature of the model: refuse it, or ignore it."),
]

Output = Annotated[
    Literal["probabilities", "labels"],
    Query(description="What an answer has for each row: the label and the probability of every class, or the label."),
]

MODEL_DESCRIPTION = f"{REFERENCE_FORMS[0].upper()}{REFERENCE_FORMS[1:]}."
REQUEST_EXAMPLES = {
    "rows": {
        "value": {"model": "credit-risk", "rows": [{"age": 41, "job": "skilled"}, {"age": 23, "job": "unskilled"}]}
    },
    "columns": {"value": {"model": "credit-risk:3", "columns": {"age": [41, 23], "job": ["skilled", "unskilled"]}}},
    "dataset": {"value": {"model": "@production", "dataset_id": "applications-2026", "output": "labels"}},
}
_MODEL: dict[str, JsonValue] = {"id": "5b0e1a5e-6a55-4b8e-9f0c-3f5f3f2d9f10", "name": "credit-risk", "version": 3}
_PREDICTION: dict[str, JsonValue] = {"label": "good", "probabilities": {"bad": 0.2, "good": 0.8}}


SOURCES = ("rows", "columns", "dataset_id")


def _given(name: str) -> dict[str, JsonValue]:
    """Return the schema of an object in which this source of rows is given and the others are not."""
    others: dict[str, JsonValue] = {other: {"type": "null"} for other in SOURCES if other != name}
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}, **others}}


_ONE_SOURCE: list[JsonValue] = [_given(name) for name in SOURCES]


class PredictParameters(RequestModel):
    """Parameters of a prediction, which the query has if the body is a table."""

    model: str = Field(description=MODEL_DESCRIPTION)
    on_unknown: OnUnknown = "error"
    on_missing: OnMissing = "error"
    extra: Extra = "error"
    output: Output = "probabilities"

    @property
    def leniency(self) -> Leniency:
        return Leniency(self.on_unknown, self.on_missing, self.extra)


class PredictRequest(PredictParameters):
    """Rows to predict, given as `rows`, as `columns`, or as an uploaded data set."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra={"oneOf": _ONE_SOURCE})

    rows: Rows | None = None
    columns: Columns | None = None
    dataset_id: DatasetReference | None = Field(None, description=DATASET_DESCRIPTION)

    @property
    def n_rows(self) -> int:
        """Number of rows, by the longest list if there are columns."""
        if self.rows is not None:
            return len(self.rows)
        return max((len(cells) for cells in (self.columns or {}).values() if isinstance(cells, list)), default=0)

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Validate the document of a body. The cells are checked later, against the features of the model.

        Raises:
            RequestValidationError: a key is unknown, or a value has the wrong type.
            Invalid: the document has not exactly one of rows, columns and dataset_id.
        """
        request = validated(cls, document)
        given = [name for name in SOURCES if getattr(request, name) is not None]
        if len(given) != 1:
            found = f"both {' and '.join(given)} are" if given else "neither rows nor columns nor dataset_id are"
            raise Invalid.at("/rows", f"{found} given; give one of them")
        return request


class ModelRef(BaseModel):
    id: uuid.UUID
    name: str
    version: int


class PredictionOut(BaseModel):
    label: bool | int | float | str = Field(description="Most probable class, with its JSON type.")
    probabilities: dict[str, float] = Field(
        default_factory=dict,
        description="Probability of each class, by the text of its label, in class order; none with output=labels.",
    )


class SinglePrediction(PredictionOut):
    model_config = ConfigDict(json_schema_extra={"examples": [{"model": _MODEL, **_PREDICTION}]})

    model: ModelRef


class Predictions(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"model": _MODEL, "predictions": [_PREDICTION]}]})

    model: ModelRef
    predictions: list[PredictionOut] = Field(description="One prediction per row, in the order of the rows.")
