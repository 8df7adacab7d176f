"""Requests for predictions and their responses."""

import uuid
from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainValidator, WithJsonSchema

from app.errors import Invalid
from app.http.json_body import validated
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

MODEL_DESCRIPTION = f"{REFERENCE_FORMS[0].upper()}{REFERENCE_FORMS[1:]}."
REQUEST_EXAMPLES = {
    "rows": {
        "value": {"model": "credit-risk", "rows": [{"age": 41, "job": "skilled"}, {"age": 23, "job": "unskilled"}]}
    },
    "columns": {"value": {"model": "credit-risk:3", "columns": {"age": [41, 23], "job": ["skilled", "unskilled"]}}},
}
_MODEL: dict[str, JsonValue] = {"id": "5b0e1a5e-6a55-4b8e-9f0c-3f5f3f2d9f10", "name": "credit-risk", "version": 3}
_PREDICTION: dict[str, JsonValue] = {"label": "good", "probabilities": {"bad": 0.2, "good": 0.8}}


def _given(name: str, other: str) -> dict[str, JsonValue]:
    """Return the schema of an object in which the first field is given and the other is not."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}, other: {"type": "null"}}}


_EITHER_FORM: list[JsonValue] = [_given("rows", "columns"), _given("columns", "rows")]


class PredictRequest(RequestModel):
    """Rows to predict, given as either `rows` or `columns`."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra={"oneOf": _EITHER_FORM})

    model: str = Field(description=MODEL_DESCRIPTION)
    rows: Rows | None = None
    columns: Columns | None = None
    on_unknown: OnUnknown = "error"
    on_missing: OnMissing = "error"
    extra: Extra = "error"

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
            Invalid: the document has both rows and columns, or neither.
        """
        request = validated(cls, document)
        if (request.rows is None) == (request.columns is None):
            both = "neither rows nor columns are" if request.rows is None else "both rows and columns are"
            raise Invalid.at("/rows", f"{both} given; give one of the two")
        return request


class ModelRef(BaseModel):
    id: uuid.UUID
    name: str
    version: int


class PredictionOut(BaseModel):
    label: bool | int | float | str = Field(description="Most probable class, with its JSON type.")
    probabilities: dict[str, float] = Field(
        description="Probability of each class, by the text of its label, in class order."
    )


class SinglePrediction(PredictionOut):
    model_config = ConfigDict(json_schema_extra={"examples": [{"model": _MODEL, **_PREDICTION}]})

    model: ModelRef


class Predictions(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"model": _MODEL, "predictions": [_PREDICTION]}]})

    model: ModelRef
    predictions: list[PredictionOut] = Field(description="One prediction per row, in the order of the rows.")
