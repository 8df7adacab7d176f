"""Class probabilities that come from outside with labels: where they are checked."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.exceptions import InvalidInput
from core.validation.training_data import class_codes, encode_labels, label_column

#: How far a row of probabilities may be from summing to 1: the rounding of float32, or of few digits.
_ROW_SUM_TOLERANCE = 1e-3


class GivenProbabilities(NamedTuple):
    """Checked and cast; rows sum to 1."""

    probabilities: NDArray[np.float64]  # (row, class), NaN where there are no votes
    codes: NDArray[np.int64]  # (row,)
    classes: NDArray[Any]  # (class,)
    voted: NDArray[np.bool_]  # (row,)


def given_probabilities(probabilities: ArrayLike, y: Any, classes: ArrayLike | None = None) -> GivenProbabilities:
    """Check probabilities (row, class) of labels y (row,). Raises InvalidInput."""
    table = _table(probabilities)
    labels = label_column(y)
    if len(labels) != len(table):
        raise InvalidInput(
            f"probabilities have {len(table)} rows and y has {len(labels)} labels; they must be as many."
        )
    names = _classes(labels, table.shape[1], classes)
    codes, n_unknown = class_codes(names, labels)
    if n_unknown:
        unknown = labels[codes >= len(names)][0]
        raise InvalidInput(f"y holds {unknown!r}, which is not among the classes {names.tolist()}; name every class.")
    voted: NDArray[np.bool_] = np.logical_not(np.isnan(table).any(axis=1))
    return GivenProbabilities(_normalised(table, voted), codes, names, voted)


def _table(probabilities: ArrayLike) -> NDArray[np.float64]:
    try:
        table = np.array(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("probabilities hold what is no number; give one number per row and class.") from None
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidInput(f"probabilities have shape {table.shape}; they must be a table (row, class) of some rows.")
    return table


def _classes(labels: NDArray[Any], n_columns: int, classes: ArrayLike | None) -> NDArray[Any]:
    """The class of each column."""
    if classes is not None:
        names = np.array(classes)
        if names.shape != (n_columns,) or len(set(names.tolist())) != n_columns:
            raise InvalidInput(f"classes are {names.tolist()} for {n_columns} columns; name each column once.")
        return names
    found = encode_labels(labels).classes
    if len(found) == n_columns:
        return found
    if found.dtype.kind in "iu" and found.min() >= 0 and found.max() < n_columns:
        return np.arange(n_columns)
    raise InvalidInput(
        f"probabilities have {n_columns} columns and y has {len(found)} distinct labels; say with classes= which "
        "column is which class."
    )


def _normalised(table: NDArray[np.float64], voted: NDArray[np.bool_]) -> NDArray[np.float64]:
    if not voted.any():
        raise InvalidInput("no row has probabilities; a forest with more trees leaves each row out of some of them.")
    if not np.isnan(table[~voted]).all():
        row = int(np.flatnonzero(~voted & ~np.isnan(table).all(axis=1))[0])
        raise InvalidInput(f"row {row} of probabilities holds NaN beside numbers; NaN throughout means no votes.")
    sums = table[voted].sum(axis=1)
    if not np.isfinite(sums).all() or (table[voted] < 0).any():
        raise InvalidInput("probabilities hold a negative or infinite number; they must be in 0..1.")
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > _ROW_SUM_TOLERANCE:
        raise InvalidInput(
            f"row {int(np.flatnonzero(voted)[worst])} of probabilities sums to {sums[worst]:g}; each row must sum to "
            "1: divide scores by their sum, or decision values by a softmax first."
        )
    table[voted] /= sums[:, np.newaxis]
    return table
