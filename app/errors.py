"""Errors that a client is told about. No FastAPI here, so that workers may import it.

ServiceError
├── NotFound              404
├── Conflict              409
├── TooLarge              413
├── UnsupportedMediaType  415
├── Invalid               422, with pointers to the offending fields
├── TooManyRequests       429
└── Unavailable           503
Nouns derive their own from these (`app.<noun>.errors`); each kind of fault has its own stable `code`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self


@dataclass(frozen=True)
class FieldError:
    """`pointer`: JSON pointer into the request body (`/model/loss`), or `query/NAME`, `header/NAME`, `path/NAME`."""

    pointer: str
    detail: str


#: The longest name that a column may have; a pointer must not make an answer of the request's own size.
MAX_STEP_CHARACTERS = 500
#: Names or values in one message.
MAX_NAMED = 10


def pointer_token(name: str) -> str:
    """`name` as one step of a JSON pointer (RFC 6901)."""
    short = name if len(name) <= MAX_STEP_CHARACTERS else name[:MAX_STEP_CHARACTERS] + "…"
    # JSON text may hold half of a surrogate pair, which no answer can carry.
    return short.encode("utf-8", "backslashreplace").decode().replace("~", "~0").replace("/", "~1")


def some_of(values: Sequence[Any]) -> str:
    """The first few of `values`, and how many there are beside them, for a message that has to stay short."""
    listed = ", ".join(f"{value!r:.100}" for value in values[:MAX_NAMED])
    return listed if len(values) <= MAX_NAMED else f"{listed} and {len(values) - MAX_NAMED} more"


class ServiceError(Exception):
    """Something the client asked for cannot be done; `detail` names the value, the rule and the way out."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    title: ClassVar[str] = "Internal error"

    def __init__(self, detail: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)

    @classmethod
    def at(cls, pointer: str, detail: str) -> Self:
        """This error about exactly one field."""
        return cls(detail, [FieldError(pointer, detail)])

    @classmethod
    def about(cls, problems: Sequence[FieldError]) -> Self:
        """This error about several fields, with what is wrong with each."""
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
        """error: what the JSON parser raised, a ValueError or a RecursionError."""
        if isinstance(error, json.JSONDecodeError):
            return cls(f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.")
        if isinstance(error, RecursionError):
            return cls("The body is nested too deeply; no request needs that many levels.")
        return cls("The body is not JSON in UTF-8, or holds a number with thousands of digits.")


class TooManyRequests(ServiceError):
    status, code, title = 429, "too_many_requests", "Too many requests"


class Unavailable(ServiceError):
    status, code, title = 503, "unavailable", "Unavailable"
