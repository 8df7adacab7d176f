"""Answers of annotators: validation, and sums over the answers of an item or of an annotator."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidInput
from core.missing_values import missing_values
from core.validation.labels import EncodedLabels, class_codes, encode_labels, label_column

#: Class number of an item whose true class is not known.
UNKNOWN = -1


class Answers(NamedTuple):
    """Answers, sorted by item and then by annotator, so that results do not depend on their order."""

    items: NDArray[Any]  # (item,), sorted
    annotators: NDArray[Any]  # (annotator,), sorted
    classes: NDArray[Any]  # (class,), sorted
    item_of: NDArray[np.int64]  # (answer,), number of the item
    annotator_of: NDArray[np.int64]  # (answer,)
    class_of: NDArray[np.int64]  # (answer,)
    known: NDArray[np.int64]  # (item,), class number of an item whose true class is known, else UNKNOWN

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def sum_by_item(self, values: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the sum of the values (answer,) of each item, (item,); the number of answers for None."""
        return np.bincount(self.item_of, values, len(self.items)).astype(np.float64)

    def sum_by_annotator(self, values: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the sum of the values (answer,) of each annotator, (annotator,); the number of answers for None."""
        return np.bincount(self.annotator_of, values, len(self.annotators)).astype(np.float64)

    def sum_by_class(self, values: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the sum of the values (answer,) by item and answered class, (item, class); counts for None."""
        cells, n_cells = self.item_of * self.n_classes + self.class_of, len(self.items) * self.n_classes
        return np.bincount(cells, values, n_cells).reshape(len(self.items), self.n_classes).astype(np.float64)


def check_answers(answers: Any, n_classes: int | None, gold: Mapping[Any, Any] | None) -> Answers:
    """Check and encode answers: three arrays (answer,) of items, annotators and labels.

    n_classes: number of classes, whose labels are then 0 to n_classes - 1; None for the classes that were answered.
    gold: true label of some items.

    Raises InvalidInput.
    """
    items, annotators, labels = _columns(answers)
    classes = labels.classes if n_classes is None else _numbered_classes(labels, n_classes)
    if len(classes) < 2:
        raise InvalidInput(
            f"all answers are {classes.tolist()[0]!r}; a consensus needs at least two classes. Pass n_classes= if "
            "other classes were possible."
        )
    order = np.lexsort((annotators.codes, items.codes))
    codes, _ = class_codes(classes, labels)
    columns = (items.codes[order].astype(np.int64), annotators.codes[order].astype(np.int64), codes[order])
    _check_one_answer_each(items, annotators, *columns[:2])
    known = _known_classes(items.classes, classes, gold or {})
    return Answers(items.classes, annotators.classes, classes, *columns, known)


def _columns(answers: Any) -> tuple[EncodedLabels, EncodedLabels, EncodedLabels]:
    if not isinstance(answers, tuple | list) or len(answers) != 3:
        raise InvalidInput(
            f"answers is {_described(answers)}; pass a tuple of three arrays: the item, the annotator and the label of "
            "each answer."
        )
    columns = [_column(values, name) for values, name in zip(answers, ("items", "annotators", "labels"), strict=True)]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1 or not lengths[0]:
        raise InvalidInput(
            f"answers has {lengths[0]} items, {lengths[1]} annotators and {lengths[2]} labels; pass one of each for "
            "every answer, and at least one answer."
        )
    return columns[0], columns[1], columns[2]


def _described(answers: Any) -> str:
    if isinstance(answers, tuple | list):
        return f"a {type(answers).__name__} of length {len(answers)}"
    return f"of type {type(answers).__name__}"


def _column(values: Any, name: str) -> EncodedLabels:
    try:
        column = label_column(values)
    except InvalidInput as error:
        raise InvalidInput(f"the {name} of the answers are not one column: {error}") from error
    if not isinstance(column, EncodedLabels) and len(missing := np.flatnonzero(missing_values(column))):
        raise InvalidInput(
            f"the {name} of the answers are missing in {len(missing)} of {len(column)} answers, the first of which is "
            f"answer {missing[0]}; leave these answers out."
        )
    return encode_labels(column)


def _numbered_classes(labels: EncodedLabels, n_classes: int) -> NDArray[Any]:
    answered = labels.classes
    if answered.dtype.kind not in "iu" or answered[0] < 0 or answered[-1] >= n_classes:
        outside = [label for label in answered.tolist() if not (isinstance(label, int) and 0 <= label < n_classes)]
        raise InvalidInput(
            f"answers contains the label {outside[0]!r}; with n_classes={n_classes}, labels are integers from 0 to "
            f"{n_classes - 1}. Leave n_classes out to use the labels as they are."
        )
    return np.arange(n_classes)


def _check_one_answer_each(
    items: EncodedLabels, annotators: EncodedLabels, item_of: NDArray[np.int64], annotator_of: NDArray[np.int64]
) -> None:
    repeated = np.flatnonzero((item_of[1:] == item_of[:-1]) & (annotator_of[1:] == annotator_of[:-1]))
    if len(repeated):
        item, annotator = items.classes[item_of[repeated[0]]], annotators.classes[annotator_of[repeated[0]]]
        raise InvalidInput(
            f"annotator {annotator!s} answered item {item!s} more than once, which counts as several opinions; keep "
            f"one answer of an annotator for each item ({len(repeated)} answers are too many)."
        )


def _known_classes(items: NDArray[Any], classes: NDArray[Any], gold: Mapping[Any, Any]) -> NDArray[np.int64]:
    known = np.full(len(items), UNKNOWN, dtype=np.int64)
    number_of_item = {item: number for number, item in enumerate(items.tolist())}
    number_of_class = {label: number for number, label in enumerate(classes.tolist())}
    for item, label in gold.items():
        if item not in number_of_item:
            raise InvalidInput(f"gold has the item {item!r}, which nobody answered; leave it out of gold.")
        if label not in number_of_class:
            raise InvalidInput(
                f"gold says that item {item!r} is {label!r}, which is not one of the classes {classes.tolist()}; "
                "correct it, or leave the item out of gold."
            )
        known[number_of_item[item]] = number_of_class[label]
    return known
