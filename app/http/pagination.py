"""Query parameters of paged lists; `app.storage.pages` makes the pages."""

from collections.abc import Callable
from typing import Annotated, Generic, Self, TypeVar

from fastapi import Depends, Query
from pydantic import AfterValidator, BaseModel, Field

from app.storage.pages import Listed, PageQuery, SliceQuery
from app.storage.plain_text import without_nul

#: Text to filter a list by. PostgreSQL cannot store a NUL character in text, nor compare text with one.
FilterText = Annotated[str, AfterValidator(without_nul)]
NameContains = Annotated[
    FilterText | None, Query(description="return only items whose name has this part, in upper or lower case")
]

T = TypeVar("T")
Record = TypeVar("Record")

MAX_LIMIT = 200


class Page(BaseModel, Generic[T]):
    """One page of a list."""

    items: list[T]
    next_cursor: str | None = Field(description="`cursor` of the next page; null on the last page")
    total: int = Field(description="number of items on all pages")

    @classmethod
    def of(cls, listed: Listed[Record], item: Callable[[Record], T]) -> Self:
        """Return the page of records, each shown as `item` does."""
        return cls(**listed.map(item)._asdict())


def _page_query(
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="most items to return")] = 50,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the previous page")] = None,
    sort: Annotated[str, Query(description="field to sort by; `-field` sorts in descending order")] = "-created_at",
) -> PageQuery:
    return PageQuery(limit=limit, cursor=cursor, sort=sort)


PageParameters = Annotated[PageQuery, Depends(_page_query)]


def _slice_query(
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="most items to return")] = 50,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the previous page")] = None,
) -> SliceQuery:
    return SliceQuery(limit=limit, cursor=cursor)


SliceParameters = Annotated[SliceQuery, Depends(_slice_query)]
