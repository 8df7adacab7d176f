"""Query parameters of paged lists; `app.storage.pages` makes the pages."""

from typing import Annotated, Generic, TypeVar

from fastapi import Depends, Query
from pydantic import AfterValidator, BaseModel, Field

from app.storage.pages import PageQuery, SliceQuery


def without_nul(text: str) -> str:
    """Return the text. Raises ValueError if it has a NUL character."""
    if "\0" in text:
        raise ValueError("text cannot contain a NUL character; remove it")
    return text


#: Text to filter a list by. PostgreSQL cannot store a NUL character in text, nor compare text with one.
FilterText = Annotated[str, AfterValidator(without_nul)]

T = TypeVar("T")

MAX_LIMIT = 200


class Page(BaseModel, Generic[T]):
    """One page of a list."""

    items: list[T]
    next_cursor: str | None = Field(description="`cursor` of the next page; null on the last page")


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
