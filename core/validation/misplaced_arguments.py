"""Errors about values that are not what their argument is for: tables, labels and their types."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from core.exceptions import InvalidInput
from core.missing_values import missing_values
from core.validation.labels import EncodedLabels, Labels, label_values


def check_is_table(X: Any) -> None:
    """Raise TypeError for a sparse matrix, InvalidInput for data that another library must turn into a table first."""
    if hasattr(X, "tocsr"):
        raise TypeError("Sparse data was passed for X, but dense data is required. Use '.toarray()' to convert it.")
    if isinstance(X, Mapping) or (isinstance(X, list | tuple) and X and isinstance(X[0], Mapping)):
        kind = "a mapping" if isinstance(X, Mapping) else "a list of mappings"
        raise InvalidInput(f"X is {kind}; pass a data frame instead, such as pandas.DataFrame(X).")
    if hasattr(X, "collect_schema") and not hasattr(X, "__arrow_c_stream__"):
        raise InvalidInput(f"X is a {type(X).__name__}, whose rows are not computed yet; pass X.collect().")


def check_order(X: Any, y: Any) -> None:
    """Raise InvalidInput if X has the shape of labels and y that of a table, as if they were swapped."""
    rows: tuple[int, ...] = getattr(X, "shape", ())
    labels: tuple[int, ...] = getattr(y, "shape", ())
    if len(rows) == 1 and len(labels) == 2 and labels[1] > 1:
        raise InvalidInput(
            f"X has shape {rows} and y has shape {labels}, as if they were swapped; pass the table first and the "
            "labels second, fit(X, y)."
        )


def check_equal_lengths(n_rows: int, n_labels: int) -> None:
    """Raise InvalidInput unless there is one label for each row."""
    if n_rows != n_labels:
        raise InvalidInput(f"X has {n_rows} rows and y has {n_labels} labels; the numbers must be equal.")


def check_has_labels(labels: Labels) -> None:
    """Raise InvalidInput if y (row,) is empty."""
    if len(labels) == 0:
        raise InvalidInput("y has no labels; pass at least one.")


def check_no_label_is_missing(labels: Labels) -> None:
    """Raise InvalidInput if y (row,) contains None, NaN or a missing value of pandas."""
    missing = missing_values(label_values(labels))
    if isinstance(labels, EncodedLabels) and missing.any():
        missing = missing[labels.codes]
    if not missing.any():
        return
    raise InvalidInput(
        f"y contains NaN or None in {missing.sum()} of {len(labels)} rows, the first of which is row "
        f"{missing.argmax()}; remove those rows, since every row needs a label."
    )


def check_label_types(classes: NDArray[Any], labels: NDArray[Any]) -> None:
    """Raise InvalidInput if all labels are text and no class is, or the other way around: none could be right."""
    known, passed = classes.tolist(), labels.tolist()
    if not passed or isinstance(passed[0], str) == isinstance(known[0], str):
        return
    if {isinstance(label, str) for label in passed} & {isinstance(label, str) for label in known}:
        return
    raise InvalidInput(
        f"y contains labels such as {passed[0]!r:.100} of type {type(passed[0]).__name__}, and the classes of this "
        f"model, such as {known[0]!r:.100}, have type {type(known[0]).__name__}; convert y to the type of the labels "
        "of the fit."
    )
