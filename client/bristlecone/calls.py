"""Requests as data, and steps of work that are made of them.

What a method does is written once, as a generator that yields calls and is sent their answers. `transport` runs it: the
blocking client sends each call and waits, the asynchronous one awaits it.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, BinaryIO, TypeVar
from urllib.parse import quote

T = TypeVar("T")

_MOST_PER_PAGE = 200

#: Opens the content of an upload anew for each attempt.
OpenContent = Callable[[], AbstractContextManager[BinaryIO]]


@dataclass(frozen=True)
class Call:
    """One request. It is repeated after a lost connection if that cannot do harm."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    open_content: OpenContent = nullcontext  # type: ignore[assignment]
    #: Whether repeating it has the effect of sending it once; GET, PUT and DELETE always have.
    is_repeatable: bool = False
    #: Statuses of errors whose answer is a result, which is neither raised nor asked for again.
    accepted_statuses: frozenset[int] = frozenset()
    #: Number in the user's table of the first row of the body, from which errors count rows.
    first_row: int = 0
    #: Longest time without any byte of the answer, beyond the usual one.
    extra_seconds: float = 0.0

    @property
    def may_be_repeated(self) -> bool:
        return self.is_repeatable or self.method in ("GET", "PUT", "DELETE")


@dataclass(frozen=True)
class Answer:
    """Answer of the service that is no error, or one that the call accepts."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    json: Any


#: Steps that end with a T.
Steps = Generator[Call, Answer, T]


def get(path: str, **query: Any) -> Call:
    """Return a GET; parameters that are None are left out."""
    return Call("GET", path, {name: value for name, value in query.items() if value is not None})


def reference_to(thing: Any) -> str:
    """Return the id of an object of this package, or the text of an id or a name. Raises ValueError for no text."""
    reference = str(getattr(thing, "id", thing))
    if not reference:
        raise ValueError("the id or name is empty; pass the one of a thing that exists")
    return reference


def item_path(path: str, thing: Any) -> str:
    """Return the path of one thing of a list. Names may have characters that would end a path, such as # and ?."""
    name = quote(reference_to(thing), safe="@:")
    return f"{path}/{name.replace('.', '%2E') if name in ('.', '..') else name}"


def pages(path: str, limit: int | None = None, *, key: str = "items", **query: Any) -> Steps[list[dict[str, Any]]]:
    """Collect the first `limit` items of a list, or all of them, from as many pages as that takes. A page has them
    under `key`.

    Raises ValueError for a limit that is not a number of items.
    """
    if limit is not None and (not isinstance(limit, Integral) or isinstance(limit, bool) or limit < 1):
        raise ValueError(f"limit is {limit!r:.100}; it must be an integer of at least 1, or None for all")
    items: list[dict[str, Any]] = []
    cursor = None
    while True:
        n_wanted = _MOST_PER_PAGE if limit is None else min(_MOST_PER_PAGE, limit - len(items))
        page = (yield get(path, **query, limit=n_wanted, cursor=cursor)).json
        items += page[key]
        cursor = page["next_cursor"]
        if cursor is None or len(items) == limit:
            return items


def json_of(call: Call) -> Steps[Any]:
    """Send one call and return the JSON of its answer."""
    return (yield call).json


def content_of(call: Call) -> Steps[bytes]:
    """Send one call and return the bytes of its answer."""
    return (yield call).content
