"""Validation of class probabilities (row, class)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.exceptions import InvalidInput

#: How far a row of probabilities may be from summing to 1, to allow for float32 or numbers with few digits.
_ROW_SUM_TOLERANCE = 1e-3


def probability_table(probabilities: ArrayLike) -> NDArray[np.float64]:
    """Return probabilities (row, class) as a new array of floats. Raises InvalidInput."""
    try:
        if np.iscomplexobj(probabilities):
            raise TypeError
        table = np.array(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            "probabilities contain values that are not numbers; pass one number per row and class."
        ) from None
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidInput(
            f"probabilities have shape {table.shape}; they must be a table (row, class) with at least one row."
        )
    return table


def normalized_rows(table: NDArray[np.float64], has_votes: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return a table (row, class) of `probability_table`, changed in place so that its rows sum to 1.

    has_votes: (row,), false for rows of NaN. Raises InvalidInput.
    """
    if not has_votes.any():
        raise InvalidInput(
            "all rows of probabilities are NaN; in a forest with more trees, each row is out of bag for some of them."
        )
    if not np.isnan(table[~has_votes]).all():
        row = int(np.flatnonzero(~has_votes & ~np.isnan(table).all(axis=1))[0])
        raise InvalidInput(
            f"row {row} of probabilities mixes NaN and numbers; use NaN in all columns for a row without votes."
        )
    sums = table[has_votes].sum(axis=1)
    if not np.isfinite(sums).all() or (table[has_votes] < 0).any():
        raise InvalidInput("probabilities contain a negative or infinite number; all must be in [0, 1].")
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > _ROW_SUM_TOLERANCE:
        raise InvalidInput(
            f"row {int(np.flatnonzero(has_votes)[worst])} of probabilities sums to {sums[worst]:g}; each row must sum "
            "to 1. Divide scores by their sum, or apply a softmax to decision values."
        )
    table[has_votes] /= sums[:, np.newaxis]
    return table
