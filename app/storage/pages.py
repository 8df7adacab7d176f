"""Cursor pages of queries and of lists with a fixed order.

A cursor contains the sort field, its value in the last row of the page, and the key of that row, which breaks ties.
"""

import base64
import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict
from sqlalchemy import BigInteger, ColumnElement, Select, and_, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.errors import Invalid

Row = TypeVar("Row")
T = TypeVar("T")
U = TypeVar("U")

_MAX_OFFSET = 2**62


class InvalidCursor(Invalid):
    """The cursor was not made for this list and order."""

    code, title = "invalid_cursor", "Invalid cursor"


class UnknownSort(Invalid):
    """The list cannot be sorted by this field."""

    code, title = "unknown_sort", "Unknown sort field"


class Listed(NamedTuple, Generic[T]):
    """Part of a list: its items, the cursor of the next part (None = the last), and the length of the whole list."""

    items: list[T]
    next_cursor: str | None
    total: int

    def map(self, convert: Callable[[T], U]) -> "Listed[U]":
        """Return the same part of the list with each item converted."""
        return Listed([convert(item) for item in self.items], self.next_cursor, self.total)


class PageQuery(BaseModel):
    """Page of a sorted list. `sort`: a field, or `-field` for descending order."""

    model_config = ConfigDict(frozen=True)

    limit: int
    cursor: str | None
    sort: str


class SliceQuery(BaseModel):
    """Page of a list with a fixed order. The cursor is a position in it."""

    model_config = ConfigDict(frozen=True)

    limit: int
    cursor: str | None

    def offset(self, list_name: str) -> int:
        """Return the position of the first item. Raises InvalidCursor if the cursor was not made for this list."""
        if self.cursor is None:
            return 0
        made_for, position = _parts(self.cursor)[:2]
        if made_for != list_name:
            raise InvalidCursor.at("query/cursor", "the cursor belongs to another list; start again without a cursor")
        if type(position) is not int or not 0 <= position < _MAX_OFFSET:
            raise _damaged()
        return position

    def next_cursor(self, list_name: str, n_found: int) -> str | None:
        """Return the cursor of the next page, if a query for `limit + 1` items returned `n_found`."""
        return self.cursor_at(list_name, self.offset(list_name) + self.limit) if n_found > self.limit else None

    def cursor_at(self, list_name: str, position: int) -> str:
        """Return the cursor of a page that starts at this position."""
        return _encoded(list_name, position)


def paginate(
    session: Session,
    query: Select[Row],
    page: PageQuery,
    *,
    sortable: Mapping[str, ColumnElement[Any] | InstrumentedAttribute[Any]],
    key: InstrumentedAttribute[Any],
) -> Listed[Row]:
    """Return one page of `query`, the cursor of the next one, and the number of rows of all pages.

    Rows without a value come last in both directions.

    query: of one table. sortable: columns by public field name. key: a unique column, which breaks ties.

    Raises:
        UnknownSort: `page.sort` is not a sortable field.
        InvalidCursor: `page.cursor` was not made for this list and order.
    """
    name, descending = page.sort.removeprefix("-"), page.sort.startswith("-")
    if name not in sortable:
        fields = ", ".join(sorted(sortable))
        raise UnknownSort.at(
            "query/sort", f"the list cannot be sorted by {name!r:.100}; the fields to sort by are {fields}"
        )
    column = sortable[name]
    total = _count(session, query, key)
    if page.cursor is not None:
        query = query.where(_after(_decoded(page.cursor, page.sort, column, key), column, key, descending))
    order = [column.desc(), key.desc()] if descending else [column.asc(), key.asc()]
    if _nullable(column):
        order.insert(0, column.is_(None).asc())
    selected = session.execute(query.add_columns(column, key).order_by(*order).limit(page.limit + 1)).all()
    rows = [row[0] for row in selected[: page.limit]]
    if len(selected) <= page.limit:
        return Listed(rows, None, total)
    value, last_key = selected[page.limit - 1][-2:]
    return Listed(rows, _encoded(page.sort, _plain(value), str(last_key)), total)


def _count(session: Session, query: Select[Any], key: InstrumentedAttribute[Any]) -> int:
    """Return the number of rows of a query of one table."""
    # The options of the query, which say what is loaded of a row, do not go with a count.
    counted, condition = select(func.count()).select_from(key.class_), query.whereclause
    return session.scalar(counted if condition is None else counted.where(condition)) or 0


def contains(column: InstrumentedAttribute[str], part: str | None) -> list[ColumnElement[bool]]:
    """Return the condition that a text has this part, in upper or lower case, or no condition if `part` is None."""
    return [] if part is None else [column.icontains(part, autoescape=True)]


def _nullable(column: ColumnElement[Any] | InstrumentedAttribute[Any]) -> bool:
    # An index on a column cannot be used for an order that begins with IS NULL.
    return bool(getattr(column, "nullable", True))


def _after(
    last: tuple[Any, Any],
    column: ColumnElement[Any] | InstrumentedAttribute[Any],
    key: InstrumentedAttribute[Any],
    descending: bool,
) -> ColumnElement[bool]:
    value, last_key = last
    beyond_key = key < last_key if descending else key > last_key
    if value is None:
        return and_(column.is_(None), beyond_key)
    beyond = column < value if descending else column > value
    after = or_(beyond, and_(column == value, beyond_key))
    return or_(after, column.is_(None)) if _nullable(column) else after


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _encoded(*parts: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()


def _parts(cursor: str) -> list[Any]:
    """Return the parts of a cursor, which may come from the client. Raises InvalidCursor."""
    try:
        parts = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, RecursionError) as error:
        raise _damaged() from error
    if not isinstance(parts, list) or len(parts) < 2:
        raise _damaged()
    return parts


def _damaged() -> InvalidCursor:
    return InvalidCursor.at("query/cursor", "the cursor is damaged; start again without a cursor")


def _decoded(
    cursor: str,
    sort: str,
    column: ColumnElement[Any] | InstrumentedAttribute[Any],
    key: InstrumentedAttribute[Any],
) -> tuple[Any, Any]:
    made_for, *last = _parts(cursor)
    if made_for != sort:
        detail = f"the cursor belongs to sort={made_for!r:.100}; start again without a cursor"
        raise InvalidCursor.at("query/cursor", detail)
    try:
        value, last_key = last
        return _typed(value, column), key.type.python_type(last_key)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise _damaged() from error


def _typed(value: Any, column: ColumnElement[Any] | InstrumentedAttribute[Any]) -> Any:
    """Return the value with the type of the column.

    Raises ValueError, TypeError or OverflowError if the column cannot store it, before the database would.
    """
    if value is None:
        return None
    wanted = column.type.python_type
    if wanted is datetime:
        return datetime.fromisoformat(value).astimezone(UTC)
    typed = wanted(value)
    if not _fits(typed, 64 if isinstance(column.type, BigInteger) else 32):
        raise ValueError("the column cannot store this value")
    return typed


def _fits(value: Any, integer_bits: int) -> bool:
    if isinstance(value, str):
        # Encoding raises for a lone surrogate, which databases do not accept.
        return b"\0" not in value.encode()
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or -(2 ** (integer_bits - 1)) <= value < 2 ** (integer_bits - 1)
