"""Labels of rows: as values, or as the numbers of their classes."""

import warnings
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from core.call_site import stack_level_of_user
from core.exceptions import InvalidInput

#: Texts are sorted in blocks of this size, because sorting copies them.
_BLOCK_BYTES = 64 * 2**20

Codes = NDArray[np.int32] | NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EncodedLabels:
    """Labels as numbers of classes: row i has the label classes[codes[i]].

    They are accepted wherever labels (row,) are, with the same results, and need the same memory for labels of any
    length. NumPy stores all texts of an array with the width of the longest.

    classes: (class,) distinct labels in any order; those without rows have no effect. codes: int32 or int64 (row,).

    Raises InvalidInput for a code without a class.
    """

    classes: NDArray[Any]
    codes: Codes

    def __post_init__(self) -> None:
        n_classes = len(self.classes)
        if len(self.codes) and not (self.codes.min() >= 0 and self.codes.max() < n_classes):
            raise InvalidInput(f"the codes of labels go beyond their {n_classes} classes; they count from 0.")

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> "EncodedLabels":
        """Return the labels of the rows with these numbers, in this order, or of this mask."""
        return EncodedLabels(self.classes, self.codes[rows])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the labels (row,), where NumPy asks for an array."""
        return np.asarray(self.classes[self.codes], dtype=dtype)

    @property
    def shape(self) -> tuple[int]:
        """Number of rows."""
        return (len(self.codes),)

    def among(self, classes: NDArray[Any]) -> "EncodedLabels":
        """Return the same labels with the codes of other classes. Raises InvalidInput unless they have all labels."""
        codes, n_unlisted = class_codes(classes, self)
        if n_unlisted:
            raise InvalidInput(f"the labels have {n_unlisted} classes that are not among the {len(classes)} given.")
        return EncodedLabels(classes, codes)


#: Labels (row,).
Labels = NDArray[Any] | EncodedLabels


def _as_array(y: Any) -> NDArray[Any]:
    """Return labels as an array.

    NumPy would write NaN and numbers in a list with texts as texts, and members of an enumeration of texts by their
    names, which it cuts to the lengths of the texts.
    """
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise InvalidInput("y has masked labels; remove those rows, since every row needs a label.")
    labels = np.asarray(y)
    if labels.dtype.kind not in "US" or hasattr(y, "dtype"):
        return labels
    values = np.asarray(y, dtype=object)
    types = set(map(type, values.ravel().tolist()))
    if types <= {str, np.str_} or types <= {bytes, np.bytes_}:
        return labels
    if all(issubclass(one, str) for one in types):
        return np.array([str.__str__(label) for label in values.ravel()]).reshape(values.shape)
    return values


def encode_labels(y: Any) -> EncodedLabels:
    """Return labels as class codes, int32, of the classes that occur. These are sorted; if they cannot be compared, by
    type and then by text.
    """
    if isinstance(y, EncodedLabels):
        return _sorted_classes(y)
    y = _as_array(y)
    if y.dtype != object:
        classes, codes = _sorted_values(y)
        return EncodedLabels(classes, codes.astype(np.int32))
    distinct = list(dict.fromkeys(y.tolist()))
    try:
        distinct.sort()
    except TypeError:
        distinct.sort(key=lambda label: (type(label).__name__, str(label)))
    position = {label: k for k, label in enumerate(distinct)}
    classes = np.empty(len(distinct), dtype=object)
    classes[:] = distinct
    return EncodedLabels(classes, np.array([position[label] for label in y.tolist()], dtype=np.int32))


def _sorted_classes(y: EncodedLabels) -> EncodedLabels:
    present = np.flatnonzero(np.bincount(y.codes, minlength=len(y.classes)))
    own = encode_labels(y.classes[present])
    numbers = np.zeros(len(y.classes), dtype=np.int32)
    numbers[present] = own.codes
    return EncodedLabels(own.classes, numbers[y.codes])


def _sorted_values(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return what `np.unique` does: the distinct values, sorted, and the position of each value among them."""
    if y.dtype.kind not in "US" or y.nbytes <= _BLOCK_BYTES:
        return np.unique(y, return_inverse=True)
    blocks = np.array_split(y, -(-y.nbytes // _BLOCK_BYTES))
    values = np.unique(np.concatenate([np.unique(block) for block in blocks]))
    return values, np.concatenate([np.searchsorted(values, block) for block in blocks])


def label_column(y: Any) -> Labels:
    """Return labels (row,). A column (row, 1) is accepted with scikit-learn's warning.

    Raises InvalidInput if the labels have another shape.
    """
    if isinstance(y, EncodedLabels):
        return y
    labels = _as_array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning  # noqa: PLC0415  (the import is slow and rarely needed)

        text = "A column-vector y was passed when a 1d array was expected. Please change its shape to (n_samples,)."
        warnings.warn(text, DataConversionWarning, stacklevel=stack_level_of_user())
        return labels[:, 0]
    if labels.ndim != 1:
        raise InvalidInput(f"y should be a 1d array, got an array of shape {labels.shape} instead.")
    return labels


def label_values(labels: Labels) -> NDArray[Any]:
    """Return all values that occur in labels (row,), with or without repetitions."""
    return labels.classes if isinstance(labels, EncodedLabels) else labels


def labels_like(y: Any, classes: NDArray[Any], codes: NDArray[np.int64]) -> Any:
    """Return the labels of these codes in the form of y: as `EncodedLabels`, or as values."""
    return EncodedLabels(classes, codes) if isinstance(y, EncodedLabels) else classes[codes]


def class_codes(classes: NDArray[Any], y: Any) -> tuple[NDArray[np.int64], int]:
    """Return the class numbers of labels y (row,), and the number of labels that are not among `classes`.

    Unlisted labels are numbered after the listed ones. A class may occur only in the test part, or lose all its
    training labels to noise.
    """
    labels = encode_labels(y)
    listed, own = _comparable(classes, labels.classes)
    position = {label: k for k, label in enumerate(listed)}
    n_known = len(position)
    numbers = [position.setdefault(label, len(position)) for label in own]
    codes: NDArray[np.int64] = np.array(numbers, dtype=np.int64)[labels.codes]
    return codes, len(position) - n_known


def listed_codes(classes: NDArray[Any], labels: Labels, argument: str) -> NDArray[np.int64]:
    """Return the class numbers of labels (row,), int64 (row,).

    argument: name of the argument in which the caller can list all classes. Raises InvalidInput if a label is not among
    `classes` (class,).
    """
    codes, n_unlisted = class_codes(classes, labels)
    if n_unlisted:
        unlisted = np.asarray(labels[codes >= len(classes)]).tolist()[0]
        raise InvalidInput(
            f"y contains {unlisted!r}, which is not one of the classes {classes.tolist()}; name all classes in "
            f"{argument}."
        )
    return codes


def _comparable(classes: NDArray[Any], others: NDArray[Any]) -> tuple[list[Any], list[Any]]:
    """Return the labels of both as values that are equal if the labels are. Dates and durations of NumPy become
    different values of Python if they count in other units.
    """
    units = [values.dtype for values in (classes, others) if values.dtype.kind in "mM"]
    are_durations = len(units) == 2 and all(unit.kind == "m" for unit in units)
    if not (are_durations or (units and _are_dates(classes) and _are_dates(others))):
        return classes.tolist(), others.tolist()
    try:
        unit = np.result_type(*units)
    except TypeError:  # Months have no fixed number of days.
        return classes.tolist(), others.tolist()
    known, passed = (values.astype(unit).astype(np.int64) for values in (classes, others))
    return known.tolist(), passed.tolist()


def _are_dates(labels: NDArray[Any]) -> bool:
    """Return whether all labels are dates or times without a time zone."""
    if labels.dtype != object:
        return labels.dtype.kind == "M"
    return all(isinstance(label, date) and getattr(label, "tzinfo", None) is None for label in labels.tolist())
