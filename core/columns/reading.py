"""How the texts of a column are written: missing values, numbers and dates."""

import math
import re
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any, Self

from core.columns.date_forms import date_pattern
from core.exceptions import InvalidParameter

#: Texts, without surrounding blanks, that mean that a value is missing: those that pandas.read_csv takes as missing,
#: pandas' text of a missing date, and "?" of the classic repositories of tabular data.
MISSING_TEXTS = (
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "<NA>",
    "?",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "NaT",
    "None",
    "n/a",
    "nan",
    "null",
)

DECIMAL_MARKS = (".", ",")
#: Characters that each mark between groups of three digits stands for: spreadsheets write no-break and thin spaces and
#: typographic apostrophes where people type a blank or an apostrophe.
THOUSANDS_MARKS = {"": "", ",": ",", ".": ".", " ": " \u00a0\u2009\u202f", "'": "'\u2019"}
#: The minus of typeset tables, which stands for the hyphen.
MINUS_SIGN = "\u2212"
#: Signs of negative numbers, "(12)" of accounts among them, and what `float` reads in their place.
_SIGNS = str.maketrans({MINUS_SIGN: "-", "(": "-", ")": None})
_MOST_NULLS = 1000


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True)
class TextReading:
    """How the texts of a column are read.

    decimal: decimal mark, "." or ",".
    thousands: mark between groups of three digits: "," "." " " "'" or "" for none. A blank stands for no-break and
        thin spaces too, an apostrophe for the typographic one too.
    percent: whether numbers must have a percent sign, which divides them by 100: "12 %" is 0.12. Without it, 12 could
        mean 12 % or 1200 %.
    dates: `strptime` form of dates, or None for ISO 8601.
    nulls: texts, without surrounding blanks, that mean that the value is missing.
    nulls_as_numbers: whether the numbers that `nulls` spells, such as "-9999", are missing too, however they are
        written or stored. False in models of older versions.

    Raises InvalidParameter.
    """

    decimal: str = "."
    thousands: str = ""
    percent: bool = False
    dates: str | None = None
    nulls: tuple[str, ...] = MISSING_TEXTS
    nulls_as_numbers: bool = True

    def __post_init__(self) -> None:
        if self.decimal not in DECIMAL_MARKS:
            raise InvalidParameter(f"decimal is {self.decimal!r:.100}; it must be '.' or ','.")
        if not isinstance(self.thousands, str) or self.thousands not in THOUSANDS_MARKS:
            marks = ", ".join(map(repr, THOUSANDS_MARKS))
            raise InvalidParameter(f"thousands is {self.thousands!r:.100}; it must be one of {marks}.")
        if self.thousands == self.decimal:
            raise InvalidParameter(f"decimal and thousands are both {self.decimal!r}; they must differ.")
        if not isinstance(self.percent, bool):
            raise InvalidParameter(f"percent is {self.percent!r:.100}; it must be true or false.")
        self._check_nulls()
        date_pattern(self.dates)

    def _check_nulls(self) -> None:
        if not (isinstance(self.nulls, tuple) and all(isinstance(text, str) for text in self.nulls)):
            raise InvalidParameter(f"nulls is {self.nulls!r:.100}; it must be a list of texts.")
        if len(self.nulls) > _MOST_NULLS:
            raise InvalidParameter(f"nulls has {len(self.nulls)} texts; at most {_MOST_NULLS} are supported.")
        if not all(map(_is_encodable, self.nulls)):
            raise InvalidParameter("nulls has a text that UTF-8 cannot encode; leave it out.")
        if not isinstance(self.nulls_as_numbers, bool):
            raise InvalidParameter(f"nulls_as_numbers is {self.nulls_as_numbers!r:.100}; it must be true or false.")

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value!r}" for name, value in self.to_json().items())
        return f"TextReading({changed})"

    @property
    def number_example(self) -> str:
        """A number in this writing, for error messages."""
        return f"1{self.thousands}234{self.decimal}5" + (" %" if self.percent else "")

    @property
    def date_example(self) -> str:
        """The form of a date, for error messages."""
        if self.dates is None:
            return "such as 2024-05-31 or 2024-05-31T14:30:00Z (ISO 8601)"
        return f"in the form {self.dates}"

    @cached_property
    def null_numbers(self) -> frozenset[float]:
        """The numbers that mean that the value is missing."""
        numbers = map(self._null_number, self.nulls) if self.nulls_as_numbers else ()
        return frozenset(number for number in numbers if number is not None)

    def _null_number(self, text: str) -> float | None:
        number = number_of_text(text, self)
        # Without a percent sign, 1 could mean 1 % or 100 %.
        return number_of_text(text, DEFAULT_READING) if number is None and not self.percent else number

    def to_json(self) -> dict[str, Any]:
        """Return the settings that differ from the default, as JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "nulls_as_numbers"}
        changed = {name: value for name, value in values.items() if value != getattr(DEFAULT_READING, name)}
        changed |= {"nulls": list(self.nulls)} if "nulls" in changed else {}
        return changed | ({"nulls_as_numbers": True} if self.null_numbers else {})

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the reading that `to_json` wrote; None means the default. Raises InvalidParameter."""
        if value is None:
            return cls()
        known = [field.name for field in fields(cls)]
        if not isinstance(value, dict) or not set(value) <= set(known):
            raise InvalidParameter(f"the reading is {value!r:.100}; it must be a mapping of {', '.join(known)}.")
        nulls = value.get("nulls", MISSING_TEXTS)
        reading = cls(**{**value, "nulls": tuple(nulls) if isinstance(nulls, list) else nulls})
        is_older = "nulls_as_numbers" not in value and reading.null_numbers
        return replace(reading, nulls_as_numbers=False) if is_older else reading


DEFAULT_READING = TextReading()


@lru_cache(maxsize=256)
def number_pattern(reading: TextReading) -> str:
    """Return the pattern of a number, for RE2 and Python; digits with a leading zero are a code and do not match."""
    mark = f"[{THOUSANDS_MARKS[reading.thousands]}]"
    grouped = rf"|[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+" if reading.thousands else ""
    decimal = f"[{reading.decimal}]"
    mantissa = rf"(?:(?:0|[1-9][0-9]*{grouped})(?:{decimal}[0-9]*)?|{decimal}[0-9]+)"
    percent = "[ \u00a0\u202f]?%" if reading.percent else ""
    sign = f"[+{MINUS_SIGN}-]?"
    return rf"^(?:{sign}{mantissa}(?:[eE]{sign}[0-9]+)?{percent}|\({mantissa}{percent}\))$"


@lru_cache(maxsize=256)
def compiled_number(reading: TextReading) -> re.Pattern[str]:
    """Return `number_pattern` for Python."""
    return re.compile(number_pattern(reading))


def number_of_text(text: str, reading: TextReading) -> float | None:
    """Return a finite number as `parse_numbers` reads it, None if the text is something else."""
    if not compiled_number(reading).fullmatch(text):
        return None
    digits = text.translate(_SIGNS)
    if reading.percent:
        digits = digits.rstrip("%\u00a0\u202f ")
    for mark in THOUSANDS_MARKS[reading.thousands]:
        digits = digits.replace(mark, "")
    number = float(digits.replace(reading.decimal, "."))
    if not math.isfinite(number):
        return None
    return number / 100.0 if reading.percent else number
