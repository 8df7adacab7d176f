"""Feature matrix with the columns that its numbers stand for."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from core.columns.column import Column
from core.exceptions import InvalidInput


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """Rows as numbers, with the columns that the numbers stand for.

    X: float32 or float64 (row, feature), NaN = missing, a category is its index. columns: one per feature.
    left_out: names of other columns of the same source, such as the target, which a frame to predict may have too.

    Raises InvalidInput if the number of columns does not match.
    """

    X: NDArray[np.float32] | NDArray[np.float64]
    columns: tuple[Column, ...]
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.X.shape[1] != len(self.columns):
            raise InvalidInput(
                f"X has shape {self.X.shape} and there are {len(self.columns)} columns; pass one for each feature."
            )

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return X, where NumPy asks for an array."""
        return np.array(self.X, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of features."""
        return len(self.X), len(self.columns)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> "EncodedTable":
        """Return the rows with these numbers, in this order, or of this mask."""
        return EncodedTable(self.X[rows], self.columns, self.left_out)
