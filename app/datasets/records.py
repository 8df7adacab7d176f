"""Data sets as other packages see them: read-only copies of their rows."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class DatasetRecord:
    """Data set at the moment it was read; `DatasetRow` explains the fields."""

    id: uuid.UUID
    created_at: datetime
    name: str
    sha256: str
    fingerprint: str
    n_rows: int
    n_bytes: int
    target: str
    classes: list[Any]
    features: list[Any]

    @property
    def labels(self) -> NDArray[Any]:
        """Labels of the classes (class,), in class order, as an array of their own type."""
        labels = np.array([entry["label"] for entry in self.classes])
        # scikit-learn takes an array of fractions for a regression target; as objects they are class labels.
        return labels.astype(object) if labels.dtype.kind == "f" else labels
