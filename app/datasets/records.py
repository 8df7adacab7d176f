"""Data sets as other packages see them: read-only copies of their rows."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core import Column

#: Most classes, and most excluded columns, that an item of a list has, so that pages stay small.
MAX_LISTED = 10


@dataclass(frozen=True)
class _DatasetHead:
    """Fields that lists of data sets and single ones have in common; `DatasetRow` explains the fields."""

    id: uuid.UUID
    created_at: datetime
    name: str
    sha256: str
    description: str | None
    tags: list[Any]
    n_rows: int
    n_labeled: int
    n_bytes: int
    target: str


@dataclass(frozen=True)
class DatasetItemRecord(_DatasetHead):
    """Data set in a list: counts, which the database computes, in place of what can be large."""

    few_classes: list[Any] | None
    few_roles: dict[str, Any]
    n_classes: int
    n_excluded: int | None
    n_features: dict[str, int] | None
    n_warnings: int


@dataclass(frozen=True)
class DatasetRecord(_DatasetHead):
    """Data set at the moment it was read; `DatasetRow` explains the fields."""

    fingerprint: str
    roles: dict[str, Any]
    reading: dict[str, Any]
    warnings: list[Any]
    classes: list[Any]
    features: list[Any]

    @property
    def used_features(self) -> list[Any]:
        """Features that models see, in column order: all but the ignored ones."""
        return [feature for feature in self.features if feature["kind"] != "ignored"]

    @property
    def left_out(self) -> list[str]:
        """Columns of the file that models do not see: ignored features, weight, group and excluded columns."""
        ignored = [feature["name"] for feature in self.features if feature["kind"] == "ignored"]
        others = [name for role in ("weight", "group") if (name := self.roles.get(role)) is not None]
        return [*ignored, *others, *self.roles.get("exclude", ())]

    @property
    def columns(self) -> tuple[Column, ...]:
        """How cells of the features that models see become numbers, in column order."""
        return tuple(Column.from_json(feature) for feature in self.used_features)

    @property
    def labels(self) -> NDArray[Any]:
        """Labels of the classes (class,), in class order, as an array of their own type."""
        labels = np.array([entry["label"] for entry in self.classes])
        # scikit-learn takes an array of fractions for a regression target; as objects they are class labels.
        return labels.astype(object) if labels.dtype.kind == "f" else labels
