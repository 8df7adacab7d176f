"""Audits as the service returns and stores them."""

import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.audits.tables import AuditRow

#: Number in the place of the given label of a row without one.
UNLABELED = -1


@dataclass(frozen=True)
class Audit:
    """Finished audit."""

    row: AuditRow
    dataset_id: uuid.UUID


@dataclass(frozen=True)
class AuditSummary:
    """Figures of a finished audit in lists."""

    n_rows: int
    n_issues: int
    noise_rate: float
    noise_rate_error: float | None


@dataclass(frozen=True, kw_only=True)
class NewAudit:
    """Result of an audit; `AuditRow` explains the fields."""

    job_id: uuid.UUID
    dataset_id: uuid.UUID
    classes: list[Any]
    n_rows: int
    n_issues: int
    report: dict[str, Any]
    issues_sha256: str


@dataclass(frozen=True)
class AuditedRows:
    """Rows of a data set with the assessment of their labels.

    Arrays (row,); labels are indices into the classes of the data set.
    """

    row: NDArray[np.int64]  # number in the file, from 0
    given: NDArray[np.int32]  # UNLABELED for a row without a label
    suggested: NDArray[np.int32]
    quality: NDArray[np.float64]  # in [0, 1]; NaN for a row without a label
    is_issue: NDArray[np.bool_]

    def worst_first(self) -> "AuditedRows":
        """Return the rows in ascending order of quality; equal ones keep their order, and unlabeled ones are last."""
        order = np.argsort(self.quality, kind="stable")
        return AuditedRows(*(values[order] for values in vars(self).values()))

    def with_unlabeled(self, unlabeled: "AuditedRows") -> "AuditedRows":
        """Return these rows and then `unlabeled` ones."""
        columns = zip(vars(self).values(), vars(unlabeled).values(), strict=True)
        return AuditedRows(*(np.concatenate(pair) for pair in columns))

    def first(self, n_rows: int) -> "AuditedRows":
        """Return the first `n_rows` rows."""
        return AuditedRows(*(values[:n_rows] for values in vars(self).values()))

    def __len__(self) -> int:
        return len(self.row)
