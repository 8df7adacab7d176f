"""Errors that are shown to clients. This module does not import FastAPI, so that workers can use it.

ServiceError
├── NotFound              404
├── NotAcceptable         406
├── Conflict              409
├── TooLarge              413
├── UnsupportedMediaType  415
├── Invalid               422, with pointers to the offending fields
├── TooManyRequests       429
├── Unavailable           503
└── StorageFull           507
The errors of each noun derive from these (`app.<noun>.errors`). Each kind of error has its own stable `code`.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any, ClassVar, Self


@dataclass(frozen=True)
class FieldError:
    """Error of one field.

    pointer: JSON pointer into the request body (`/model/loss`), or `query/NAME`, `header/NAME`, `path/NAME`.
    """

    pointer: str
    detail: str


#: Length of the longest column name. Longer names are cut, so that an answer is never as large as the request.
MAX_TOKEN_CHARACTERS = 500
#: Most names that a misspelled one is compared with.
MAX_COMPARED = 200
#: Most names or values that one message lists.
MAX_LISTED = 10
#: Longest message. Messages quote what they are about, which a client can make long.
MAX_DETAIL_CHARACTERS = 2_000
#: Most fields that one answer lists, and most characters that it spends on them after the first.
MAX_FIELD_ERRORS = 100
MAX_LISTED_CHARACTERS = 12_000
#: Most characters of all names that a misspelled one is compared with; the time of a comparison grows with them.
MAX_COMPARED_CHARACTERS = 5_000
_COMPARED_LENGTH = 100


def pointer_token(name: str) -> str:
    """Return `name` as one reference token of a JSON pointer (RFC 6901)."""
    short = name if len(name) <= MAX_TOKEN_CHARACTERS else name[:MAX_TOKEN_CHARACTERS] + "…"
    # JSON can contain a lone surrogate, which cannot be encoded in an answer.
    return short.encode("utf-8", "backslashreplace").decode().replace("~", "~0").replace("/", "~1")


def some_of(values: Sequence[Any]) -> str:
    """Return the first few of `values` and how many more there are, for a message that must stay short."""
    listed = ", ".join(f"{value!r:.100}" for value in values[:MAX_LISTED])
    return listed if len(values) <= MAX_LISTED else f"{listed} and {len(values) - MAX_LISTED} more"


def many_unknown(unknown: Sequence[str], known: Collection[str], noun: str) -> str | None:
    """Return one sentence about all unknown names, or None if they are few enough for an error of each.

    noun: what the names are, in the plural, such as `keys`.
    """
    if len(unknown) <= MAX_FIELD_ERRORS:
        return None
    return (
        f"{len(unknown):,} {noun} are not known here: {some_of(unknown)}; the {noun} are "
        f"{', '.join(sorted(known)) or 'none'}. Remove the others or correct their spelling"
    )


def nearest(name: str, names: Collection[str]) -> str:
    """Return `; did you mean …?` with the known name that is spelled most like `name`, or nothing if none is."""
    folded = {known.casefold(): known for known in names}
    if (same := folded.get(name.casefold())) is not None:
        return f"; did you mean {same!r:.100}?"
    near = get_close_matches(name.casefold(), _comparable(name.casefold(), folded), n=1)
    return f"; did you mean {folded[near[0]]!r:.100}?" if near else ""


def _comparable(name: str, names: Collection[str]) -> list[str]:
    """Return the names that are about as long as `name`, or none if comparing them would take too long.

    Comparing two names takes up to the product of their lengths.
    """
    if len(names) > MAX_COMPARED or len(name) > _COMPARED_LENGTH:
        return []
    # Names whose lengths differ by more cannot be as similar as `get_close_matches` wants them.
    alike = [known for known in names if 0.4 * len(name) <= len(known) <= 2.5 * len(name)]
    return alike if sum(map(len, alike)) <= MAX_COMPARED_CHARACTERS else []


def shortened(text: str, most: int = MAX_DETAIL_CHARACTERS) -> str:
    """Return the text, or its beginning and its length if it is too long for an answer."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters in all)"


def few_errors(errors: Iterable[FieldError]) -> list[FieldError]:
    """Return the first errors, as many as an answer can list, whatever the request was."""
    listed: list[FieldError] = []
    n_characters = 0
    for error in islice(errors, MAX_FIELD_ERRORS):
        shown = FieldError(shortened(error.pointer), shortened(error.detail))
        n_characters += len(shown.pointer) + len(shown.detail)
        if listed and n_characters > MAX_LISTED_CHARACTERS:
            break
        listed.append(shown)
    return listed


def further_faults(number: int, or_more: bool = False) -> str:
    """Return the note behind the first fault that a message names, nothing if there are no others."""
    faults = "fault" if number == 1 and not or_more else "faults"
    return f" ({number}{' or more' if or_more else ''} further {faults})" if number else ""


class ServiceError(Exception):
    """Error of a request. `detail` names the value, the rule and how to solve the problem."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    title: ClassVar[str] = "Internal error"
    #: When the same request may succeed, for the header `Retry-After`; None if it never will.
    retry_after_seconds: float | None = None

    def __init__(self, detail: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)

    @classmethod
    def at(cls, pointer: str, detail: str) -> Self:
        """Return this error for one field."""
        return cls(detail, [FieldError(pointer, detail)])

    @classmethod
    def about(cls, problems: Sequence[FieldError]) -> Self:
        """Return this error for several fields."""
        return cls("; ".join(problem.detail for problem in problems), problems)


class NotFound(ServiceError):
    status, code, title = 404, "not_found", "Not found"


class NotAcceptable(ServiceError):
    status, code, title = 406, "not_acceptable", "No such form of answer"


class Conflict(ServiceError):
    status, code, title = 409, "conflict", "Conflict"


class TooLarge(ServiceError):
    status, code, title = 413, "too_large", "Too large"


class BodyTooLarge(TooLarge):
    code, title = "body_too_large", "Body too large"


class DecodedTooLarge(TooLarge):
    code, title = "decoded_too_large", "Too large once decoded"


class UnsupportedMediaType(ServiceError):
    status, code, title = 415, "unsupported_media_type", "Unsupported media type"


class Invalid(ServiceError):
    status, code, title = 422, "invalid_request", "Invalid request"


class InvalidJson(Invalid):
    code, title = "invalid_json", "Invalid JSON"

    @classmethod
    def because(cls, error: Exception) -> Self:
        """Return the error for a ValueError of the JSON parser."""
        if isinstance(error, json.JSONDecodeError):
            return cls(f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.")
        return cls("The body is not JSON in UTF-8, or contains a number with thousands of digits.")


class NestedTooDeeply(Invalid):
    code, title = "nested_too_deeply", "JSON nested too deeply"


class DuplicateKey(Invalid):
    code, title = "duplicate_key", "Key given twice"


class TextTooLong(Invalid):
    code, title = "text_too_long", "A text is too long"


class StoredFileMissing(ServiceError):
    """Error of a request or job whose file is not in the store of this process. Another process may have it."""


class TooManyRequests(ServiceError):
    status, code, title = 429, "too_many_requests", "Too many requests"


class Unavailable(ServiceError):
    status, code, title = 503, "unavailable", "Unavailable"


class StorageFull(ServiceError):
    """Error of a request that would have to store something although the disk is full, or nearly so."""

    status, code, title = 507, "storage_full", "Storage full"


class MemoryBusy(Unavailable):
    code, title = "memory_busy", "Memory in use"
    retry_after_seconds = 5
