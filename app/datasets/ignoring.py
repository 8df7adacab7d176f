"""Columns that no model should see: which are left out by default, and why."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from app.datasets.column_types import Column, ColumnKind, ValueType
from app.datasets.errors import TooManyCategories, column_pointer
from app.datasets.text_limits import longest_bytes, text_too_long
from app.datasets.upload_warnings import UploadWarning
from app.errors import some_of

Reason = Literal["identifier", "free_text", "constant", "empty", "requested", "unread"]

#: With fewer values, distinct ones are no sign of an identifier.
_MIN_VALUES = 10
_IDENTIFIER_SHARE = 0.9
#: Text of so many words that hardly repeats is written by people.
_FREE_TEXT_SHARE = 0.5
_FREE_TEXT_WORDS = 4

#: Names of columns of numbers that only count the rows.
_IDENTIFIER_NAME = re.compile(
    r"(?:^|[^a-z])(?:id|ids|idx|index|key|no|nr|num|number|row|rowid|record|serial)(?:[^a-z]|$)|^unnamed"
)

#: Names of columns of numbers that identify the rows, in whatever order.
_ID_NAME = re.compile(r"(?:^|[^a-z])(?:ids?|uid|rowid)(?:[^a-z]|$)|^index$|^unnamed")
#: Numbers under such a name that are compared.
_MAX_COMPARED = 1_000_000

#: Continuations of "column … is left out, because"; what the upload asks for needs no warning.
_SENTENCES: dict[Reason, str] = {
    "identifier": "nearly all values are distinct, so that a model could only memorize them",
    "free_text": "the values are free text, which trees cannot use",
    "constant": "all values are equal",
    "empty": "there are no values",
    "unread": "the values look like numbers or dates, but not all can be read",
}
#: More columns of one reason share a warning.
_MAX_WARNINGS = 5


def ignored_warnings(reasons: Mapping[str, Reason]) -> Iterator[UploadWarning]:
    """Yield a warning for each column that is left out. reasons: by column, without those that are used."""
    for reason, sentence in _SENTENCES.items():
        names = [name for name, found in reasons.items() if found == reason]
        way_out = _CORRECTION if reason == "unread" else _WAY_BACK
        if len(names) > _MAX_WARNINGS:
            detail = f"{len(names)} columns are left out, because {sentence}: {some_of(names)}; {way_out}"
            yield UploadWarning(None, "ignored_column", detail)
            continue
        for name in names:
            yield UploadWarning(name, "ignored_column", f"column {name!r} is left out, because {sentence}; {way_out}")


_WAY_BACK = "send `types` to bring back what a model should see"
_CORRECTION = "another warning names the values to correct"


def words_of_name(name: str) -> str:
    """Return the name of a column in lower case, with its words separated: `CustomerId` becomes `customer_id`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip()).lower()


class NumberFacts:
    """Whether whole numbers identify the rows, in a column whose name says so.

    They do if they count the rows one by one, or if they are all distinct under a name such as `customer_id`.
    """

    def __init__(self, name: str) -> None:
        words = words_of_name(name)
        self._may_count = _IDENTIFIER_NAME.search(words) is not None
        self._may_differ = _ID_NAME.search(words) is not None
        self._next: int | None = None
        self._compared: list[NDArray[np.integer]] = []
        self._n_compared = 0

    @property
    def identify_rows(self) -> bool:
        """Whether there are whole numbers, and they are identifiers."""
        return self._next is not None and (self._may_count or (self._may_differ and self._differ()))

    def _differ(self) -> bool:
        return len(np.unique(np.concatenate(self._compared))) == self._n_compared

    def add(self, values: pa.Array) -> None:
        """Add a batch of integers."""
        if values.null_count:
            self._may_count = self._may_differ = False
        if not (self._may_count or self._may_differ):
            return
        numbers = values.to_numpy()
        is_next = self._next is None or int(numbers[0]) == self._next
        # Adjacent values are compared, since unsigned differences wrap around.
        self._may_count = self._may_count and is_next and bool((numbers[1:] == numbers[:-1] + 1).all())
        self._next = int(numbers[-1]) + 1
        if self._may_differ and self._n_compared < _MAX_COMPARED:
            self._compare(numbers)

    def _compare(self, numbers: NDArray[np.integer]) -> None:
        if len(np.unique(numbers)) < len(numbers):
            self._may_differ = False
            self._compared.clear()
            return
        self._compared.append(numbers)
        self._n_compared += len(numbers)


