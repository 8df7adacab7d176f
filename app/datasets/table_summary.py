"""Summary of the table of a data set, which is stored in SQL; the process that reads uploads answers it as JSON."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TableSummary:
    """Summary of a table that was read; `DatasetRow` explains the fields."""

    n_rows: int
    n_labeled: int
    classes: list[dict[str, Any]]
    features: list[dict[str, Any]]
    reading: dict[str, Any]
    warnings: list[dict[str, Any]]
