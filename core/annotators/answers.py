"""Answers of annotators: validation, and sums over the answers of an item or of an annotator."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidInput, InvalidParameter
from core.missing_values import missing_values
from core.validation.labels import EncodedLabels, class_codes, encode_labels, label_column, label_values

#: Class number of an item whose true class is not known.
UNKNOWN = -1
#: Cells of the largest table, which take 8 bytes each in several tables.
_MAX_CELLS = 50_000_000


class Answers(NamedTuple):
    """Answers, sorted by item and then by annotator, so that results do not depend on their order."""

    items: NDArray[Any]  # (item,), sorted
    annotators: NDArray[Any]  # (annotator,), sorted
    classes: NDArray[Any]  # (class,), sorted
    item_of: NDArray[np.int64]  # (answer,), number of the item
    annotator_of: NDArray[np.int64]  # (answer,)
    class_of: NDArray[np.int64]  # (answer,)
    true_class: NDArray[np.int64]  # (item,), class number where it is known, else UNKNOWN

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


def check_answers(answers: Any, n_classes: int | None, gold: Any) -> Answers:
    """Check and encode answers: three arrays (answer,) of items, annotators and labels.

    n_classes: number of classes, whose labels are then 0 to n_classes - 1; None for the classes that were answered.
    gold: mapping of some items to their true labels, or None.

    Raises InvalidInput and InvalidParameter.
    """
    items, annotators, labels = _columns(answers)
    n_wanted = len(labels.classes) if n_classes is None else _checked_number(n_classes)
    _check_size(len(items.classes), len(annotators.classes), n_wanted)
    classes = labels.classes if n_classes is None else _numbered_classes(labels, n_wanted)
    if len(classes) < 2:
        raise InvalidInput(
            f"all answers are {classes.tolist()[0]!r:.100}; a consensus needs at least two classes. Pass n_classes= if "
            "other classes were possible."
        )
    order = np.lexsort((annotators.codes, items.codes))
    codes, _ = class_codes(classes, labels)
    columns = (items.codes[order].astype(np.int64), annotators.codes[order].astype(np.int64), codes[order])
    _check_one_answer_each(items, annotators, *columns[:2])
    return Answers(items.classes, annotators.classes, classes, *columns, _true_classes(items.classes, classes, gold))


def _columns(answers: Any) -> tuple[EncodedLabels, EncodedLabels, EncodedLabels]:
    if not isinstance(answers, tuple | list) or len(answers) != 3:
        raise InvalidInput(
            f"answers is {_described(answers)}; pass a tuple of three columns, the item, the annotator and the label "
            'of each answer, such as (table["item"], table["annotator"], table["label"]).'
        )
    names = ("items", "annotators", "labels")
    columns = [_column(values, f"{name} of the answers") for values, name in zip(answers, names, strict=True)]
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
        missing = np.flatnonzero(missing_values(label_values(column)))
        encoded = encode_labels(column)
    except (InvalidInput, TypeError) as error:
        raise InvalidInput(
            f"the {name} cannot be used ({error}); pass one column of numbers or text without missing values."
        ) from error
    if len(missing):
        raise InvalidInput(
            f"the {name} are missing in {len(missing)} of {len(column)} entries, the first of which is entry "
            f"{missing[0]}; leave these out."
        )
    return encoded


def _checked_number(n_classes: Any) -> int:
    if isinstance(n_classes, bool | np.bool_) or not isinstance(n_classes, int | np.integer) or n_classes < 2:
        raise InvalidParameter(
            f"n_classes is {n_classes!r:.100}; it must be an integer of at least 2, or None for the classes that were "
            "answered."
        )
    return int(n_classes)


def _check_size(n_items: int, n_annotators: int, n_classes: int) -> None:
    n_cells = max(n_items, n_annotators * n_classes) * n_classes
    if n_cells > _MAX_CELLS:
        raise InvalidInput(
            f"answers has {n_items:,} items, {n_annotators:,} annotators and {n_classes:,} classes, so that a table "
            f"of probabilities would have {n_cells:,} cells; at most {_MAX_CELLS:,} are supported. Merge classes that "
            "need not be told apart, or process parts of the items."
        )


def _numbered_classes(labels: EncodedLabels, n_classes: int) -> NDArray[Any]:
    outside = [x for x in labels.classes.tolist() if type(x) is not int or not 0 <= x < n_classes]
    if outside:
        raise InvalidInput(
            f"answers contains the label {outside[0]!r:.100}; with n_classes={n_classes}, labels are integers from 0 "
            f"to {n_classes - 1}. Leave n_classes out to use the labels as they are."
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
            f"one answer of an annotator for each item, as drop_duplicates of a data frame does ({len(repeated)} "
            "answers are too many)."
        )


def _true_classes(items: NDArray[Any], classes: NDArray[Any], gold: Any) -> NDArray[np.int64]:
    """Return the class number of each item (item,), UNKNOWN where `gold` has no label."""
    numbers = np.full(len(items), UNKNOWN, dtype=np.int64)
    pairs = _gold_pairs(gold)
    if pairs:
        rows = _positions(items, [item for item, _ in pairs], "items of gold")
        codes = _positions(classes, [label for _, label in pairs], "labels of gold")
        _check_gold(pairs, rows < len(items), codes < len(classes), classes)
        numbers[rows] = codes
        if (numbers[rows] != codes).any():
            raise InvalidInput("gold has different labels for the same item; keep one of them.")
    return numbers


def _positions(listed: NDArray[Any], values: list[Any], name: str) -> NDArray[np.int64]:
    """Return the position of each value among those listed; a value that is not listed has a position beyond."""
    # NumPy would make a table of values that are sequences.
    has_sequences = any(isinstance(value, tuple | list | np.ndarray) for value in values)
    column = np.fromiter(values, dtype=object, count=len(values)) if has_sequences else values
    return class_codes(listed, _column(column, name))[0]


def _check_gold(
    pairs: list[tuple[Any, Any]], is_item: NDArray[np.bool_], is_class: NDArray[np.bool_], classes: NDArray[Any]
) -> None:
    if not is_item.all():
        item = pairs[int(np.argmin(is_item))][0]
        raise InvalidInput(f"gold has the item {item!r:.100}, which nobody answered; leave it out of gold.")
    if not is_class.all():
        item, label = pairs[int(np.argmin(is_class))]
        raise InvalidInput(
            f"gold says that item {item!r:.100} is {label!r:.100}, which is not one of the {len(classes)} classes, "
            f"such as {classes.tolist()[0]!r:.100}; correct it, or leave the item out of gold."
        )


def _gold_pairs(gold: Any) -> list[tuple[Any, Any]]:
    if gold is None:
        return []
    # A series of pandas or polars has items as well, but is no mapping.
    if not isinstance(gold, Mapping) and not (hasattr(gold, "items") and hasattr(gold, "index")):
        raise InvalidInput(
            f"gold is of type {type(gold).__name__}; pass a mapping of items to their true labels, such as "
            "dict(zip(items, labels))."
        )
    return list(gold.items())