class TextFacts:
    """Distinct values of a column of text, up to a limit, and how often the values seen by then repeat."""

    def __init__(self, max_categories: int, max_text_bytes: int) -> None:
        self.categories: set[str] = set()
        self.n_missing = self.n_present = 0
        self.has_nul = False
        #: Whether a value is too long for a category.
        self.too_long = False
        self.max_text_bytes = max_text_bytes
        self.max_categories = max_categories
        #: Values that were seen when the limit was passed, or all.
        self._n_compared = 0

    @property
    def too_many(self) -> bool:
        return len(self.categories) > self.max_categories

    def add(self, values: pa.Array) -> None:
        """Add a batch of text or booleans."""
        self.n_missing += values.null_count
        self.n_present += len(values) - values.null_count
        texts = values.cast(pa.string())
        if not self.too_long and longest_bytes(texts) > self.max_text_bytes:
            self.too_long = True
            self.categories.clear()
        if self.too_many or self.too_long:
            self.has_nul = bool(pc.any(pc.match_substring(texts, "\0")).as_py())
            return
        distinct: Sequence[str] = pc.unique(texts.drop_null()).to_pylist()
        self.has_nul = any("\0" in text for text in distinct)
        self.categories.update(distinct)
        self._n_compared += len(values) - values.null_count

    @property
    def n_distinct(self) -> int | None:
        """Number of distinct values; None if they were not counted to the end."""
        return None if self.too_many or self.too_long else len(self.categories)

    @property
    def distinct_share(self) -> float:
        """Distinct values per value."""
        return len(self.categories) / self._n_compared if self._n_compared else 0.0

    @property
    def mean_words(self) -> float:
        return float(np.mean([len(text.split()) for text in self.categories])) if self.categories else 0.0


def reason_for_numbers(
    facts: NumberFacts, n_present: int, constant: bool, requested: ColumnKind | None
) -> Reason | None:
    """Return why a column of numbers or dates is left out, or None."""
    if requested is not None:
        return "requested" if requested is ColumnKind.IGNORED else None
    if n_present == 0:
        return "empty"
    if constant:
        return "constant"
    return "identifier" if n_present >= _MIN_VALUES and facts.identify_rows else None


def reason_for_text(column: Column, facts: TextFacts, requested: ColumnKind | None, unread: bool) -> Reason | None:
    """Return why a column of text or booleans is left out, or None.

    Raises:
        TooManyCategories, TextTooLong: the column is not left out, and has too many or too long categories.
    """
    if requested is ColumnKind.IGNORED:
        return "requested"
    if facts.too_long:
        return _reason_for_long_text(column, facts, requested)
    reason = _text_reason(column, facts) if requested is None else None
    hardly_repeats = facts.n_present >= _MIN_VALUES and facts.distinct_share > _FREE_TEXT_SHARE
    if unread and (facts.too_many or hardly_repeats):
        return "unread"
    if reason is None and facts.too_many:
        raise _too_many(column.name, facts.max_categories)
    return reason


def _reason_for_long_text(column: Column, facts: TextFacts, requested: ColumnKind | None) -> Reason:
    if requested is None:
        return "free_text"
    finding = f"column {column.name!r:.100} has a category"
    way_out = "shorten it, or leave the column out with the type `ignored`"
    raise text_too_long(column_pointer("types", column.name), finding, facts.max_text_bytes, way_out)


def _text_reason(column: Column, facts: TextFacts) -> Reason | None:
    if facts.n_present == 0:
        return "empty"
    if len(facts.categories) == 1 and not facts.n_missing:
        return "constant"
    if column.values is ValueType.BOOLEAN or facts.n_present < _MIN_VALUES:
        return None
    if facts.distinct_share > _FREE_TEXT_SHARE and facts.mean_words >= _FREE_TEXT_WORDS:
        return "free_text"
    return "identifier" if facts.distinct_share >= _IDENTIFIER_SHARE else None


def _too_many(name: str, limit: int) -> TooManyCategories:
    detail = (
        f"column {name!r} has more than {limit} categories, the limit BRISTLECONE_MAX_CATEGORIES; leave it out with "
        "`exclude` or the type `ignored`, group its values, or declare it as numeric in `types` if it contains numbers"
    )
    return TooManyCategories.at("/file", detail)
