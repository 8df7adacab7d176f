"""Answers about data sets, and changes to them."""

import uuid
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from app.datasets.column_types import ColumnKind
from app.datasets.records import MAX_LISTED, DatasetItemRecord
from app.http.descriptions import DescriptionText, TagList
from app.requests.dataset_reference import NameText
from app.requests.request_model import RequestModel

Label = bool | int | float | str

_EXAMPLE_FEATURES = [
    {
        "name": "age", "kind": "numeric", "reason": None, "missing": 3, "min": 18, "max": 91,
        "mean": 40.7, "distinct": 71, "categories": None,
    },
    {
        "name": "job", "kind": "categorical", "reason": None, "missing": 0, "min": None, "max": None,
        "mean": None, "distinct": 2, "categories": ["skilled", "unskilled"],
    },
]  # fmt: skip

_EXAMPLE_WARNING = {
    "column": "amount",
    "code": "nearly_numeric",
    "detail": "all but 1 of 1,000 values of column 'amount' are numbers, but row 17 (line 19) has 'abc'; …",
    "rows": [17],
}


class ClassCount(BaseModel):
    """Class of the target."""

    label: Annotated[Label, Field(examples=["bad"])]
    count: Annotated[int, Field(examples=[300])]


_CLASSES = Field(
    description="in class order: sorted, numerically if all labels are numbers",
    examples=[[{"label": "bad", "count": 300}, {"label": "good", "count": 700}]],
)


class Feature(BaseModel):
    """Profile of a feature."""

    name: str
    kind: ColumnKind
    reason: Annotated[
        str | None,
        Field(description="why it is ignored: `identifier`, `free_text`, `constant`, `empty`, `unread`, `requested`"),
    ] = None
    missing: Annotated[int, Field(description="rows without a value")]
    min: Annotated[
        int | float | str | None, Field(description="text for dates; null for categories and without values")
    ]
    max: int | float | str | None
    mean: float | str | None
    distinct: Annotated[int | None, Field(description="number of distinct values; null if there are too many")]
    categories: Annotated[list[str] | None, Field(description="sorted; null for numbers and dates")]
    reading: Annotated[
        dict[str, Any],
        Field(description="how the text of the column was read, where it differs from the default"),
    ] = {}


class Roles(BaseModel):
    """Columns with a role beside the target."""

    weight: str | None = None
    group: str | None = None
    exclude: Annotated[list[str], Field(description="columns that the upload left out")] = []


class DatasetWarning(BaseModel):
    """Finding about an upload that the user should check."""

    column: str | None
    code: str
    detail: str
    rows: Annotated[list[int], Field(description="the first rows that it concerns, from 0 in file order")]


class DatasetHead(BaseModel):
    """Fields of a data set that lists and single answers have in common."""

    model_config = ConfigDict(from_attributes=True)

    id: uuid.UUID
    name: Annotated[str, Field(examples=["german-credit"])]
    description: str | None
    tags: list[str]
    sha256: Annotated[str, Field(description="SHA-256 of the uploaded file after decompression")]
    n_rows: Annotated[int, Field(examples=[1000])]
    n_labeled: Annotated[int, Field(description="rows with a label; models are trained on these", examples=[1000])]
    n_bytes: Annotated[int, Field(description="size of the uploaded file after decompression", examples=[52143])]
    target: Annotated[str, Field(examples=["risk"])]
    created_at: datetime


class RolesItem(BaseModel):
    """Roles of a data set in a list."""

    weight: str | None = None
    group: str | None = None
    exclude: Annotated[
        list[str] | None,
        Field(description=f"columns that the upload left out; null if there are more than {MAX_LISTED}"),
    ] = []


