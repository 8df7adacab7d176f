"""Requests and answers about data sets."""

import json
import uuid
from datetime import datetime
from typing import Annotated, Any

from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Json, StringConstraints, ValidationError

from app.datasets.column_types import ColumnKind
from app.datasets.receiving import Fields
from app.http.pagination import without_nul

Label = bool | int | float | str

NameText = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(without_nul)]

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
    """Fields of an upload beside the file, from the form or from the query."""

    model_config = ConfigDict(extra="forbid")

    target: Annotated[str, Field(min_length=1, description="column with the labels")]
    name: Annotated[NameText | None, Field(description="name of the data set; default: the name of the file")] = None
    exclude: Annotated[list[str], Field(description="columns to leave out; repeatable")] = []
    types: Annotated[
        Json[dict[str, ColumnKind]] | None,
        Field(description='JSON object `{column: "numeric" | "categorical"}` with types that replace detected ones'),
    ] = None

    @classmethod
    def from_fields(cls, fields: Fields, source: str) -> "UploadFields":
        """Return the validated fields. source: `body` or `query`, where they come from.

        Raises:
            RequestValidationError: a field is missing, unknown, given twice or not valid.
        """
        values = {name: texts if name == "exclude" or len(texts) > 1 else texts[0] for name, texts in fields.items()}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            listed = error.errors(include_url=False)
            located = [{**item, "loc": (source, *item["loc"])} for item in listed]
            raise RequestValidationError(located, body={**values, "types": _parsed(values.get("types"))}) from error


def _parsed(types: str | list[str] | None) -> Any:
    """Return `types` as an object, so that a pointer to an error inside it can be found."""
    try:
        return json.loads(types) if isinstance(types, str) else types
    except ValueError:
        return types


class ClassCount(BaseModel):
    """Class of the target."""

    label: Annotated[Label, Field(examples=["bad"])]
    count: Annotated[int, Field(examples=[300])]


class Feature(BaseModel):
    """Profile of a feature."""

    name: str
    kind: ColumnKind
    missing: Annotated[int, Field(description="rows without a value")]
    min: Annotated[int | float | None, Field(description="null for a categorical or an empty feature")]
    max: int | float | None
    mean: float | None
    distinct: Annotated[int | None, Field(description="number of distinct values; null if there are too many")]
    categories: Annotated[list[str] | None, Field(description="sorted; null for a numeric feature")]


class Dataset(BaseModel):
    """Uploaded table with its roles and the profiles of its columns."""

    model_config = ConfigDict(from_attributes=True)

    id: uuid.UUID
    name: Annotated[str, Field(examples=["german-credit"])]
    sha256: Annotated[str, Field(description="SHA-256 of the uploaded file after decompression")]
    n_rows: Annotated[int, Field(examples=[1000])]
    n_bytes: Annotated[int, Field(description="size of the uploaded file after decompression", examples=[52143])]
    target: Annotated[str, Field(examples=["risk"])]
    classes: Annotated[
        list[ClassCount],
        Field(
            description="in class order: sorted, numerically if all labels are numbers",
            examples=[[{"label": "bad", "count": 300}, {"label": "good", "count": 700}]],
        ),
    ]
    features: Annotated[list[Feature], Field(description="in the order of the file", examples=[_EXAMPLE_FEATURES])]
    created_at: datetime


class DatasetRows(BaseModel):
    """Rows of a data set as they were uploaded."""

    columns: Annotated[list[str], Field(description="the features, then the target", examples=[["age", "risk"]])]
    rows: Annotated[
        list[list[Label | None]], Field(description="in file order; null = missing", examples=[[[41, "good"]]])
    ]


def upload_request_body() -> dict[str, Any]:
    """Return the OpenAPI description of both forms of an upload."""
    binary = {"type": "string", "format": "binary"}
    fields = UploadFields.model_json_schema()
    form = {
        "type": "object",
        "required": ["file", *fields["required"]],
        "properties": {"file": binary, **fields["properties"]},
        "$defs": fields.get("$defs", {}),
    }
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
