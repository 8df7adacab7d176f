"""Validation of class probabilities for labeled rows."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.class_votes import rows_with_votes
from core.exceptions import InvalidInput
from core.validation.labels import Labels, encode_labels, label_column, listed_codes
from core.validation.misplaced_arguments import check_no_label_is_missing
from core.validation.probabilities import normalized_rows, probability_table


class LabelProbabilities(NamedTuple):
    """Labels and class probabilities of the same rows, checked and cast. Rows of probabilities sum to 1."""

    probabilities: NDArray[np.float64]  # (row, class), NaN for rows without votes
    codes: NDArray[np.int64]  # (row,)
    classes: NDArray[Any]  # (class,)
    has_votes: NDArray[np.bool_]  # (row,)


def check_label_probabilities(probabilities: ArrayLike, y: Any, classes: ArrayLike | None = None) -> LabelProbabilities:
    """Check and cast probabilities (row, class) and labels y (row,). Raises InvalidInput."""
    table = probability_table(probabilities)
    labels = label_column(y)
    if len(labels) != len(table):
        raise InvalidInput(
            f"probabilities have {len(table)} rows and y has {len(labels)} labels; pass one label per row."
        )
    check_no_label_is_missing(labels)
    names = _column_classes(labels, table.shape[1], classes)
    codes = listed_codes(names, labels, "classes=")
    has_votes = rows_with_votes(table)
    return LabelProbabilities(normalized_rows(table, has_votes), codes, names, has_votes)


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
