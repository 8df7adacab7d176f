"""Cursor pages of a query: `limit`, `cursor`, `sort=field` or `sort=-field`; the key breaks ties."""

import base64
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict
from sqlalchemy import BigInteger, ColumnElement, Select, and_, or_
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.errors import Invalid

Row = TypeVar("Row")

_MAX_OFFSET = 2**62


class InvalidCursor(Invalid):
    code, title = "invalid_cursor", "Invalid cursor"


class UnknownSort(Invalid):
    code, title = "unknown_sort", "Unknown sort field"


class PageQuery(BaseModel):
    model_config = ConfigDict(frozen=True)

    limit: int
    cursor: str | None
    sort: str


class SliceQuery(BaseModel):
    """A page of a list whose order is fixed: the cursor is a place in it."""

    model_config = ConfigDict(frozen=True)

    limit: int
    cursor: str | None

    def offset(self, list_name: str) -> int:
        """Where the page begins. Raises InvalidCursor for one that `next_cursor` did not make for this list."""
        if self.cursor is None:
            return 0
        made_for, place = _parts(self.cursor)[:2]
        if made_for != list_name:
            raise InvalidCursor.at("query/cursor", "the cursor belongs to another list; start again without one")
        if type(place) is not int or not 0 <= place < _MAX_OFFSET:
            raise _damaged()
        return place

    def next_cursor(self, list_name: str, n_found: int) -> str | None:
        """The cursor of the next page, when this one was asked for `limit + 1` items and found `n_found`."""
        return _encoded(list_name, self.offset(list_name) + self.limit) if n_found > self.limit else None


def paginate(
    session: Session,
    query: Select[Row],
    page: PageQuery,
    *,
    sortable: Mapping[str, ColumnElement[Any] | InstrumentedAttribute[Any]],
    key: InstrumentedAttribute[Any],
) -> tuple[list[Row], str | None]:
    """One page of `query` and the cursor of the next. Rows without a value come last in both directions.

    sortable: public field name -> column. key: a unique column, the tie-break.

    Raises:
        UnknownSort: `page.sort` names no sortable field.
        InvalidCursor: `page.cursor` was not made by this list with this order.
    """
    name, descending = page.sort.removeprefix("-"), page.sort.startswith("-")
    if name not in sortable:
        raise UnknownSort.at("query/sort", f"cannot sort by {name!r}; sortable are {', '.join(sorted(sortable))}")
    column = sortable[name]
    if page.cursor is not None:
        query = query.where(_after(_decoded(page.cursor, page.sort, column, key), column, key, descending))
    order = [column.desc(), key.desc()] if descending else [column.asc(), key.asc()]
    if _nullable(column):
        order.insert(0, column.is_(None).asc())
    found = session.execute(query.add_columns(column, key).order_by(*order).limit(page.limit + 1)).all()
    rows = [row[0] for row in found[: page.limit]]
    if len(found) <= page.limit:
        return rows, None
    value, last_key = found[page.limit - 1][-2:]
    return rows, _encoded(page.sort, _plain(value), str(last_key))


def _nullable(column: ColumnElement[Any] | InstrumentedAttribute[Any]) -> bool:
    # Asked for because an index on a column does not serve an order that begins with IS NULL.
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
    """What `_encoded` was given, or anything else of the client's making. Raises InvalidCursor."""
    try:
        parts = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, RecursionError) as error:
        raise _damaged() from error
    if not isinstance(parts, list) or len(parts) < 2:
        raise _damaged()
    return parts


def _damaged() -> InvalidCursor:
    return InvalidCursor.at("query/cursor", "the cursor is damaged; start again without one")


def _decoded(
    cursor: str,
    sort: str,
    column: ColumnElement[Any] | InstrumentedAttribute[Any],
    key: InstrumentedAttribute[Any],
) -> tuple[Any, Any]:
    made_for, *last = _parts(cursor)
    if made_for != sort:
        detail = f"the cursor belongs to sort={made_for!r:.100}; start again without one"
        raise InvalidCursor.at("query/cursor", detail)
    try:
        value, last_key = last
        return _typed(value, column), key.type.python_type(last_key)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise _damaged() from error


def _typed(value: Any, column: ColumnElement[Any] | InstrumentedAttribute[Any]) -> Any:
    """Raises ValueError, TypeError or OverflowError for what the column cannot hold, before the database would."""
    if value is None:
        return None
    wanted = column.type.python_type
    if wanted is datetime:
        return datetime.fromisoformat(value).astimezone(UTC)
    typed = wanted(value)
    if not _fits(typed, 64 if isinstance(column.type, BigInteger) else 32):
        raise ValueError("the column cannot hold this value")
    return typed


def _fits(value: Any, integer_bits: int) -> bool:
    if isinstance(value, str):
        # Encoding refuses half of a surrogate pair, which no database takes.
        return b"\0" not in value.encode()
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or -(2 ** (integer_bits - 1)) <= value < 2 ** (integer_bits - 1)
