"""Errors that are shown to clients. This module does not import FastAPI, so that workers can use it.

ServiceError
├── NotFound              404
├── Conflict              409
├── TooLarge              413
├── UnsupportedMediaType  415
├── Invalid               422, with pointers to the offending fields
├── TooManyRequests       429
└── Unavailable           503
The errors of each noun derive from these (`app.<noun>.errors`). Each kind of error has its own stable `code`.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
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


def pointer_token(name: str) -> str:
    """Return `name` as one reference token of a JSON pointer (RFC 6901)."""
    short = name if len(name) <= MAX_TOKEN_CHARACTERS else name[:MAX_TOKEN_CHARACTERS] + "…"
    # JSON can contain a lone surrogate, which cannot be encoded in an answer.
    return short.encode("utf-8", "backslashreplace").decode().replace("~", "~0").replace("/", "~1")


def some_of(values: Sequence[Any]) -> str:
    """Return the first few of `values` and how many more there are, for a message that must stay short."""
    listed = ", ".join(f"{value!r:.100}" for value in values[:MAX_LISTED])
    return listed if len(values) <= MAX_LISTED else f"{listed} and {len(values) - MAX_LISTED} more"


def nearest(name: str, names: Collection[str]) -> str:
    """Return `; did you mean …?` with the known name that is spelled most like `name`, or nothing if none is."""
    folded = {known.casefold(): known for known in names}
    # Comparing with thousands of names would take longer than the request itself.
    candidates = list(folded) if len(folded) <= MAX_COMPARED else []
    near = [name.casefold()] if name.casefold() in folded else get_close_matches(name[:100].casefold(), candidates, n=1)
    return f"; did you mean {folded[near[0]]!r:.100}?" if near else ""


class ServiceError(Exception):
    """Error of a request. `detail` names the value, the rule and how to solve the problem."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    title: ClassVar[str] = "Internal error"

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


class Conflict(ServiceError):
    status, code, title = 409, "conflict", "Conflict"


class TooLarge(ServiceError):
    status, code, title = 413, "too_large", "Too large"


class UnsupportedMediaType(ServiceError):
    status, code, title = 415, "unsupported_media_type", "Unsupported media type"


class Invalid(ServiceError):
    status, code, title = 422, "invalid_request", "Invalid request"


class InvalidJson(Invalid):
    code, title = "invalid_json", "Invalid JSON"

    @classmethod
    def because(cls, error: Exception) -> Self:
        """Return the error for a ValueError or RecursionError of the JSON parser."""
        if isinstance(error, json.JSONDecodeError):
            return cls(f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.")
        if isinstance(error, RecursionError):
            return cls("The body is nested too deeply; send JSON with fewer levels.")
        return cls("The body is not JSON in UTF-8, or contains a number with thousands of digits.")


class TooManyRequests(ServiceError):
    status, code, title = 429, "too_many_requests", "Too many requests"


class Unavailable(ServiceError):
    status, code, title = 503, "unavailable", "Unavailable"
