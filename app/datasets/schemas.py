"""What clients send and see of data sets."""

import json
import uuid
from datetime import datetime
from typing import Annotated, Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, Json, StringConstraints, ValidationError

from app.datasets.column_types import ColumnKind
from app.datasets.receiving import Fields

Label = bool | int | float | str

NameText = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]

_EXAMPLE_FEATURES = [
    {
        "name": "age", "kind": "numeric", "missing": 3, "min": 18, "max": 91,
        "mean": 40.7, "distinct": 71, "categories": None,
    },
    {
        "name": "job", "kind": "categorical", "missing": 0, "min": None, "max": None,
        "mean": None, "distinct": 2, "categories": ["skilled", "unskilled"],
    },
]  # fmt: skip


class UploadFields(BaseModel):
    """The fields beside the file, from the form or from the query."""

    model_config = ConfigDict(extra="forbid")

    target: Annotated[str, Field(min_length=1, description="the column that holds the labels")]
    name: Annotated[NameText | None, Field(description="a name to find it by; the file's own by default")] = None
    exclude: Annotated[list[str], Field(description="columns to leave out; repeatable")] = []
    types: Annotated[
        Json[dict[str, ColumnKind]] | None,
        Field(description='JSON object `{column: "numeric" | "categorical"}` for columns to be read otherwise'),
    ] = None

    @classmethod
    def from_fields(cls, fields: Fields, source: str) -> "UploadFields":
        """source: `body` or `query`.

        Raises:
            RequestValidationError: a field is missing, unknown, given twice or not valid.
        """
        values = {name: given if name == "exclude" or len(given) > 1 else given[0] for name, given in fields.items()}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            listed = error.errors(include_url=False, include_context=False)
            located = [{**item, "loc": (source, *item["loc"])} for item in listed]
            raise RequestValidationError(located, body={**values, "types": _parsed(values.get("types"))}) from error


def _parsed(types: str | list[str] | None) -> Any:
    """`types` as an object, so that an error inside it can be pointed at."""
    try:
        return json.loads(types) if isinstance(types, str) else types
    except ValueError:
        return types


class ClassCount(BaseModel):
    label: Annotated[Label, Field(examples=["bad"])]
    count: Annotated[int, Field(examples=[300])]


class Feature(BaseModel):
    name: str
    kind: ColumnKind
    missing: Annotated[int, Field(description="rows without a value")]
    min: Annotated[int | float | None, Field(description="null for a categorical feature, or without any value")]
    max: int | float | None
    mean: float | None
    distinct: Annotated[int | None, Field(description="different values; null when there are too many to count")]
    categories: Annotated[list[str] | None, Field(description="sorted; null for a numeric feature")]


class Dataset(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: uuid.UUID
    name: Annotated[str, Field(examples=["german-credit"])]
    sha256: Annotated[str, Field(description="of the uploaded file after decompression")]
    n_rows: Annotated[int, Field(examples=[1000])]
    n_bytes: Annotated[int, Field(description="of the uploaded file after decompression", examples=[52143])]
    target: Annotated[str, Field(examples=["risk"])]
    classes: Annotated[
        list[ClassCount],
        Field(
            description="in class order: sorted, numerically when all labels are numbers",
            examples=[[{"label": "bad", "count": 300}, {"label": "good", "count": 700}]],
        ),
    ]
    features: Annotated[list[Feature], Field(description="in the file's column order", examples=[_EXAMPLE_FEATURES])]
    created_at: datetime


class DatasetRows(BaseModel):
    columns: Annotated[list[str], Field(description="the features and, last, the target", examples=[["age", "risk"]])]
    rows: Annotated[
        list[list[Label | None]], Field(description="in file order; null = missing", examples=[[[41, "good"]]])
    ]


def upload_request_body() -> dict[str, Any]:
    """The OpenAPI description of both forms of upload."""
    binary = {"type": "string", "format": "binary"}
    fields = UploadFields.model_json_schema()["properties"]
    form = {"type": "object", "required": ["file", "target"], "properties": {"file": binary, **fields}}
    example = "age,job,risk\n41,skilled,good\n23,unskilled,bad\n"
    return {
        "required": True,
        "content": {
            "multipart/form-data": {"schema": form},
            "text/csv": {"schema": {"type": "string"}, "example": example},
            "text/tab-separated-values": {"schema": {"type": "string"}},
            "application/vnd.apache.parquet": {"schema": binary},
            "application/vnd.apache.arrow.stream": {"schema": binary},
            "application/vnd.apache.arrow.file": {"schema": binary},
        },
    }
