"""Codes of categories: their index in a sorted list of texts."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.columns.arrow_types import is_text
from core.columns.reading import TextReading
from core.columns.texts import clean_texts, without_null_numbers

#: Whole numbers up to this one are exact as float64.
_LARGEST_CODE = 2**53
_DIGITS = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?")


class CategoryCodes:
    """Codes of the categories of one column.

    A text is a category as it stands, or else without surrounding blanks, where a text of `reading.nulls` is missing.
    The categories of a boolean column are read in any case. A number is the category with its text (1, or 1.0), or
    else the only one with its value, because readers of files turn codes such as 01234 into numbers.
    """

    def __init__(self, categories: tuple[str, ...], is_boolean: bool, reading: TextReading) -> None:
        self.by_text: Mapping[str, int] = {text: code for code, text in enumerate(categories)}
        self._categories = pa.array(categories, pa.string())
        self._is_boolean = is_boolean
        self._reading = reading

    def of_texts(self, texts: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return the code of each text, null if it has none, and whether it is present but not a category."""
        texts = texts.cast(pa.string())
        codes = pc.index_in(texts, self._categories)
        if codes.null_count == texts.null_count:
            return codes, pa.array(np.zeros(len(texts), dtype=np.bool_))
        cleaned = clean_texts(texts, self._reading.nulls)
        spelled = pc.utf8_lower(cleaned) if self._is_boolean else cleaned
        codes = pc.coalesce(codes, pc.index_in(spelled, self._categories))
        return codes, pc.and_(pc.is_valid(cleaned), pc.is_null(codes))

    def of_values(self, values: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return the code of each number or boolean, as `of_texts` does; NaN and null numbers are missing."""
        if not pa.types.is_boolean(values.type):
            values = without_null_numbers(values, self._reading)
        if pa.types.is_floating(values.type):
            values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
        encoded = values.dictionary_encode()
        distinct = [self.of_value(value) for value in encoded.dictionary.to_pylist()]
        codes = pa.array(distinct, pa.int32()).take(encoded.indices)
        return codes, pc.and_(pc.is_valid(values), pc.is_null(codes))

    def of_value(self, value: Any) -> int | None:
        """Return the code of a number or boolean, None if it is not a category."""
        if isinstance(value, bool):
            return self.by_text.get(str(value).lower())
        for text in _spellings(value):
            if text in self.by_text:
                return self.by_text[text]
        return self._by_value.get(float(value)) if abs(value) < _LARGEST_CODE else None

    @cached_property
    def _by_value(self) -> Mapping[float, int]:
        numbers: dict[float, list[int]] = {}
        for text, code in self.by_text.items():
            if _DIGITS.fullmatch(text):
                numbers.setdefault(float(text), []).append(code)
        return {number: codes[0] for number, codes in numbers.items() if len(codes) == 1}


def _spellings(number: int | float) -> tuple[str, ...]:
    text = str(number)
    return (text, str(int(number))) if isinstance(number, float) and number.is_integer() else (text,)


def present_categories(cells: pa.Array, reading: TextReading) -> tuple[str, ...]:
    """Return the sorted distinct categories of text, numbers or booleans, as a column of these cells has them."""
    distinct = cells.unique()
    texts = distinct if is_text(distinct.type) else _texts(distinct)
    return tuple(sorted(clean_texts(texts, reading.nulls).unique().drop_null().to_pylist()))


def _texts(values: pa.Array) -> pa.Array:
    """Return numbers as text, whole ones without a decimal point."""
    numbers = [int(v) if isinstance(v, float) and v.is_integer() else v for v in values.to_pylist()]
    return pa.array([None if value is None else str(value) for value in numbers], pa.string())
