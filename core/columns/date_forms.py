"""Forms of dates: ISO 8601 and `strptime` forms, as patterns with one named group per field."""

import re
from functools import lru_cache

from core.exceptions import InvalidParameter

#: Date, or date and time with T or a blank between them, fractions of seconds and a zone if there are any.
ISO_PATTERN = (
    r"^(?P<Y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})"
    r"(?:[Tt ](?P<H>\d{2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,](?P<f>\d+))?)?"
    r"(?P<z> ?(?:[Zz]|UTC|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?))?)?$"
)

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAMES = (
    "january|february|march|april|may|june|july|august|september|october|november|december"  # the longer names first
)
_DAY_NAMES = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"

#: Directives of `strptime` as patterns. The group is the field; weekdays are read over.
DIRECTIVES = {
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d{2})",
    "m": r"(?P<m>\d{1,2})",
    "b": rf"(?P<b>(?i:{'|'.join(MONTHS)}))",
    "B": rf"(?P<b>(?i:{_MONTH_NAMES}))",
    "d": r"(?P<d>\d{1,2})",
    "H": r"(?P<H>\d{1,2})",
    "I": r"(?P<I>\d{1,2})",
    "p": r"(?P<p>(?i:am|pm))",
    "M": r"(?P<M>\d{1,2})",
    "S": r"(?P<S>\d{1,2})",
    "f": r"(?P<f>\d{1,9})",
    "z": r"(?P<z>[Zz]|UTC|[+-](?:[01]\d|2[0-3]):?[0-5]\d)",
    "a": r"(?i:mon|tue|wed|thu|fri|sat|sun)",
    "A": rf"(?i:{_DAY_NAMES})",
    "%": "%",
}
_MOST_CHARACTERS = 100


@lru_cache(maxsize=256)
def date_pattern(form: str | None) -> str:
    """Return the pattern of a `strptime` form, and of ISO 8601 for None.

    Raises InvalidParameter for a form without a year, with a field that occurs twice, or with an unknown directive.
    """
    if form is None:
        return ISO_PATTERN
    if not isinstance(form, str) or len(form) > _MOST_CHARACTERS:
        raise InvalidParameter(f"dates is {form!r:.100}; it must be a strptime form such as '%d.%m.%Y', or null.")
    pieces = re.split(r"%(.?)", form, flags=re.DOTALL)
    pattern = "".join(_directive(form, piece) if i % 2 else _literal(piece) for i, piece in enumerate(pieces))
    _check_fields(form, pattern)
    return f"^{pattern}$"


def _directive(form: str, letter: str) -> str:
    if letter not in DIRECTIVES:
        known = " ".join(f"%{name}" for name in DIRECTIVES)
        raise InvalidParameter(f"dates is {form!r}; %{letter} is not supported, the directives are {known}.")
    return DIRECTIVES[letter]


def _literal(text: str) -> str:
    return r"\s+".join(map(re.escape, re.split(r"\s+", text)))


def _check_fields(form: str, pattern: str) -> None:
    names = re.findall(r"\?P<(\w)>", pattern)
    fields = ["Y" if name == "y" else "m" if name == "b" else "H" if name == "I" else name for name in names]
    if len(set(fields)) != len(fields):
        raise InvalidParameter(f"dates is {form!r}; a field occurs twice, write each field once.")
    if "Y" not in fields:
        raise InvalidParameter(f"dates is {form!r}; it has no year, add %Y or %y.")
    if ("I" in names) != ("p" in names):
        raise InvalidParameter(f"dates is {form!r}; %I and %p need each other, use %H for hours from 0 to 23.")
