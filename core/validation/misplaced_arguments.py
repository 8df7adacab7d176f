"""Errors about arguments in each other's place, and about labels of another type than those of the fit."""

from typing import Any

from numpy.typing import NDArray

from core.exceptions import InvalidInput


def check_order(X: Any, y: Any) -> None:
    """Raise InvalidInput if X has the shape of labels and y that of a table, as if they were swapped."""
    rows: tuple[int, ...] = getattr(X, "shape", ())
    labels: tuple[int, ...] = getattr(y, "shape", ())
    if len(rows) == 1 and len(labels) == 2 and labels[1] > 1:
        raise InvalidInput(
            f"X has shape {rows} and y has shape {labels}, as if they were swapped; pass the table first and the "
            "labels second, fit(X, y)."
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
