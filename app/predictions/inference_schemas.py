"""Requests and answers of the Open Inference Protocol, version 2."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from app.errors import Invalid
from app.http.json_body import validated
from app.predictions.coercion import Leniency
from app.predictions.errors import pointer
from app.predictions.tensors import OUTPUTS
from app.requests.request_model import RequestModel

_TENSOR: dict[str, Any] = {
    "type": "object",
    "required": ["name", "shape", "datatype", "data"],
    "properties": {
        "name": {"type": "string", "description": "name of a feature"},
        "shape": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1, "maxItems": 2},
        "datatype": {"type": "string", "examples": ["FP64", "INT64", "BOOL", "BYTES"]},
        "data": {"type": "array", "description": "one value for each row; null is missing"},
        "parameters": {"type": "object"},
    },
}
INFER_EXAMPLE: dict[str, Any] = {
    "id": "1",
    "inputs": [
        {"name": "age", "shape": [2], "datatype": "FP64", "data": [41, None]},
        {"name": "job", "shape": [2], "datatype": "BYTES", "data": ["skilled", "unskilled"]},
    ],
}

Tensors = Annotated[list[Any], WithJsonSchema({"type": "array", "minItems": 1, "items": _TENSOR})]


class RequestedOutput(RequestModel):
    """Output that a client wants."""

    name: str
    parameters: dict[str, Any] | None = None


class InferRequest(RequestModel):
    """Request for predictions, with one tensor for each feature."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str | None = Field(None, max_length=1_000, description="repeated in the answer")
    parameters: dict[str, Any] | None = Field(
        None, description="`on_unknown`, `on_missing` and `extra` as in POST /predict; others are ignored"
    )
    inputs: Tensors
    outputs: list[RequestedOutput] | None = Field(None, description="`label`, `probabilities`, or both; null: both")

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Validate the document of a body, whose tensors are checked later. Raises Invalid, RequestValidationError."""
        request = validated(cls, document)
        for i, output in enumerate(request.outputs or ()):
            if output.name not in OUTPUTS:
                detail = f"there is no output {output.name!r:.100}; the outputs are {', '.join(OUTPUTS)}"
                raise Invalid.at(pointer("outputs", i, "name"), detail)
            if (output.parameters or {}).get("binary_data"):
                detail = "the binary tensor data extension is not supported; remove binary_data"
                raise Invalid.at(pointer("outputs", i, "parameters"), detail)
        _ = request.leniency
        return request

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(output.name for output in self.outputs) if self.outputs else OUTPUTS

    @property
    def leniency(self) -> Leniency:
        """Treatment of odd input that the parameters ask for. Raises Invalid."""
        given = {name: value for name, value in (self.parameters or {}).items() if name in _CHOICES}
        for name, value in given.items():
            if value not in _CHOICES[name]:
                rule = " or ".join(map(repr, _CHOICES[name]))
                raise Invalid.at(pointer("parameters", name), f"{name} is {value!r:.80}; it must be {rule}")
        return Leniency(**given)


_CHOICES = {"on_unknown": ["error", "missing"], "on_missing": ["error", "missing"], "extra": ["error", "ignore"]}


class TensorMetadata(BaseModel):
    name: str
    datatype: str = Field(examples=["FP64"])
    shape: list[int] = Field(examples=[[-1]], description="-1 is the number of rows")


class ServerMetadata(BaseModel):
    name: str
    version: str
    extensions: list[str]


class ServerLive(BaseModel):
    live: Literal[True] = True


class ModelMetadata(BaseModel):
    name: str
    versions: list[str]
    platform: str
    inputs: list[TensorMetadata]
    outputs: list[TensorMetadata]


class ModelReady(BaseModel):
    name: str
    ready: Literal[True] = True


class OutputTensor(TensorMetadata):
    parameters: dict[str, Any] = Field(default_factory=dict, description="`classes`, in the order of the columns")
    data: list[Any]


class InferAnswer(BaseModel):
    model_name: str
    model_version: str
    id: str | None = None
    outputs: list[OutputTensor]
