"""Predictions as clients ask for and see them."""

import uuid
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainValidator, WithJsonSchema


def _an_object(value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError("columns must be an object {feature: [value, ...]}")
    return value


_CELL: dict[str, Any] = {"type": ["number", "string", "boolean", "null"]}

# Cells are left as the parser made them: checked against the model's features later, and copied never.
Rows = Annotated[
    list[Any],
    WithJsonSchema({"type": "array", "minItems": 1, "items": {"type": "object", "additionalProperties": _CELL}}),
]
Columns = Annotated[
    Any,
    PlainValidator(_an_object),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "array", "minItems": 1, "items": _CELL}}),
]
OnUnknown = Annotated[
    Literal["error", "missing"], Query(description="an unseen category: refuse it, or take it as missing")
]
OnMissing = Annotated[
    Literal["error", "missing"], Query(description="a feature that is not named: refuse, or take it as missing")
]
Extra = Annotated[
    Literal["error", "ignore"], Query(description="a name that the model does not know: refuse it, or drop it")
]

REQUEST_EXAMPLES = {
    "rows": {
        "value": {"model": "credit-risk", "rows": [{"age": 41, "job": "skilled"}, {"age": 23, "job": "unskilled"}]}
    },
    "columns": {"value": {"model": "credit-risk:3", "columns": {"age": [41, 23], "job": ["skilled", "unskilled"]}}},
}
_MODEL: dict[str, JsonValue] = {"id": "5b0e1a5e-6a55-4b8e-9f0c-3f5f3f2d9f10", "name": "credit-risk", "version": 3}
_PREDICTION: dict[str, JsonValue] = {"label": "good", "probabilities": {"bad": 0.2, "good": 0.8}}


class PredictRequest(BaseModel):
    """`rows` or `columns`, not both. Cells are checked against the model's features, not here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(description="id, name (latest version), or name:version")
    rows: Rows | None = None
    columns: Columns | None = None
    on_unknown: OnUnknown = "error"
    on_missing: OnMissing = "error"
    extra: Extra = "error"


class ModelRef(BaseModel):
    id: uuid.UUID
    name: str
    version: int


class PredictionOut(BaseModel):
    label: bool | int | float | str = Field(description="the most probable class, with its JSON type")
    probabilities: dict[str, float] = Field(description="by the text of the label, in class order")


class SinglePrediction(PredictionOut):
    model_config = ConfigDict(json_schema_extra={"examples": [{"model": _MODEL, **_PREDICTION}]})

    model: ModelRef


class Predictions(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"model": _MODEL, "predictions": [_PREDICTION]}]})

    model: ModelRef
    predictions: list[PredictionOut] = Field(description="one per row, in the order of the rows")