class DatasetItem(DatasetHead):
    """Data set in a list: counts in place of features, and of classes if there are many."""

    roles: RolesItem
    n_classes: int
    classes: Annotated[
        list[ClassCount] | None,
        Field(description=f"in class order; null if there are more than {MAX_LISTED}"),
    ]
    n_features: Annotated[dict[ColumnKind, int], Field(description="number of features of each kind")]
    n_warnings: int

    @classmethod
    def from_record(cls, record: DatasetItemRecord) -> Self:
        """Return the item of a list."""
        values = {name: getattr(record, name) for name in DatasetHead.model_fields}
        counts = record.n_features or {}
        too_many = record.n_excluded is not None and "exclude" not in record.few_roles
        return cls(
            **values,
            roles=RolesItem(**record.few_roles | ({"exclude": None} if too_many else {})),
            n_classes=record.n_classes,
            classes=record.few_classes,
            n_features={kind: counts[kind] for kind in ColumnKind if kind in counts},
            n_warnings=record.n_warnings,
        )


class Dataset(DatasetHead):
    """Uploaded table with its roles and the profiles of its columns."""

    roles: Roles
    classes: Annotated[list[ClassCount], _CLASSES]
    reading: Annotated[
        dict[str, Any],
        Field(description="how the file was read: format, encoding, delimiter, marks of numbers, missing texts, dates"),
    ]
    features: Annotated[list[Feature], Field(description="in the order of the file", examples=[_EXAMPLE_FEATURES])]
    warnings: Annotated[list[DatasetWarning], Field(description="what to check", examples=[[_EXAMPLE_WARNING]])]


class Level(BaseModel):
    """Value of a column of text."""

    level: Annotated[str, Field(description="cut after 200 characters; then it ends with …")]
    count: int
    by_class: Annotated[list[int], Field(description="rows of each of `classes`")]


class Histogram(BaseModel):
    """Counts of values between edges."""

    edges: Annotated[list[float | str], Field(description="one more than there are bins; text for dates")]
    counts: list[int]
    by_class: Annotated[list[list[int]], Field(description="counts of each of `classes`")]


Quantiles = Annotated[list[float | str] | None, Field(description="at the shares `quantiles` of the answer")]


class ColumnProfile(BaseModel):
    """Profile of a feature. Numbers and dates have quantiles and a histogram, text and booleans have levels."""

    name: str
    kind: ColumnKind
    reason: str | None = None
    missing: int
    distinct: int | None
    min: int | float | str | None
    max: int | float | str | None
    mean: float | str | None
    sd: float | None = None
    quantiles: Quantiles = None
    by_class: Annotated[list[Quantiles] | None, Field(description="quantiles of each of `classes`")] = None
    histogram: Histogram | None = None
    levels: Annotated[list[Level] | None, Field(description="the most frequent values")] = None


class DatasetProfile(BaseModel):
    """Profiles of columns, ready to draw."""

    n_rows: int
    n_profiled: Annotated[
        int,
        Field(description="rows that quantiles, histograms and levels are made of, evenly spread; the rest is exact"),
    ]
    n_columns: Annotated[int, Field(description="features of the data set, of which `columns` has a part")]
    quantiles: Annotated[list[float], Field(description="shares of the quantiles")]
    classes: Annotated[list[ClassCount], Field(description="the most frequent classes, in class order")]
    columns: list[ColumnProfile]


def _named(name: str | None) -> str:
    if name is None:
        raise ValueError("name is null; it must be text, leave the key out to keep the name")
    return name


class DatasetChanges(RequestModel):
    """Changes to a data set; what is not named stays as it is."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[NameText | SkipJsonSchema[None], AfterValidator(_named)] = None
    description: DescriptionText | None = None
    tags: TagList = None

    def values(self) -> dict[str, Any]:
        """Return the values that were named. A description of null removes it."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class DatasetRows(BaseModel):
    """Rows of a data set as they were uploaded."""

    columns: Annotated[
        list[str],
        Field(description="the features, weight and group, then the target", examples=[["age", "risk"]]),
    ]
    rows: Annotated[
        list[list[Label | None]],
        Field(description="null = missing; long texts are cut and end with …", examples=[[[41, "good"]]]),
    ]
    row_numbers: Annotated[list[int], Field(description="from 0 in file order", examples=[[0]])]
