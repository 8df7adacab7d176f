"""Texts as numbers and booleans, and the texts and numbers that mean that a value is missing."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.columns.reading import (
    DEFAULT_READING,
    MINUS_SIGN,
    MISSING_TEXTS,
    THOUSANDS_MARKS,
    TextReading,
    number_pattern,
)


class ParsedTexts(NamedTuple):
    """Values of texts (row,).

    values: Arrow array, null where the text means "missing" or is invalid.
    invalid: Arrow array of booleans without nulls: whether a text is present but is not written as a value.
    """

    values: pa.Array
    invalid: pa.BooleanArray


def clean_texts(texts: pa.Array, nulls: Sequence[str] = MISSING_TEXTS) -> pa.Array:
    """Return the texts without surrounding blanks; those that mean "missing" are null."""
    trimmed = pc.utf8_trim_whitespace(texts)
    missing = pc.is_in(trimmed, pa.array(nulls, trimmed.type))
    return pc.if_else(missing, pa.scalar(None, trimmed.type), trimmed)


def without_null_numbers(numbers: pa.Array, reading: TextReading) -> pa.Array:
    """Return numbers of any type; those that are equal to one of `reading.null_numbers` are null."""
    if not reading.null_numbers:
        return numbers
    listed = np.array(list(reading.null_numbers))
    if pa.types.is_float32(numbers.type):
        with np.errstate(over="ignore"):
            listed = listed.astype(np.float32)
    floats = pc.fill_null(numbers.cast(pa.float64(), safe=False), np.nan).to_numpy(zero_copy_only=False)
    return pc.if_else(pa.array(np.isin(floats, listed)), pa.scalar(None, numbers.type), numbers)


def parse_numbers(texts: pa.Array, reading: TextReading = DEFAULT_READING) -> ParsedTexts:
    """Return texts as finite float64.

    A number has an optional sign, digits with or without a decimal mark, and an optional exponent; one in parentheses,
    without sign and exponent, is negative. Groups of three digits are separated everywhere or nowhere. Digits with a
    leading zero (01234) are a code, not a number. Hexadecimal numbers, infinity and numbers beyond the range of
    float64 are invalid.
    """
    cleaned = clean_texts(texts, reading.nulls)
    matches = pc.match_substring_regex(cleaned, number_pattern(reading))
    values = _plain(_null_unless(matches, cleaned), reading).cast(pa.float64())
    if reading.percent:
        values = pc.divide(values, 100.0)
    if reading.null_numbers:
        known = without_null_numbers(values, reading)
        cleaned = _null_unless(pc.or_(pc.is_valid(known), pc.is_null(values)), cleaned)
        values = known
    return parsed(cleaned, _null_unless(pc.is_finite(values), values))


def _plain(numbers: pa.Array, reading: TextReading) -> pa.Array:
    """Return numbers as Arrow casts them: without percent signs and thousands marks, with a hyphen and a point."""
    numbers = with_hyphens(numbers)
    if reading.percent:
        numbers = pc.utf8_trim_whitespace(pc.utf8_rtrim(numbers, "%"))
    for mark in THOUSANDS_MARKS[reading.thousands]:
        numbers = pc.replace_substring(numbers, mark, "")
    return numbers if reading.decimal == "." else pc.replace_substring(numbers, reading.decimal, ".")


def with_hyphens(numbers: pa.Array) -> pa.Array:
    """Return the texts of numbers with a hyphen in place of other signs of negative numbers."""
    signed = pc.replace_substring_regex(numbers, f"[({MINUS_SIGN}]", "-")
    return pc.replace_substring(signed, ")", "")


def parse_booleans(texts: pa.Array, reading: TextReading = DEFAULT_READING) -> ParsedTexts:
    """Return texts as booleans: true and false in upper, lower or mixed case."""
    cleaned = clean_texts(texts, reading.nulls)
    lower = pc.utf8_lower(cleaned)
    is_boolean = pc.is_in(lower, pa.array(["true", "false"], lower.type))
    return parsed(cleaned, _null_unless(is_boolean, pc.equal(lower, "true")))


def parsed(cleaned: pa.Array, values: pa.Array) -> ParsedTexts:
    """Return the values of cleaned texts, where a text without a value is invalid."""
    return ParsedTexts(values, pc.and_(pc.is_valid(cleaned), pc.is_null(values)))


def _null_unless(condition: pa.Array, values: pa.Array) -> pa.Array:
    return pc.if_else(condition, values, pa.scalar(None, values.type))
