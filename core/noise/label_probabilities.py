"""Validation of class probabilities for labeled rows."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.class_votes import rows_with_votes
from core.exceptions import InvalidInput
from core.validation.labels import Labels, encode_labels, label_column, listed_codes
from core.validation.misplaced_arguments import check_no_label_is_missing

#: How far a row of probabilities may be from summing to 1, to allow for float32 or numbers with few digits.
_ROW_SUM_TOLERANCE = 1e-3


class LabelProbabilities(NamedTuple):
    """Labels and class probabilities of the same rows, checked and cast. Rows of probabilities sum to 1."""

    probabilities: NDArray[np.float64]  # (row, class), NaN for rows without votes
    codes: NDArray[np.int64]  # (row,)
    classes: NDArray[Any]  # (class,)
    has_votes: NDArray[np.bool_]  # (row,)


def check_label_probabilities(probabilities: ArrayLike, y: Any, classes: ArrayLike | None = None) -> LabelProbabilities:
    """Check and cast probabilities (row, class) and labels y (row,). Raises InvalidInput."""
    table = _table(probabilities)
    labels = label_column(y)
    if len(labels) != len(table):
        raise InvalidInput(
            f"probabilities have {len(table)} rows and y has {len(labels)} labels; pass one label per row."
        )
    check_no_label_is_missing(labels)
    names = _column_classes(labels, table.shape[1], classes)
    codes = listed_codes(names, labels, "classes=")
    has_votes = rows_with_votes(table)
    return LabelProbabilities(_normalized(table, has_votes), codes, names, has_votes)


def _table(probabilities: ArrayLike) -> NDArray[np.float64]:
    try:
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


def _column_classes(labels: Labels, n_columns: int, classes: ArrayLike | None) -> NDArray[Any]:
    """Return the class of each column."""
    if classes is not None:
        names = np.array(classes)
        if names.shape != (n_columns,) or len(set(names.tolist())) != n_columns:
            raise InvalidInput(f"classes is {names.tolist()} for {n_columns} columns; it must name each column once.")
        return names
    present = encode_labels(labels).classes
    if len(present) == n_columns:
        return present
    if present.dtype.kind in "iu" and present.min() >= 0 and present.max() < n_columns:
        return np.arange(n_columns)
    raise InvalidInput(
        f"probabilities have {n_columns} columns and y has {len(present)} distinct labels; name the class of each "
        "column in classes=."
    )


def _normalized(table: NDArray[np.float64], has_votes: NDArray[np.bool_]) -> NDArray[np.float64]:
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
