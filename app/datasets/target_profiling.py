"""Profile of the target: classes and their counts, and checks that the labels are classes."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.datasets.column_types import Column, as_text
from app.datasets.errors import (
    ContinuousTarget,
    InfiniteValue,
    MissingLabel,
    NearlyUniqueTarget,
    SingleClass,
    TooManyClasses,
)
from app.datasets.options import ReadingOptions
from app.datasets.profiling import nul_character
from app.datasets.text_families import number_readings
from app.datasets.text_limits import longest_bytes, text_too_long
from app.datasets.upload_warnings import MAX_ROWS
from app.errors import some_of
from app.settings import Limits
from core.service_api import is_text, parse_numbers, plain_array

Label = int | float | bool | str

#: So many different fractions are taken for a quantity, not for classes.
_MAX_FRACTIONAL_CLASSES = 20
#: With so many labels, hardly any of which occurs twice, the target is not one.
_MIN_LABELS = 20
_UNIQUE_SHARE = 0.5


@dataclass(frozen=True)
class TargetProfile:
    """Profile of the target.

    labels, counts and first_rows are in class order. first_rows: 0-based row in which each label occurs first.
    unlabeled: the first rows without a label. missing_texts: texts that were read as "no label", with their number.
    """

    labels: list[Label]
    counts: list[int]
    first_rows: list[int]
    n_unlabeled: int = 0
    unlabeled: Sequence[int] = ()
    missing_texts: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_labeled(self) -> int:
        """Number of rows with a label."""
        return sum(self.counts)

    def as_json(self) -> list[dict[str, Any]]:
        """Return the classes as they are stored in the row of the data set."""
        return [{"label": label, "count": count} for label, count in zip(self.labels, self.counts, strict=True)]


class TargetProfiler:
    """Computes the profile of the target. chosen: whether the upload names its type, and so means it as a target."""

    def __init__(self, column: Column, limits: Limits, chosen: bool) -> None:
        self._column, self._chosen = column, chosen
        self._max_classes, self._max_text_bytes = limits.max_classes, limits.max_text_bytes
        self._counts: Counter[Label] = Counter()
        self._first_rows: dict[Label, int] = {}
        self.n_unlabeled = 0
        self._unlabeled: list[int] = []
        self._missing_texts: Counter[str] = Counter()

    def add(self, values: pa.Array, first_row: int) -> None:
        """Add a batch. values: from `Column.convert`. first_row: 0-based number of its first row."""
        if values.null_count:
            self._note_unlabeled(values, first_row)
        if pa.types.is_string(values.type) and longest_bytes(values) > self._max_text_bytes:
            finding = f"the target {self._column.name!r:.100} has a label"
            raise text_too_long("/target", finding, self._max_text_bytes, "shorten it, or choose another target")
        for entry in pc.value_counts(values.drop_null()):
            label = entry["values"].as_py()
            self._counts[label] += entry["counts"].as_py()
            if len(self._counts) <= self._max_classes and label not in self._first_rows:
                self._first_rows[label] = first_row + pc.index(values, entry["values"]).as_py()
        if len(self._counts) > self._max_classes:
            self._raise_too_many()

    def add_missing_texts(self, cells: pa.Array) -> None:
        """Count the texts of a batch that are read as "no label". cells: as they are in the file."""
        if is_text(plain_array(cells).type):
            texts = pc.utf8_trim_whitespace(as_text(cells))
            is_missing = pc.is_in(texts, pa.array(self._column.reading.nulls, pa.string()))
            for entry in pc.value_counts(texts.filter(pc.and_(is_missing, pc.not_equal(texts, "")))):
                self._missing_texts[entry["values"].as_py()] += entry["counts"].as_py()

    def _note_unlabeled(self, values: pa.Array, first_row: int) -> None:
        self.n_unlabeled += values.null_count
        if len(self._unlabeled) < MAX_ROWS:
            rows = np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False)) + first_row
            self._unlabeled += rows[: MAX_ROWS - len(self._unlabeled)].tolist()

    def finish(self) -> TargetProfile:
        """Return the profile. Raises the errors of a target that cannot be learned."""
        self._check()
        labels = sorted(self._counts)
        counts = [self._counts[label] for label in labels]
        first_rows = [self._first_rows[label] for label in labels]
        # Beyond 2^53 a float does not stand for one integer alone.
        if all(isinstance(label, float) and label.is_integer() and abs(label) <= 2**53 for label in labels):
            labels = [int(label) for label in labels]
        return TargetProfile(labels, counts, first_rows, self.n_unlabeled, self._unlabeled, self._missing_texts)

    def _check(self) -> None:
        self._check_number()
        for label in self._counts:
            if isinstance(label, str) and "\0" in label:
                raise nul_character(self._column.name)
            if isinstance(label, float) and math.isinf(label):
                detail = f"the target {self._column.name!r} contains an infinite number; replace it by a finite label"
                raise InfiniteValue.at("/target", detail)
        if not self._chosen:
            self._check_classes()

    def _check_number(self) -> None:
        """Raise an error unless there are two classes."""
        explained = f". {missing_texts_sentence(self._missing_texts)}" if self._missing_texts else ""
        if not self._counts:
            detail = f"the target {self._column.name!r} has no labels; add labels or choose another target"
            raise MissingLabel.at("/target", detail + explained)
        if len(self._counts) == 1:
            (label,) = self._counts
            detail = (
                f"the target {self._column.name!r} contains only the class {label!r}, but a model needs at least two; "
                "add rows of another class or choose another target"
            )
            raise SingleClass.at("/target", detail + explained)

    def _check_classes(self) -> None:
        """Raise an error if the labels are not classes by all appearances, although there are few enough of them."""
        n_classes, n_labels = len(self._counts), sum(self._counts.values())
        if self._has_fractions and n_classes > _MAX_FRACTIONAL_CLASSES:
            raise self._continuous(n_classes)
        if n_labels >= _MIN_LABELS and n_classes > _UNIQUE_SHARE * n_labels:
            detail = (
                f"the target {self._column.name!r} has {n_classes} different values in {n_labels} rows, so that a "
                f"model cannot learn them; choose a column of class labels, {self._way_out}"
            )
            raise NearlyUniqueTarget.at("/target", detail)

    def _raise_too_many(self) -> None:
        if self._has_fractions and not self._chosen:
            raise self._continuous(len(self._counts))
        detail = (
            f"the target {self._column.name!r} has more than {self._max_classes} classes; "
            "choose a column of class labels, or group its values into classes"
        )
        raise TooManyClasses.at("/target", detail)

    @property
    def _has_fractions(self) -> bool:
        numbers = numbers_of_labels(list(self._counts)) or self._counts
        return any(isinstance(label, float) and not label.is_integer() for label in numbers)

    @property
    def _way_out(self) -> str:
        return f"or send types={{{self._column.name!r}: 'categorical'}} if each value is a class".replace("'", '"')

    def _continuous(self, n_classes: int) -> ContinuousTarget:
        detail = (
            f"the target {self._column.name!r} has {n_classes} or more different fractions, which is a quantity rather "
            f"than a class; group its values into classes, choose another column, {self._way_out}"
        )
        return ContinuousTarget.at("/target", detail)


def missing_texts_sentence(counts: Mapping[str, int]) -> str:
    """Return what the user should know about texts that were read as "no label". counts: at least one text."""
    listed = some_of(sorted(counts, key=lambda text: (-counts[text], text)))
    total = sum(counts.values())
    labels = "1 label was" if total == 1 else f"{total:,} labels were"
    return (
        f"{labels} read as missing because of the text: {listed}. If that is a class, upload the table again with "
        '`nulls` that do not list it, such as nulls="" for empty cells alone'
    )


def numbers_of_labels(labels: Sequence[Label]) -> Sequence[float] | None:
    """Return labels of text as numbers if all of them are written as such, with local marks; None otherwise."""
    if not all(isinstance(label, str) for label in labels):
        return None
    # Numbers that are all in parentheses are text in features, too.
    if all(str(label).startswith("(") for label in labels):
        return None
    texts = pa.array(labels, pa.string())
    for reading in number_readings(ReadingOptions()):
        numbers = parse_numbers(texts, reading).values
        if not numbers.null_count:
            found: list[float] = numbers.to_pylist()
            return found
    return None
